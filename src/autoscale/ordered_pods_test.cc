#include "autoscale/ordered_pods.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using testing::Each;
using testing::ElementsAre;

class OrderedPodsTest : public PlainEngineRig {
 protected:
  fit::PendingPod Pending(const std::string& name, int64_t cpu) {
    AddPod(name, "cpu", cpu);
    const auto* entry = world_.Unbound().back();
    return {entry->pod, entry->index};
  }
  void Bought(const std::string& group, const Pods& pods) {
    report::ScaleUp done;
    done.resizes = {{group, 0, 1, 5}};
    for (const auto& pod : pods) done.triggered.push_back(pod.pod);
    ordered_.Bought(done);
  }
  void StandInOf(const std::string& group) {
    imagined_.Add(group, {.node = ANode(group + "-coming", "zone", clock_.Now())});
  }
  std::string HomeOf(const fit::PendingPod& pod) {
    const cluster::NodeIndex node = world_.snapshot().node_of(pod.index);
    return node == cluster::kNone ? "" : world_.snapshot().node(node).name;
  }
  std::vector<uint8_t> Place(const Pods& pods) {
    return ordered_.Place(pods, imagined_.stand_ins(), {}, search_);
  }

  TpuRequests tpus_;
  Imagined imagined_{world_, tpus_};
  fit::Search search_{world_.snapshot(), filters_};
  OrderedPods ordered_;
};

TEST_F(OrderedPodsTest, APodTakesTheNodeThatWasBoughtForIt) {
  const fit::PendingPod a = Pending("a", 3);
  const fit::PendingPod b = Pending("b", 3);
  Bought("first", {a});
  Bought("second", {b});
  const Imagined::Fork fork(imagined_);
  StandInOf("second");
  StandInOf("first");
  EXPECT_THAT(Place({a, b}), Each(1));
  EXPECT_EQ(HomeOf(a), "first-coming");
  EXPECT_EQ(HomeOf(b), "second-coming");
}

TEST_F(OrderedPodsTest, SomebodyThatNobodyBoughtForIsLeftToTheSearch) {
  const fit::PendingPod a = Pending("a", 3);
  const fit::PendingPod late = Pending("late", 1);
  Bought("first", {a});
  const Imagined::Fork fork(imagined_);
  StandInOf("first");
  EXPECT_THAT(Place({late, a}), ElementsAre(0, 1));
}

TEST_F(OrderedPodsTest, IfTheirOwnNodesDoNotDoAllGoOntoAll) {
  const fit::PendingPod a = Pending("a", 3);
  const fit::PendingPod b = Pending("b", 3);
  Bought("first", {a, b});
  Bought("second", {});
  const Imagined::Fork fork(imagined_);
  StandInOf("first");
  StandInOf("second");
  EXPECT_THAT(Place({a, b}), Each(1));
  EXPECT_EQ(HomeOf(a), "first-coming");
  EXPECT_EQ(HomeOf(b), "second-coming");
}

TEST_F(OrderedPodsTest, WhoIsNotPendingAnyMoreIsForgotten) {
  const fit::PendingPod a = Pending("a", 3);
  Bought("first", {a});
  const Imagined::Fork fork(imagined_);
  StandInOf("first");
  Place({});
  EXPECT_THAT(Place({a}), ElementsAre(0));
}

TEST_F(OrderedPodsTest, LargerPodsComeFirstWhileNodesAreComing) {
  Pods pods = {Pending("small", 1), Pending("large", 3), Pending("as-small", 1)};
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& pod : pods) all.push_back(pod.pod->metadata.name);
    return all;
  };
  LargerFirst(pods, imagined_.stand_ins(), world_.snapshot());
  EXPECT_THAT(names(), ElementsAre("small", "large", "as-small")) << "none is coming";
  const Imagined::Fork fork(imagined_);
  StandInOf("first");
  LargerFirst(pods, imagined_.stand_ins(), world_.snapshot());
  EXPECT_THAT(names(), ElementsAre("large", "small", "as-small"));
}

}  // namespace
}  // namespace coppice::autoscale
