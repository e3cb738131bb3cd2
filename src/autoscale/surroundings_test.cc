#include "autoscale/surroundings.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"
#include "cluster/fake_writer.h"

namespace coppice::autoscale {
namespace {

using testing::SizeIs;

class SurroundingsTest : public PlainEngineRig {
 protected:
  // As of an engine that has looked at the groups once.
  expand::Surroundings Around() {
    Assemble({}, inline_, writer_);
    Pass();
    return SurroundingsOf(parts_, engine_->templates());
  }
  void PutMap(const std::string& in, const std::string& name, model::Labels data) {
    auto map = std::make_shared<model::ConfigMap>();
    map->metadata.namespace_ = in;
    map->metadata.name = name;
    map->data = std::move(data);
    world_.Upsert<model::ConfigMap>(std::move(map));
  }

  Options all_ = [] {
    Options options;
    options.namespace_ = "scaling";
    return options;
  }();
  cluster::FakeWriter events_{clock_};
  Processors slots_;
  GroupOptions options_of_{groups_, all_.group_defaults, slots_};
  CloudCalls calls_{groups_, inline_, executor_};
  Tell tell_{all_, events_, slots_};
  const StageParts parts_{{.pods = all_,
                           .buying = all_,
                           .limits = all_,
                           .similarity = all_,
                           .repair = all_,
                           .deletions = all_,
                           .status = all_,
                           .deviations = all_.deviations,
                           .explains_all = false},
                          world_,
                          groups_,
                          calls_,
                          executor_,
                          slots_,
                          log_,
                          options_of_,
                          tell_};
};

TEST_F(SurroundingsTest, AreTheClustersSizeAndTheTemplatesThatThereAre) {
  AddGroup("web", 5);
  AddGroup("gpu", 5);
  groups_.Change("gpu", [](cloud::FakeNodeGroups::Group& g) { g.node_template = nullptr; });
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  const expand::Surroundings around = Around();
  EXPECT_EQ(around.cluster_nodes, 2U);
  ASSERT_THAT(around.templates, SizeIs(1)) << "of gpu nobody knows what a node is like";
  EXPECT_EQ(around.templates[0].first, "web");
  EXPECT_EQ(around.templates[0].second, &engine_->templates().Find("web")->node);
}

TEST_F(SurroundingsTest, AConfigMapIsReadInOurNamespaceAsItIsThen) {
  const expand::Surroundings around = Around();
  EXPECT_EQ(around.config_map("priorities", "order").code(), Code::kNotFound);
  PutMap("elsewhere", "priorities", {{"order", "1"}});
  EXPECT_EQ(around.config_map("priorities", "order").code(), Code::kNotFound);
  PutMap("scaling", "priorities", {{"other", "1"}});
  EXPECT_EQ(around.config_map("priorities", "order").code(), Code::kFailedPrecondition);
  PutMap("scaling", "priorities", {{"order", "2"}});
  EXPECT_EQ(MUST(around.config_map("priorities", "order")), "2");
}

TEST_F(SurroundingsTest, AWarningIsAnEventOnTheMapOfPriorities) {
  Around().warn("PriorityConfigMapInvalid", "no number");
  ASSERT_THAT(events_.events, SizeIs(1));
  EXPECT_EQ(events_.events[0].namespace_, "scaling");
  EXPECT_EQ(events_.events[0].name, "cluster-autoscaler-priority-expander");
  EXPECT_EQ(events_.events[0].type, "Warning");
  EXPECT_EQ(events_.events[0].reason, "PriorityConfigMapInvalid");
  EXPECT_EQ(events_.events[0].text, "no number");
}

}  // namespace
}  // namespace coppice::autoscale
