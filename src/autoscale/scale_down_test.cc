// Which nodes are not needed, and which of them may go, as a whole engine decides it.

#include "autoscale/scale_down.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ScaleDownTest : public PlainEngineRig {
 protected:
  void Start(std::vector<std::string> args) {
    args.insert(args.end(), {"--scale-down-delay-after-add=0s"});
    Assemble(args, inline_, writer_);
  }
  std::shared_ptr<const report::PassReport> PassAfter(Duration time) {
    clock_.Set(clock_.Now() + time);
    return Pass();
  }
  void Taint(const std::string& name, std::string_view taint, TimePoint since) {
    model::Node node = *world_.FindNode(name);
    const auto at = std::chrono::duration_cast<seconds>(since.time_since_epoch()).count();
    node.spec.taints = {{.key = std::string(taint), .value = std::to_string(at), .effect = "x"}};
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  static report::StayReason ReasonFor(const report::PassReport& report, const std::string& node) {
    for (const auto& staying : report.scale_down.staying) {
      if (staying.node == node) return staying.reason;
    }
    return report::StayReason::kNoReason;
  }
  // For how long it has been unneeded, of a node that stays because that is not long enough.
  static Duration WaitedFor(const report::PassReport& report, const std::string& node) {
    for (const auto& staying : report.scale_down.staying) {
      if (staying.node == node) return staying.waited;
    }
    return Duration(-1);
  }
  void MakeAtomic(const std::string& group) {
    groups_.Change(group, [](cloud::FakeNodeGroups::Group& g) {
      g.options = [](const cloud::ScalingOptions& defaults) {
        cloud::ScalingOptions options = defaults;
        options.zero_or_max_node_scaling = true;
        return std::optional(options);
      };
    });
  }
  static std::vector<std::string> Removed(const report::PassReport& report) {
    std::vector<std::string> names;
    for (const auto& node : report.scale_down.removed) names.push_back(node.node);
    return names;
  }
};

// ---- Groups that go whole.

// The target counts a machine that never registered: all that are registered are the whole group.
TEST_F(ScaleDownTest, AnAtomicGroupGoesIfAllThatAreRegisteredGo) {
  AddGroup("whole", 5, 3);
  MakeAtomic("whole");
  AddNode("whole-1", "whole");
  AddNode("whole-2", "whole");
  Start({"--scale-down-unneeded-time=1m", "--max-node-provision-time=2h"});
  Pass();
  EXPECT_THAT(Removed(*PassAfter(minutes(2))), UnorderedElementsAre("whole-1", "whole-2"));
}

TEST_F(ScaleDownTest, AnAtomicGroupStaysIfOneOfItIsNeeded) {
  AddGroup("whole", 5, 3);
  MakeAtomic("whole");
  AddNode("whole-1", "whole");
  AddNode("whole-2", "whole");
  AddNode("whole-3", "whole");
  AddPod("busy", "cpu", 4, "whole-3");
  Start({"--scale-down-unneeded-time=1m"});
  Pass();
  const auto report = PassAfter(minutes(2));
  EXPECT_THAT(Removed(*report), IsEmpty());
  EXPECT_EQ(ReasonFor(*report, "whole-1"), report::StayReason::kAtomicScaleDownFailed);
}

// ---- Marks on nodes.

TEST_F(ScaleDownTest, AMarkOfADeletionCountsForFiveMinutesAndNotForMore) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  Start({});
  Pass();  // takes away marks of a process before
  Taint("web-1", kToBeDeletedTaint, clock_.Now());
  EXPECT_EQ(ReasonFor(*PassAfter(minutes(5) - seconds(1)), "web-1"),
            report::StayReason::kCurrentlyBeingDeleted);
  EXPECT_NE(ReasonFor(*PassAfter(seconds(1)), "web-1"), report::StayReason::kCurrentlyBeingDeleted);
}

