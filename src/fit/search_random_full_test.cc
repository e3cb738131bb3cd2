// The search that remembers finds what one finds that asks every node anew.

#include <gtest/gtest.h>

#include <vector>

#include "fit/search.h"
#include "test/support/random_cluster.h"

namespace coppice::fit {
namespace {

using cluster::kNone;
using cluster::NodeIndex;
using cluster::PodIndex;
using cluster::Snapshot;

// Upstream's way, word for word: each node in turn from behind the last one found.
class NaiveSearch {
 public:
  explicit NaiveSearch(const Snapshot& snapshot) : snapshot_(snapshot) {}

  NodeIndex Find(PodIndex pod, const Accept& accept) {
    const auto order = snapshot_.nodes();
    if (accept.from_position >= order.size()) return kNone;
    const size_t start = std::max((last_ + 1) % order.size(), accept.from_position);
    const size_t looked_at = order.size() - accept.from_position;
    for (size_t i = 0; i < looked_at; ++i) {
      const size_t at = accept.from_position + (start - accept.from_position + i) % looked_at;
      const NodeIndex node = order[at];
      if (node == accept.except) continue;
      if (accept.allowed != nullptr && (*accept.allowed)[node] == 0) continue;
      if (!accept.cordoned && snapshot_.node_shape(node).unschedulable) continue;
      if (!test::TheFilters().Ask(snapshot_, pod).Check(node).yes()) continue;
      last_ = at;
      return node;
    }
    return kNone;
  }

 private:
  const Snapshot& snapshot_;
  size_t last_ = 0;
};

class History {
 public:
  explicit History(uint64_t seed)
      : rng_(seed), search_(snapshot_, test::TheFilters()), naive_(snapshot_) {
    for (int i = 0; i < 6; ++i) AddNode();
  }

  void Step() {
    switch (rng_.Below(14)) {
      case 0:
        return AddNode();
      case 1:
        if (const NodeIndex node = AnyNode(); node != kNone && snapshot_.nodes().size() > 3) {
          snapshot_.RemoveNode(node);
        }
        return;
      case 2:
        if (const NodeIndex node = AnyNode(); node != kNone) {
          snapshot_.UpdateNode(node, test::RandomNode(rng_, snapshot_.node(node).name));
        }
        return;
      case 3:
        if (snapshot_.forks() < 3) snapshot_.OpenFork();
        return;
      case 4:
        if (snapshot_.forks() > 0)
          rng_.Chance(0.7) ? snapshot_.RevertFork() : snapshot_.CommitFork();
        return;
      case 5:
        if (const PodIndex pod = APlacedPod(); pod != kNone) snapshot_.Unplace(pod);
        return;
      case 6:
        if (const PodIndex pod = AnyPod(); pod != kNone) {
          snapshot_.UpdatePod(pod, test::RandomPod(rng_, "updated", false));
        }
        return;
      case 7:
        if (const PodIndex pod = AnyPod(); pod != kNone) snapshot_.RemovePod(pod);
        return;
      default:
        return Search();
    }
  }

 private:
  void AddNode() {
    const std::string name = "n" + std::to_string(rng_.Below(24));
    if (snapshot_.FindNode(name) == kNone) MUST(snapshot_.AddNode(test::RandomNode(rng_, name)));
  }
  NodeIndex AnyNode() {
    const auto order = snapshot_.nodes();
    return order.empty() ? kNone : order[rng_.Below(order.size())];
  }
  PodIndex AnyPod() {
    for (int i = 0; i < 20 && snapshot_.pod_bound() > 0; ++i) {
      const auto pod = static_cast<PodIndex>(rng_.Below(snapshot_.pod_bound()));
      if (snapshot_.IsKnown(pod)) return pod;
    }
    return kNone;
  }
  PodIndex APlacedPod() {
    const PodIndex pod = AnyPod();
    return pod != kNone && snapshot_.node_of(pod) != kNone ? pod : kNone;
  }

  // A few pods of one kind, and each is placed where it was found: mostly.
  void Search() {
    const model::Pod object = test::RandomPod(rng_, "p", rng_.Chance(0.4));
    Accept accept;
    std::vector<uint8_t> allowed(snapshot_.node_bound(), 1);
    if (rng_.Chance(0.3)) {
      for (uint8_t& a : allowed) a = rng_.Chance(0.7) ? 1 : 0;
      accept.allowed = &allowed;
    }
    if (rng_.Chance(0.2)) accept.except = AnyNode();
    accept.cordoned = rng_.Chance(0.3);
    if (rng_.Chance(0.2)) accept.from_position = rng_.Below(snapshot_.nodes().size() + 1);
    for (uint64_t i = 0; i <= rng_.Below(6); ++i) {
      const PodIndex pod = snapshot_.AddPod(object);
      const NodeIndex expected = naive_.Find(pod, accept);
      ASSERT_EQ(search_.Find(pod, accept), expected);
      const NodeSet all = search_.FindAll(pod, {.cordoned = true});
      for (const NodeIndex node : snapshot_.nodes()) {
        const bool fits = test::TheFilters().Ask(snapshot_, pod).Check(node).yes();
        ASSERT_EQ(search_.Check(pod, node).yes(), fits);
        ASSERT_EQ(search_.Fits(pod, node), fits);
        ASSERT_EQ(all.Has(node), fits);
      }
      if (expected == kNone) break;
      if (rng_.Chance(0.9)) snapshot_.Place(pod, expected);
    }
  }

  SeededRng rng_;
  Snapshot snapshot_;
  fit::Search search_;
  NaiveSearch naive_;
};

TEST(SearchRandomTest, FindsWhatAskingEveryNodeFinds) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    for (int step = 0; step < 250 && !testing::Test::HasFatalFailure(); ++step) history.Step();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace coppice::fit
