#include "provision/nearest_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/disruption/disruption_scene.h"

namespace coppice::provision {
namespace {

using cloud::FakeNodeClaims;
using testing::HasSubstr;

class NearestPoolTest : public testing::Test {
 protected:
  NearestPoolTest() {
    for (const char* pool : {"a", "b", "c"}) scene_.AddPool(pool);
    scene_.AddPod("giant", "", 1'000'000);
    world_ = scene_.World();
    pod_ = std::make_shared<const model::Pod>(Giant());
  }
  static model::Pod Giant() {
    model::Pod pod;
    pod.metadata.name = "giant";
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromUnits(1000);
    pod.spec.containers.push_back(std::move(container));
    return pod;
  }

  DisruptionScene scene_{cloud::InstanceTypes{FakeNodeClaims::AType("small", 2, 0.1)}};
  DisruptionWorld world_;
  PodPtr pod_;
};

TEST_F(NearestPoolTest, EachPoolSaysWhatItLacks) {
  size_t solves_left = 500;
  const auto misses = NearMisses(world_, pod_, {}, solves_left);
  ASSERT_EQ(misses.size(), 3u);
  for (const auto& miss : misses) {
    EXPECT_TRUE(miss.tried);
    EXPECT_THAT(miss.text, HasSubstr("of cpu, and the largest machine of the pool has"));
    EXPECT_THAT(miss.would_take_if, testing::MatchesRegex("it asked for no more than .* of cpu"));
    ASSERT_EQ(miss.shortfalls.size(), 1u);
    EXPECT_EQ(miss.shortfalls[0].what, "cpu");
    EXPECT_EQ(miss.shortfalls[0].asked, 1'000'000) << "thousandths";
    EXPECT_GT(miss.shortfalls[0].free, 0);
    EXPECT_LE(miss.shortfalls[0].free, 2'000);
  }
  EXPECT_LT(solves_left, 500u);
}

TEST_F(NearestPoolTest, WhatIsNotLookedIntoIsToldSo) {
  size_t solves_left = 15;
  const auto misses = NearMisses(world_, pod_, {}, solves_left);
  ASSERT_EQ(misses.size(), 3u);
  EXPECT_TRUE(misses[0].tried) << "the first is looked into, and the nearest comes first";
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_FALSE(misses[i].tried);
    EXPECT_THAT(misses[i].text, HasSubstr("not looked into"));
  }
  EXPECT_GT(solves_left, 0u);
}

}  // namespace
}  // namespace coppice::provision
