// Node pools sell to gangs on a real control plane: claims for a gang as a whole, held until it starts.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <iostream>

#include "model/quantity.h"
#include "test/e2e/batch_rig.h"
#include "test/e2e/pools_rig.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

// Nothing goes by itself: what goes is given back by whoever bought it.
constexpr char kNobodyGoes[] = "consolidateAfter: Never";

class ClusterPoolGangsTest : public PoolsTest {
 protected:
  void SetUp() override {
    PoolsTest::SetUp();
    if (!IsSkipped() && !HasFailure()) AllowBatch(*rig_);
  }
  void TearDown() override {
    if (rig_ == nullptr || cloud_ == nullptr) return;
    if (HasFailure())
      std::cerr << rig_->Kubectl({"get", "podgroups.scheduling.volcano.sh", "-A", "-o", "yaml"});
    SweepBatch(*rig_);
    PoolsTest::TearDown();
  }
  // Nodes that carry the mark of a gang.
  size_t Held() {
    size_t held = 0;
    for (const Json& node : Nodes()) {
      for (const Json& taint : node["spec"].value("taints", Json::array()))
        held += taint.value("key", "") == "coppice.dev/held-for";
    }
    return held;
  }
  int64_t CoresOfNodes() {
    int64_t millis = 0;
    for (const Json& node : Nodes()) {
      const Json allocatable = node.value("status", Json::object()).value("allocatable", Json());
      if (allocatable.is_object() && allocatable.contains("cpu"))
        millis += model::Quantity::Parse(allocatable["cpu"].get<std::string>())->MilliValue();
    }
    return millis;
  }
};

TEST_F(ClusterPoolGangsTest, AGangBuysItsMachinesFromAPoolAndStartsWhole) {
  rig_->Apply(Class("debian-12") + Pool("general", kNobodyGoes));
  Child& coppice = StartAndSync("a", {"--batch", "--batch-controllers=all"});
  const TimePoint start = clock_.Now();
  rig_->Apply(Gang({.name = "big", .size = 12}));
  Bindings bindings(*rig_);
  int64_t cores_at_first = 0;
  size_t most_held = 0;
  EXPECT_TRUE(Until(
      [&] {
        if (cores_at_first == 0 && bindings.Look("big") > 0) cores_at_first = CoresOfNodes();
        most_held = std::max(most_held, Held());
        return Running("big") == 12;
      },
      seconds(90)));
  std::cerr << "a gang of 12 runs after " << Since(start) << " s on " << cloud_->servers()
            << " machines of a pool\n";
  EXPECT_GE(cores_at_first, 12'000) << "it was started in part";
  EXPECT_EQ(cloud_->peak(), cloud_->servers()) << "more was bought than the gang needs";
  EXPECT_GT(most_held, 0u) << "nothing was kept for the gang";
  const std::vector<std::string> events = Events("big");
  EXPECT_EQ(std::ranges::count_if(
                events, [](const auto& event) { return event.starts_with("TriggeredScaleUp"); }),
            1);
  EXPECT_TRUE(Until([&] { return Held() == 0; }, seconds(20))) << "held after it has started";
  EXPECT_TRUE(Until([&] { return ClaimsThatAre("Ready") == static_cast<int>(Claims().size()); },
                    seconds(20)));
  ExpectOneMachinePerClaim();
  bindings.ExpectRoom(Nodes());
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
}

TEST_F(ClusterPoolGangsTest, AGangThatIsDeletedBeforeItStartsGivesItsClaimsBack) {
  rig_->Apply(Class("debian-12") + Pool("general", kNobodyGoes));
  StartAndSync("a", {"--batch", "--batch-controllers=all"});
  rig_->Apply(Gang({.name = "short", .size = 6}));
  EXPECT_TRUE(Until([&] { return !Claims().empty(); }, seconds(30)));
  rig_->Kubectl({"delete", "podgroups.scheduling.volcano.sh", "short", "-n", "default"});
  rig_->Kubectl({"delete", "pods", "-l", "app=short", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return Claims().empty() && cloud_->servers() == 0; }, seconds(90)));
}

TEST_F(ClusterPoolGangsTest, APoolThatMayNotGrowSoFarSellsNothing) {
  rig_->Apply(Class("debian-12") + Pool("small", kNobodyGoes) + "  limits: {cpu: \"4\"}\n");
  StartAndSync("a", {"--batch", "--batch-controllers=all"});
  rig_->Apply(Gang({.name = "huge", .size = 12}));
  EXPECT_TRUE(Until(
      [&] {
        return testing::Matches(Contains(HasSubstr("NotTriggerScaleUp")))(Events("huge")) ||
               !Claims().empty();
      },
      seconds(30)));
  EXPECT_TRUE(Claims().empty()) << "half a gang's machines";
  EXPECT_EQ(Running("huge"), 0);
}

}  // namespace
}  // namespace coppice::test