TEST_F(ScaleDownTest, TimersOfAProcessBeforeUsGoOnWithinTheTimeToLive) {
  AddGroup("web", 5, 3);
  for (const char* name : {"in-time", "too-old", "of-the-future"}) AddNode(name, "web");
  clock_.Set(clock_.Now() + hours(24));
  Taint("in-time", kDeletionCandidateTaint, clock_.Now() - minutes(20));
  Taint("too-old", kDeletionCandidateTaint, clock_.Now() - minutes(20) - seconds(1));
  Taint("of-the-future", kDeletionCandidateTaint, clock_.Now() + seconds(1));
  Start({"--node-deletion-candidate-ttl=20m", "--scale-down-unneeded-time=30m"});
  const auto report = Pass();
  EXPECT_EQ(WaitedFor(*report, "in-time"), minutes(20));
  EXPECT_EQ(WaitedFor(*report, "too-old"), Duration::zero());
  EXPECT_EQ(WaitedFor(*report, "of-the-future"), Duration::zero());
}

TEST_F(ScaleDownTest, WithoutATimeToLiveTheyCountOnlyIfWhoSetThemWasAliveAMomentAgo) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  clock_.Set(clock_.Now() + hours(24));
  const TimePoint long_ago = clock_.Now() - hours(2);
  Taint("web-1", kDeletionCandidateTaint, long_ago);
  Start({"--scale-down-unneeded-time=3h"});
  EXPECT_EQ(WaitedFor(*Pass(), "web-1"), Duration::zero());
  Start({"--scale-down-unneeded-time=3h"});
  engine_->Recall({.written = clock_.Now()}, clock_.Now());
  EXPECT_EQ(WaitedFor(*Pass(), "web-1"), hours(2));
}

// ---- Verdicts that are remembered.

TEST_F(ScaleDownTest, RoomElsewhereIsLookedForAgainAfterAMinute) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("small", "cpu", 1, "web-1");
  AddPod("large", "cpu", 4, "web-2");
  Start({"--scale-down-unneeded-time=10m"});
  EXPECT_EQ(ReasonFor(*Pass(), "web-1"), report::StayReason::kNoPlaceToMovePods);
  world_.DeletePod("default", "large");
  EXPECT_EQ(ReasonFor(*PassAfter(minutes(1) - seconds(1)), "web-1"),
            report::StayReason::kRecentlyUnremovable);
  const auto report = PassAfter(seconds(1));
  EXPECT_NE(ReasonFor(*report, "web-1"), report::StayReason::kRecentlyUnremovable);
}

TEST_F(ScaleDownTest, APodThatSaysOtherwiseIsBelievedAtOnce) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("small", "cpu", 1, "web-1");
  AddPod("busy", "cpu", 3, "web-2");
  const auto say = [this](const std::string& safe) {
    model::Pod pod = *world_.FindPod("default", "small");
    pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = safe;
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  };
  say("false");
  Start({"--scale-down-unneeded-time=10m"});
  EXPECT_EQ(ReasonFor(*Pass(), "web-1"), report::StayReason::kBlockedByPod);
  say("false");  // a heartbeat is no news
  EXPECT_EQ(ReasonFor(*PassAfter(seconds(10)), "web-1"), report::StayReason::kRecentlyUnremovable);
  say("true");
  EXPECT_EQ(ReasonFor(*PassAfter(seconds(10)), "web-1"),
            report::StayReason::kNotUnneededLongEnough);
}

// One gone and one come: there are as many pods as before, and room where there was none.
TEST_F(ScaleDownTest, ThePassThatSeesRoomElsewhereAsksForTheOneThatLooksAgain) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("small", "cpu", 1, "web-1");
  AddPod("large", "cpu", 4, "web-2");
  Start({"--scale-down-unneeded-time=10m", "--scan-interval=1h"});
  Pass();
  const TimePoint found = clock_.Now();
  const auto quiet = PassAfter(seconds(10));
  ASSERT_TRUE(quiet->call_again.has_value());
  EXPECT_EQ(quiet->call_again->at, found + minutes(5)) << "nothing is different";
  world_.DeletePod("default", "large");
  AddPod("tiny", "cpu", 1, "web-2");
  const auto seen = PassAfter(seconds(10));
  EXPECT_EQ(ReasonFor(*seen, "web-1"), report::StayReason::kRecentlyUnremovable);
  ASSERT_TRUE(seen->call_again.has_value());
  EXPECT_EQ(seen->call_again->at, found + minutes(1));
  EXPECT_NE(ReasonFor(*PassAfter(seconds(40)), "web-1"), report::StayReason::kRecentlyUnremovable);
}

}  // namespace
}  // namespace coppice::autoscale
