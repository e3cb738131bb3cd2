// What any NodeGroups must do, whoever implements it. A test says how to make one, and gets these
// tests:
//
//   struct MyGroupsUnderTest {
//     cloud::NodeGroups& groups();
//     Clock& clock();
//     std::string Group();        // a group with min 0, max 5 and nothing in it
//     std::string OtherGroup();   // another one
//     void Settle();              // time passes until what was ordered runs and what was
//                                 // deleted is gone
//     int CallsOut();             // how often somebody outside (cloud, server) has been asked
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyGroups, NodeGroupsSuite, MyGroupsUnderTest);
//
// (within namespace coppice::conformance). A fresh object per test.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cloud/fake_node_groups.h"
#include "cloud/node_groups.h"
#include "test/support/must.h"

namespace coppice::conformance {

// Every read there is, for groups and nodes that are known, unknown, and nonsense. The thread that
// decides makes all of them, so none may ask anybody anything.
inline void ReadEverything(cloud::NodeGroups& groups, TimePoint now) {
  (void)groups.Version();
  (void)groups.GpuLabel();
  (void)groups.GpuTypes();
  std::vector<std::string> ids = {"nobody", ""};
  for (const cloud::GroupInfo& info : groups.Groups()) ids.push_back(info.id);
  std::vector<cloud::NodeRef> nodes = {{"", ""},
                                       {"", "control-plane-1"},
                                       {"x", "node"},
                                       {"aws:///eu-west-1a/i-0123456789abcdef0", "stranger"}};
  cloud::ScalingOptions other;
  other.scale_down_unneeded_time = std::chrono::seconds(4321);
  for (const std::string& id : ids) {
    (void)groups.TargetSize(id);
    (void)groups.Template(id);
    (void)groups.Options(id, {});
    (void)groups.Options(id, other);
    const auto instances = groups.Instances(id);
    if (!instances.ok()) continue;
    for (const auto& instance : *instances) nodes.push_back({instance.id, "node-of-" + id});
  }
  const TimePoint then = now + std::chrono::hours(1);
  for (const cloud::NodeRef& node : nodes) {
    (void)groups.GroupOf(node);
    (void)groups.HasInstance(node);
    (void)groups.NodePrice(node, {{"node.kubernetes.io/instance-type", "unheard-of"}}, now, then);
  }
  (void)groups.PodPrice({}, now, then);
  groups.TellNodes([&](const std::function<void(const cloud::NodeRef&)>& tell) {
    for (const cloud::NodeRef& node : nodes) tell(node);
  });
}

// What a scripted provider was asked that is not a read.
inline int CallsOutOf(const std::vector<cloud::FakeNodeGroups::Call>& calls) {
  return static_cast<int>(std::ranges::count_if(calls, [](const auto& call) {
    const std::vector<std::string> waits = {"Refresh", "Cleanup",        "Increase",
                                            "Delete",  "DecreaseTarget", "IncreaseAtomically"};
    return std::ranges::find(waits, call.method) != waits.end();
  }));
}

template <class UnderTest>
class NodeGroupsSuite : public testing::Test {
 protected:
  NodeGroupsSuite() { EXPECT_OK(groups().Refresh(Soon())); }

  cloud::NodeGroups& groups() { return under_test_.groups(); }
  Deadline Soon() { return Deadline::In(under_test_.clock(), std::chrono::seconds(30)); }
  std::string group() { return under_test_.Group(); }
  std::string other() { return under_test_.OtherGroup(); }
  void Settle() {
    under_test_.Settle();
    EXPECT_OK(groups().Refresh(Soon()));
  }
  // As an engine does: what is not known yet the next Refresh asks.
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef& node) {
    auto group = groups().GroupOf(node);
    if (group.ok()) return group;
    EXPECT_EQ(group.code(), Code::kUnavailable);
    EXPECT_OK(groups().Refresh(Soon()));
    return groups().GroupOf(node);
  }
  int Target() { return MUST(groups().TargetSize(group())); }
  std::vector<cloud::NodeRef> Nodes() {  // as the autoscaler names registered nodes
    std::vector<cloud::NodeRef> nodes;
    for (const auto& instance : MUST(groups().Instances(group()))) {
      if (instance.state != cloud::InstanceState::kDeleting) {
        nodes.push_back({instance.id, "node-" + std::to_string(nodes.size())});
      }
    }
    return nodes;
  }
  void Grow(int count) {
    ASSERT_OK(groups().Increase(group(), count, Soon()));
    Settle();
    ASSERT_EQ(Nodes().size(), static_cast<size_t>(count));
  }

