#include "autoscale/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/fake_node_groups.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class OwnersTest : public testing::Test {
 protected:
  OwnersTest() {
    groups.Add({.info = {.id = "web", .min_size = 0, .max_size = 5}});
    groups.Map("web-1", "web");
    groups.on_tell_nodes = [this](const auto& each) {
      told.emplace_back();
      each([this](const cloud::NodeRef& node) { told.back().push_back(node.name); });
    };
  }
  static model::Node Named(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    return node;
  }
  void AddNode(const std::string& name) {
    world.UpsertNode(std::make_shared<const model::Node>(Named(name)));
  }

  Options options;
  cluster::World world;
  cloud::FakeNodeGroups groups;
  std::vector<std::vector<std::string>> told;
  Owners owners{options.deviations, groups, world};
};

TEST_F(OwnersTest, ANodeIsAGroupsOrNobodysOrItIsNotKnownYet) {
  EXPECT_EQ(owners.GroupOf(Named("web-1")), "web");
  EXPECT_EQ(owners.GroupOf(Named("other")), "");
  groups.SetUnknown("web-1", true);
  EXPECT_EQ(owners.GroupOf(Named("web-1")), std::nullopt);
}

TEST_F(OwnersTest, TheProviderHearsOfNodesOnceForEachSetOfThem) {
  AddNode("a");
  owners.TellNodes();
  owners.TellNodes();
  EXPECT_THAT(told, ElementsAre(ElementsAre("a")));
  AddNode("b");
  owners.TellNodes();
  EXPECT_THAT(told, SizeIs(2));
}

TEST_F(OwnersTest, OnlyTheGroupsOwnMachinesGoUnlessFusesAreOff) {
  EXPECT_EQ(owners.NotOurs({.name = "web-1"}, "web"), "");
  EXPECT_THAT(owners.NotOurs({.name = "web-1"}, "db"), HasSubstr("in web, not in db"));
  EXPECT_THAT(owners.NotOurs({.name = "stray"}, "web"), HasSubstr("does not know"));
  groups.SetUnknown("web-1", true);
  EXPECT_THAT(owners.NotOurs({.name = "web-1"}, "web"), HasSubstr("nobody can say"));
  options.deviations.fuses = false;
  EXPECT_EQ(owners.NotOurs({.name = "web-1"}, "web"), "");
}

}  // namespace
}  // namespace coppice::autoscale
