// A cluster with pods that come and go, clouds and API servers that fail, and a process that is
// killed anywhere; for every other seed solves, searches and calls of the cloud take their time. In
// the end no machine is unclaimed, none doubled, and no finalizer stuck.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "provision/engine_rig.h"
#include "test/support/delayed_workers.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EngineRandomTest : public testing::TestWithParam<int> {
 protected:
  EngineRandomTest() {
    if (GetParam() % 2 == 0) rig_.workers = &slow_workers_;
    rig_.Restart();
    rig_.AddPool("a");
    rig_.AddPool("b", [](model::NodePool& pool) {
      pool.spec.limits["nodes"] = model::Quantity::FromUnits(3);
      pool.spec.weight = 10;
    });
    rig_.before_write = [this](std::string_view) { return Step(); };
    rig_.cloud.on_create = [this](const model::NodeClaim&) { return Create(); };
  }

  Status Step() {
    if (dying_) return Unavailable("the process is dead");
    if (countdown_ > 0 && --countdown_ == 0) dying_ = true;
    return dying_ ? Unavailable("the process is dead") : Status::Ok();
  }
  cloud::FakeAnswer Create() {
    if (dying_) return {.status = Unavailable("dead"), .happens = false};
    // The deed is done, and nobody hears of it.
    const bool lost = !Step().ok() || rng_.Chance(0.1);
    if (lost) return {.status = Unavailable("lost")};
    if (rng_.Chance(0.05)) return {.status = ResourceExhausted("sold out"), .happens = false};
    return {};
  }

  void PodsEnd() {
    for (int i = 0; i < next_; ++i) {
      for (const char* tail : {"", "r", "rr"}) {
        const std::string name = "p" + std::to_string(i) + tail;
        if (rig_.FindPod(name) != nullptr && rng_.Chance(0.3)) rig_.RemovePod(name);
      }
    }
  }
  // Pods come, claims are deleted, a machine vanishes, or pods go.
  void SomethingHappens() {
    const uint64_t what = rng_.Below(10);
    if (what < 5) {
      for (uint64_t i = rng_.Below(4); i > 0; --i) {
        const std::string name = "p" + std::to_string(next_++);
        rig_.AddPod(name, 200 + static_cast<int64_t>(rng_.Below(3000)));
      }
    } else if (what < 7) {
      for (const auto& claim : rig_.Claims()) {
        if (rng_.Chance(0.2)) rig_.DeleteClaim(claim.metadata.name);
      }
    } else if (what < 8 && !rig_.Machines().empty()) {
      rig_.cloud.Vanish(rig_.Machines()[rng_.Below(rig_.Machines().size())].status.provider_id);
    } else {
      PodsEnd();
    }
  }
  // Perhaps the process dies within it.
  void TimePasses() {
    countdown_ = rng_.Chance(0.6) ? 1 + static_cast<int>(rng_.Below(25)) : 0;
    rig_.RunFor(seconds(1 + static_cast<int64_t>(rng_.Below(40))));
    if (!dying_) return;
    dying_ = false;
    countdown_ = 0;
    rig_.Restart();
  }
  void AllIsWell() {
    rig_.before_write = nullptr;
    rig_.cloud.on_create = nullptr;
    countdown_ = 0;
    rig_.Restart();
    rig_.RunFor(minutes(20));
  }
  ptrdiff_t StayingClaimsOf(std::string_view pool) {
    return std::ranges::count_if(rig_.Claims(), [pool](const model::NodeClaim& claim) {
      return *claim.metadata.labels.Find(model::kNodePoolLabel) == pool &&
             !claim.metadata.deletion_timestamp;
    });
  }

  SeededRng rng_{static_cast<uint64_t>(GetParam())};
  EngineRig rig_{EngineOptions()};
  test::DelayedWorkers slow_workers_{[this]() -> Executor& { return rig_.executor(); },
                                     static_cast<uint64_t>(GetParam()), seconds(5)};
  int countdown_ = 0;  // writes and cloud calls until the process dies
  bool dying_ = false;
  int next_ = 0;
};

TEST_P(EngineRandomTest, NothingIsLostWhereverTheProcessDies) {
  for (int round = 0; round < 25; ++round) {
    SomethingHappens();
    TimePasses();
    EXPECT_LE(StayingClaimsOf("b"), 3);
  }
  AllIsWell();
  // Every machine has one claim, every claim one machine, everything that goes is gone.
  std::map<std::string, int> claimed;
  for (const auto& claim : rig_.Claims()) {
    EXPECT_FALSE(claim.metadata.deletion_timestamp) << claim.metadata.name << " is stuck";
    EXPECT_TRUE(model::IsTrue(claim.status.conditions, "Ready")) << claim.metadata.name;
    ++claimed[claim.status.provider_id];
  }
  for (const auto& [id, count] : claimed) EXPECT_EQ(count, 1) << id;
  for (const auto& machine : rig_.Machines())
    EXPECT_TRUE(claimed.contains(machine.status.provider_id)) << machine.status.provider_id;
  EXPECT_EQ(claimed.size(), rig_.Machines().size());
  for (const auto& node : rig_.Nodes())
    EXPECT_FALSE(node.metadata.deletion_timestamp) << node.metadata.name << " is stuck";
  EXPECT_EQ(rig_.Nodes().size(), rig_.Claims().size());
  EXPECT_EQ(rig_.PodsWaiting(), 0);
}

// More of them: COPPICE_SEED is the first, COPPICE_RUNS how many.
int FromEnvironment(const char* name, int other) {
  const char* text = std::getenv(name);
  return text == nullptr ? other : std::atoi(text);
}
const int kFirst = FromEnvironment("COPPICE_SEED", 1);

INSTANTIATE_TEST_SUITE_P(Seeds, EngineRandomTest,
                         testing::Range(kFirst, kFirst + FromEnvironment("COPPICE_RUNS", 4)));

}  // namespace
}  // namespace coppice::provision