  UnderTest under_test_;
};
TYPED_TEST_SUITE_P(NodeGroupsSuite);

TYPED_TEST_P(NodeGroupsSuite, GroupsComeInAStableOrder) {
  const auto first = this->groups().Groups();
  EXPECT_GE(first.size(), 2u);
  this->Settle();
  EXPECT_EQ(this->groups().Groups(), first);
}

TYPED_TEST_P(NodeGroupsSuite, UnknownGroupsAreNotFound) {
  auto& groups = this->groups();
  EXPECT_EQ(groups.TargetSize("nobody").code(), Code::kNotFound);
  EXPECT_EQ(groups.Instances("nobody").code(), Code::kNotFound);
  EXPECT_EQ(groups.Template("nobody").code(), Code::kNotFound);
  EXPECT_EQ(groups.Options("nobody", {}).code(), Code::kNotFound);
  EXPECT_EQ(groups.Increase("nobody", 1, this->Soon()).code(), Code::kNotFound);
  EXPECT_EQ(groups.Delete("nobody", {{"x", "y"}}, this->Soon()).code(), Code::kNotFound);
  EXPECT_EQ(groups.DecreaseTarget("nobody", -1, this->Soon()).code(), Code::kNotFound);
}

TYPED_TEST_P(NodeGroupsSuite, AnIncreaseRaisesTheTargetAtOnce) {
  ASSERT_OK(this->groups().Increase(this->group(), 3, this->Soon()));
  EXPECT_EQ(this->Target(), 3);
  this->Settle();
  EXPECT_EQ(this->Target(), 3);
  EXPECT_EQ(this->Nodes().size(), 3u);
}

TYPED_TEST_P(NodeGroupsSuite, AnIncreaseAboveTheMaximumIsRefusedWhole) {
  EXPECT_EQ(this->groups().Increase(this->group(), 6, this->Soon()).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(this->Target(), 0);
  EXPECT_THAT(this->Nodes(), testing::IsEmpty());
}

TYPED_TEST_P(NodeGroupsSuite, AnIncreaseByNothingOrLessIsInvalid) {
  for (const int delta : {0, -1, -2147483647}) {
    EXPECT_EQ(this->groups().Increase(this->group(), delta, this->Soon()).code(),
              Code::kInvalidArgument);
  }
}

TYPED_TEST_P(NodeGroupsSuite, MachinesBelongToTheirGroupById) {
  this->Grow(2);
  for (const auto& node : this->Nodes()) {
    // Stand-ins carry the id for a name, and nothing else.
    EXPECT_EQ(MUST(this->groups().GroupOf({node.provider_id, node.provider_id})), this->group());
  }
}

TYPED_TEST_P(NodeGroupsSuite, StrangersBelongToNobody) {
  for (const char* id : {"", "x", "aws:///eu-west-1a/i-0123456789abcdef0"}) {
    EXPECT_EQ(MUST(this->GroupOf({id, "control-plane-1"})), std::nullopt) << id;
  }
}

TYPED_TEST_P(NodeGroupsSuite, ADeleteTakesExactlyTheNamedAndLowersTheTarget) {
  this->Grow(3);
  const auto nodes = this->Nodes();
  ASSERT_OK(this->groups().Delete(this->group(), {nodes[1]}, this->Soon()));
  EXPECT_EQ(this->Target(), 2);
  this->Settle();
  EXPECT_EQ(this->Target(), 2);
  std::vector<std::string> left;
  for (const auto& node : this->Nodes()) left.push_back(node.provider_id);
  EXPECT_THAT(left, testing::UnorderedElementsAre(nodes[0].provider_id, nodes[2].provider_id));
}

TYPED_TEST_P(NodeGroupsSuite, OneBadIdRefusesTheWholeDelete) {
  this->Grow(2);
  const auto nodes = this->Nodes();
  const Status status =
      this->groups().Delete(this->group(), {nodes[0], {"bogus-id", "node-9"}}, this->Soon());
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("bogus-id"));
  this->Settle();
  EXPECT_EQ(this->Nodes().size(), 2u);
  EXPECT_EQ(this->Target(), 2);
}

