#include "autoscale/tell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "cluster/fake_writer.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TellTest : public testing::Test {
 protected:
  static report::PodPtr Pod(const std::string& name) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "shop";
    pod.metadata.uid = "uid-of-" + name;
    return std::make_shared<const model::Pod>(std::move(pod));
  }
  std::vector<std::string> Told() const {
    std::vector<std::string> all;
    for (const auto& event : writer.events) all.push_back(event.name + ": " + event.reason);
    return all;
  }
  PassView View() { return {.now = {}, .world = world, .groups = groups, .extra = extra}; }

  FakeClock clock;
  cluster::World world;
  cloud::FakeNodeGroups groups;
  std::map<std::string, std::any> extra;
  Options options;
  Processors slots;
  cluster::FakeWriter writer{clock};
  Tell tell{options, writer, slots};
};

TEST_F(TellTest, TheStatusMapHasEventsUnlessThereIsToBeNone) {
  options.namespace_ = "here";
  options.status_config_map_name = "status";
  tell.Status("Warning", "Reason", "text");
  ASSERT_THAT(writer.events, SizeIs(1));
  EXPECT_EQ(writer.events[0].kind, "ConfigMap");
  EXPECT_EQ(writer.events[0].namespace_, "here");
  EXPECT_EQ(writer.events[0].name, "status");
  EXPECT_EQ(writer.events[0].type, "Warning");
  options.write_status_configmap = false;
  tell.Status("Warning", "Reason", "text");
  EXPECT_THAT(writer.events, SizeIs(1));
}

TEST_F(TellTest, PodsThatWereBoughtForHearOfItAndTheOthersDoNotInTheSamePass) {
  report::ScaleUp done{.result = report::ScaleUpResult::kSuccessful};
  done.resizes = {{"web", 1, 2, 5}};
  done.triggered = {Pod("helped")};
  done.unhelped = {{{Pod("other")}, {}, nullptr}};
  tell.ScaleUp(done, View());
  EXPECT_THAT(Told(), ElementsAre("helped: TriggeredScaleUp"));
  EXPECT_EQ(writer.events[0].uid, "uid-of-helped");
  EXPECT_THAT(writer.events[0].text, HasSubstr("web"));
}

TEST_F(TellTest, IfNothingHelpsEveryPodHearsWhy) {
  report::ScaleUp done{.result = report::ScaleUpResult::kNoOptionsAvailable};
  done.unhelped = {{{Pod("a"), Pod("b")}, {}, nullptr}};
  tell.ScaleUp(done, View());
  EXPECT_THAT(Told(), ElementsAre("a: NotTriggerScaleUp", "b: NotTriggerScaleUp"));
}

TEST_F(TellTest, AfterAnErrorNobodyIsToldThatNothingWasTriggered) {
  report::ScaleUp done{.result = report::ScaleUpResult::kError};
  done.unhelped = {{{Pod("a")}, {}, nullptr}};
  tell.ScaleUp(done, View());
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(TellTest, AProcessorMayKeepItToItself) {
  class Silent final : public ScaleUpStatusProcessor {
    void Process(const report::ScaleUp&, const std::function<void(const report::ScaleUp&)>&,
                 const PassView&) override {}
  };
  slots.scale_up_status = std::make_unique<Silent>();
  report::ScaleUp done{.result = report::ScaleUpResult::kNoOptionsAvailable};
  done.unhelped = {{{Pod("a")}, {}, nullptr}};
  tell.ScaleUp(done, View());
  EXPECT_THAT(Told(), IsEmpty());
}

}  // namespace
}  // namespace coppice::autoscale
