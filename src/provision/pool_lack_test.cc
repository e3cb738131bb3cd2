#include "provision/pool_lack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/disruption/disruption_scene.h"

namespace coppice::provision {
namespace {

using cloud::FakeNodeClaims;
using testing::ElementsAre;
using testing::IsEmpty;
using What = report::PoolMiss::What;

class PoolLackTest : public testing::Test {
 protected:
  PoolLackTest() {
    scene_.AddPool("p");
    world_ = scene_.World();
    pool_ = *world_.pools.front().pool;
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromUnits(1);
    pod_.spec.containers.push_back(std::move(container));
  }
  PoolLack Of(What what, const std::string& key = "") {
    PoolView view = world_.pools.front();
    view.pool = std::make_shared<const model::NodePool>(pool_);
    return LackOf(what, key, view, pod_, {});
  }

  DisruptionScene scene_{cloud::InstanceTypes{FakeNodeClaims::AType("small", 2, 0.1),
                                              FakeNodeClaims::AType("large", 8, 0.4)}};
  DisruptionWorld world_;
  model::NodePool pool_;
  model::Pod pod_;
};

TEST_F(PoolLackTest, ALimitSaysWhatItWouldHaveToBe) {
  pool_.spec.limits["cpu"] = model::Quantity::FromUnits(17);
  pool_.spec.limits["memory"] = *model::Quantity::Parse("900Ti");
  pool_.status.resources["cpu"] = model::Quantity::FromUnits(16);
  const PoolLack lack = Of(What::kLimit);
  EXPECT_EQ(lack.text, "the limits of the pool are reached: cpu 16 of 17, memory 0 of 900Ti");
  EXPECT_EQ(lack.would_take_if, "its limit of 17 cpu were 18");
  EXPECT_THAT(lack.shortfalls,
              ElementsAre(model::Shortfall{
                  .what = "cpu", .asked = 2'000, .free = 1'000, .capacity = 17'000}))
      << "of the smallest machine that is big enough";
}

TEST_F(PoolLackTest, ALimitIsHeldAgainstTheSmallestMachineThatIsBigEnough) {
  pool_.spec.limits["cpu"] = model::Quantity::FromUnits(17);
  pool_.status.resources["cpu"] = model::Quantity::FromUnits(12);
  pod_.spec.containers[0].resources.requests["cpu"] = model::Quantity::FromUnits(4);
  EXPECT_EQ(Of(What::kLimit).would_take_if, "its limit of 17 cpu were 20");
  pool_.spec.limits = {};
  pool_.spec.limits["nodes"] = model::Quantity::FromUnits(3);
  pool_.status.resources["nodes"] = model::Quantity::FromUnits(3);
  EXPECT_EQ(Of(What::kLimit).would_take_if, "its limit of 3 nodes were 4");
}

TEST_F(PoolLackTest, EveryResourceThatNoMachineHasIsCounted) {
  pod_.spec.containers[0].resources.requests["cpu"] = model::Quantity::FromUnits(16);
  pod_.spec.containers[0].resources.requests["example.com/gpu"] = model::Quantity::FromUnits(1);
  const PoolLack lack = Of(What::kResource);
  ASSERT_EQ(lack.shortfalls.size(), 2u);
  EXPECT_EQ(lack.shortfalls[0].what, "cpu");
  EXPECT_EQ(lack.shortfalls[0].asked, 16'000);
  EXPECT_EQ(lack.shortfalls[1],
            (model::Shortfall{.what = "example.com/gpu", .asked = 1, .free = 0, .capacity = 0}));
  EXPECT_THAT(
      lack.would_take_if,
      testing::MatchesRegex("it asked for no more than .* of cpu and 0 of example.com/gpu"));
  EXPECT_THAT(lack.text, testing::HasSubstr("example.com/gpu")) << "the furthest away";
}

TEST_F(PoolLackTest, EachKindSaysWhatWouldHaveToBeOtherwise) {
  pool_.spec.template_.spec.taints = {{.key = "team", .value = "a", .effect = "NoSchedule"}};
  EXPECT_EQ(Of(What::kTaint).would_take_if, "it tolerated team=a:NoSchedule");
  pod_.spec.node_selector["zone"] = "moon";
  const PoolLack demand = Of(What::kRequirement, "zone");
  EXPECT_THAT(demand.would_take_if, testing::MatchesRegex("it did not demand zone .*moon.*"));
  EXPECT_THAT(demand.shortfalls, IsEmpty());
  for (const What what : {What::kRequirement, What::kTopology, What::kOffering}) {
    EXPECT_NE(Of(what).text, "");
    EXPECT_NE(Of(what).would_take_if, "");
  }
}

}  // namespace
}  // namespace coppice::provision