TYPED_TEST_P(NodeGroupsSuite, AMachineOfAnotherGroupIsNotDeleted) {
  this->Grow(1);
  const auto nodes = this->Nodes();
  const Status status = this->groups().Delete(this->other(), nodes, this->Soon());
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr(nodes[0].provider_id));
  this->Settle();
  EXPECT_EQ(this->Nodes().size(), 1u);
}

TYPED_TEST_P(NodeGroupsSuite, DecreaseTargetNeverTakesWhatExists) {
  this->Grow(2);
  EXPECT_EQ(this->groups().DecreaseTarget(this->group(), -1, this->Soon()).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(this->groups().DecreaseTarget(this->group(), 1, this->Soon()).code(),
            Code::kInvalidArgument);
  this->Settle();
  EXPECT_EQ(this->Target(), 2);
  EXPECT_EQ(this->Nodes().size(), 2u);
}

TYPED_TEST_P(NodeGroupsSuite, ATemplateIsATruthfulNode) {
  const auto node = MUST(this->groups().Template(this->group()));
  ASSERT_NE(node, nullptr);
  for (const char* resource : {"cpu", "memory", "pods"}) {
    const auto* capacity = node->status.capacity.Find(resource);
    const auto* allocatable = node->status.allocatable.Find(resource);
    ASSERT_NE(capacity, nullptr) << resource;
    ASSERT_NE(allocatable, nullptr) << resource;
    EXPECT_GT(allocatable->Sign(), 0) << resource;
    EXPECT_LE(allocatable->Compare(*capacity), 0) << resource;
  }
  for (const char* label : {"kubernetes.io/os", "kubernetes.io/arch"}) {
    EXPECT_TRUE(node->metadata.labels.contains(label)) << label;
  }
}

TYPED_TEST_P(NodeGroupsSuite, OptionsAreAbsentOrCompleteFromTheDefaults) {
  cloud::ScalingOptions defaults;
  defaults.scale_down_unneeded_time = std::chrono::seconds(1234);
  if (this->groups().Options(this->other(), defaults).code() == Code::kUnavailable) {
    EXPECT_OK(this->groups().Refresh(this->Soon()));  // not known yet with these defaults
  }
  const auto options = MUST(this->groups().Options(this->other(), defaults));
  if (options) {
    EXPECT_EQ(options->scale_down_unneeded_time, defaults.scale_down_unneeded_time);
  }
}

TYPED_TEST_P(NodeGroupsSuite, NoReadCallsOut) {
  this->Grow(2);
  int calls = this->under_test_.CallsOut();
  EXPECT_GT(calls, 0) << "nobody counts";
  for (int i = 0; i < 2; ++i) {
    ReadEverything(this->groups(), this->under_test_.clock().Now());
    EXPECT_EQ(this->under_test_.CallsOut(), calls);
    EXPECT_OK(this->groups().Refresh(this->Soon()));  // and now with what that has asked besides
    calls = this->under_test_.CallsOut();
  }
}

REGISTER_TYPED_TEST_SUITE_P(NodeGroupsSuite, GroupsComeInAStableOrder, UnknownGroupsAreNotFound,
                            AnIncreaseRaisesTheTargetAtOnce,
                            AnIncreaseAboveTheMaximumIsRefusedWhole,
                            AnIncreaseByNothingOrLessIsInvalid, MachinesBelongToTheirGroupById,
                            StrangersBelongToNobody, ADeleteTakesExactlyTheNamedAndLowersTheTarget,
                            OneBadIdRefusesTheWholeDelete, AMachineOfAnotherGroupIsNotDeleted,
                            DecreaseTargetNeverTakesWhatExists, ATemplateIsATruthfulNode,
                            OptionsAreAbsentOrCompleteFromTheDefaults, NoReadCallsOut);

}  // namespace coppice::conformance
