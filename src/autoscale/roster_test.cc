// Which nodes a pass reckons with: those that are there and those that it imagines.

#include "autoscale/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RosterTest : public testing::Test {
 protected:
  ListedNode Listed(const std::string& name, const std::string& group) {
    model::Node node;
    node.metadata.name = name;
    auto object = std::make_shared<const model::Node>(std::move(node));
    world_.UpsertNode(object);
    return {.node = std::move(object), .group = group};
  }
  void Imagine(const std::string& group, const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    ASSERT_TRUE(imagined_.Add(group, {.node = std::move(node)}));
  }
  // Names, with the groups.
  static std::vector<std::string> Registered(const Roster& roster) {
    std::vector<std::string> names;
    for (const ListedNode& of : roster.registered())
      names.push_back(of.node->metadata.name + "@" + of.group);
    return names;
  }
  static std::vector<std::string> All(const Roster& roster) {
    std::vector<std::string> names;
    for (const Quotas::NodeOf& of : roster.all())
      names.push_back(of.node->metadata.name + "@" + std::string(of.group));
    return names;
  }

  cluster::World world_;
  TpuRequests tpus_;
  Imagined imagined_{world_, tpus_};
};

TEST_F(RosterTest, StandInsComeAfterTheNodesThatAreThereAndAreNotRegistered) {
  const std::vector<ListedNode> listed = {Listed("a", "web"), Listed("b", "")};
  const Imagined::Fork fork(imagined_);
  Imagine("web", "upcoming-0");
  Imagine("db", "upcoming-1");
  Roster roster;
  roster.Update(listed, imagined_);
  EXPECT_THAT(Registered(roster), ElementsAre("a@web", "b@"));
  EXPECT_THAT(All(roster), ElementsAre("a@web", "b@", "upcoming-0@web", "upcoming-1@db"));
}

TEST_F(RosterTest, ANodeWhosePlaceAStandInTakesIsInNeitherList) {
  const std::vector<ListedNode> listed = {Listed("a", "web"), Listed("young", "web"),
                                          Listed("c", "web")};
  const Imagined::Fork fork(imagined_);
  Imagine("web", "upcoming-0");
  imagined_.Replace("young");
  Roster roster;
  roster.Update(listed, imagined_);
  EXPECT_THAT(Registered(roster), ElementsAre("a@web", "c@web"));
  EXPECT_THAT(All(roster), ElementsAre("a@web", "c@web", "upcoming-0@web"));
}

TEST_F(RosterTest, ItIsMadeAnewEachTime) {
  const std::vector<ListedNode> before = {Listed("a", "web"), Listed("young", "web")};
  Roster roster;
  {
    const Imagined::Fork fork(imagined_);
    imagined_.Replace("young");
    roster.Update(before, imagined_);
  }
  const std::vector<ListedNode> none;
  roster.Update(none, imagined_);
  EXPECT_THAT(Registered(roster), IsEmpty());
  EXPECT_THAT(All(roster), IsEmpty());
}

}  // namespace
}  // namespace coppice::autoscale
