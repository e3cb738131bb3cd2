// A cluster with pods that come and go, clouds and API servers that fail, and a process that is
// killed anywhere: in the end no machine is unclaimed, none doubled, and no finalizer stuck.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EngineRandomTest : public testing::TestWithParam<int> {};

TEST_P(EngineRandomTest, NothingIsLostWhereverTheProcessDies) {
  SeededRng rng(static_cast<uint64_t>(GetParam()));
  EngineOptions options;
  EngineRig rig(options);
  rig.AddPool("a");
  rig.AddPool("b", [](model::NodePool& pool) {
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(3);
    pool.spec.weight = 10;
  });
  int countdown = 0;  // writes and cloud calls until the process dies
  bool dying = false;
  const auto step = [&]() -> Status {
    if (dying) return Unavailable("the process is dead");
    if (countdown > 0 && --countdown == 0) dying = true;
    return dying ? Unavailable("the process is dead") : Status::Ok();
  };
  rig.before_write = [&](std::string_view) { return step(); };
  rig.cloud.on_create = [&](const model::NodeClaim&) {
    if (dying) return cloud::FakeAnswer{.status = Unavailable("dead"), .happens = false};
    // The deed is done, and nobody hears of it.
    const bool lost = !step().ok() || rng.Chance(0.1);
    if (lost) return cloud::FakeAnswer{.status = Unavailable("lost")};
    if (rng.Chance(0.05))
      return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
    return cloud::FakeAnswer{};
  };
  std::set<std::string> pods;
  int next = 0;
  for (int round = 0; round < 25; ++round) {
    const uint64_t what = rng.Below(10);
    if (what < 5) {
      for (uint64_t i = rng.Below(4); i > 0; --i) {
        const std::string name = "p" + std::to_string(next++);
        rig.AddPod(name, 200 + static_cast<int64_t>(rng.Below(3000)));
      }
    } else if (what < 7) {
      for (const auto& claim : rig.Claims()) {
        if (rng.Chance(0.2)) rig.DeleteClaim(claim.metadata.name);
      }
    } else if (what < 8 && !rig.Machines().empty()) {
      rig.cloud.Vanish(rig.Machines()[rng.Below(rig.Machines().size())].status.provider_id);
    } else {
      for (int i = 0; i < next; ++i) {
        for (const std::string& tail : {std::string(), std::string("r"), std::string("rr")}) {
          const std::string name = "p" + std::to_string(i) + tail;
          if (rig.FindPod(name) != nullptr && rng.Chance(0.3)) rig.RemovePod(name);
        }
      }
    }
    countdown = rng.Chance(0.6) ? 1 + static_cast<int>(rng.Below(25)) : 0;
    rig.RunFor(seconds(1 + static_cast<int64_t>(rng.Below(40))));
    if (dying) {
      dying = false;
      countdown = 0;
      rig.Restart();
    }
    EXPECT_LE(static_cast<size_t>(std::ranges::count_if(
                  rig.Claims(),
                  [](const model::NodeClaim& claim) {
                    return *claim.metadata.labels.Find(model::kNodePoolLabel) == "b" &&
                           !claim.metadata.deletion_timestamp;
                  })),
              3u);
  }
  rig.before_write = nullptr;
  rig.cloud.on_create = nullptr;
  countdown = 0;
  rig.Restart();
  rig.RunFor(minutes(20));
  // Every machine has one claim, every claim one machine, everything that goes is gone.
  std::map<std::string, int> claimed;
  for (const auto& claim : rig.Claims()) {
    EXPECT_FALSE(claim.metadata.deletion_timestamp) << claim.metadata.name << " is stuck";
    EXPECT_TRUE(model::IsTrue(claim.status.conditions, "Ready")) << claim.metadata.name;
    ++claimed[claim.status.provider_id];
  }
  for (const auto& [id, count] : claimed) EXPECT_EQ(count, 1) << id;
  for (const auto& machine : rig.Machines())
    EXPECT_TRUE(claimed.contains(machine.status.provider_id)) << machine.status.provider_id;
  EXPECT_EQ(claimed.size(), rig.Machines().size());
  for (const auto& node : rig.Nodes())
    EXPECT_FALSE(node.metadata.deletion_timestamp) << node.metadata.name << " is stuck";
  EXPECT_EQ(rig.Nodes().size(), rig.Claims().size());
  EXPECT_EQ(rig.PodsWaiting(), 0);
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
