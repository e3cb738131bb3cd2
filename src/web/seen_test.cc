#include "web/seen.h"

#include <gtest/gtest.h>

#include "cloud/fake_node_groups.h"

namespace coppice::web {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kMorning{seconds(1'767'592'800)};

class LookerTest : public testing::Test {
 protected:
  LookerTest() {
    cloud::FakeNodeGroups::Group group;
    group.info = {.id = "g", .max_size = 99};
    for (int i = 0; i < 50; ++i) {
      const auto node = NodeOf("n" + std::to_string(i));
      group.instances.push_back({.id = node->spec.provider_id});
      world_.UpsertNode(node);
    }
    group.node_template = NodeOf("new");
    groups_.Add(std::move(group));
  }
  static std::shared_ptr<const model::Node> NodeOf(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    node.metadata.uid = name;
    node.metadata.labels["node.kubernetes.io/instance-type"] = "medium";
    node.spec.provider_id = "fake://g/" + name;
    return std::make_shared<const model::Node>(std::move(node));
  }
  double PriceAt(TimePoint now) {
    const auto seen = looker_.Look(world_, &groups_, now);
    EXPECT_EQ(seen->nodes.size(), 50u);
    for (const SeenNode& node : seen->nodes) EXPECT_EQ(node.price, seen->rows.front().price);
    return seen->nodes.back().price;
  }
  auto TimesAsked() const {
    return std::ranges::count(groups_.calls(), "NodePrice", &cloud::FakeNodeGroups::Call::method);
  }

  cluster::World world_;
  cloud::FakeNodeGroups groups_;
  Looker looker_;
};

TEST_F(LookerTest, APriceIsAskedForOncePerRowAndType) {
  groups_.SetPrices(0.25, {});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(PriceAt(kMorning + i * milliseconds(250)), 0.25);
  EXPECT_EQ(TimesAsked(), 2) << "for the nodes, and for a new one";
}

TEST_F(LookerTest, ACloudWithoutPricesIsNotAskedForThemAtEachLook) {
  for (int i = 0; i < 40; ++i) EXPECT_EQ(PriceAt(kMorning + i * milliseconds(250)), 0);
  EXPECT_EQ(TimesAsked(), 2);
  groups_.SetPrices(0.25, {});
  EXPECT_EQ(PriceAt(kMorning + seconds(29)), 0);
  EXPECT_EQ(PriceAt(kMorning + seconds(30)), 0.25) << "it may have prices by now";
  EXPECT_EQ(TimesAsked(), 4);
}

TEST_F(LookerTest, AClockThatWasSetBackDoesNotHidePrices) {
  EXPECT_EQ(PriceAt(kMorning), 0);
  groups_.SetPrices(0.25, {});
  EXPECT_EQ(PriceAt(kMorning - seconds(3'600)), 0.25);
  groups_.SetPrices(0.5, {});
  EXPECT_EQ(PriceAt(kMorning - seconds(7'200)), 0.5) << "what is remembered is of later";
}

TEST(LookIsDueTest, MoreOftenWhileSomebodyWatches) {
  Looker looker;
  const auto due = [&](milliseconds after, bool watched) {
    return looker.IsDue(kMorning + after, kMorning + after, watched);
  };
  EXPECT_TRUE(due(milliseconds(0), false)) << "the first";
  EXPECT_FALSE(due(milliseconds(249), true));
  EXPECT_TRUE(due(milliseconds(250), true));
  EXPECT_FALSE(due(milliseconds(2'249), false));
  EXPECT_TRUE(due(milliseconds(2'250), false));
}

TEST(LookIsDueTest, OnceAMinuteOfAClusterWhoseTimeIsFaster) {
  Looker looker;
  EXPECT_TRUE(looker.IsDue(kMorning, kMorning, false));
  EXPECT_FALSE(looker.IsDue(kMorning + milliseconds(19), kMorning + seconds(600), false));
  EXPECT_FALSE(looker.IsDue(kMorning + milliseconds(20), kMorning + seconds(59), false));
  EXPECT_TRUE(looker.IsDue(kMorning + milliseconds(20), kMorning + seconds(60), false));
}

TEST(LookIsDueTest, AClockThatWasSetBackStopsNothing) {
  Looker looker;
  EXPECT_TRUE(looker.IsDue(kMorning, kMorning, true));
  const TimePoint back = kMorning - seconds(3'600);
  EXPECT_TRUE(looker.IsDue(back, back, true));
  EXPECT_FALSE(looker.IsDue(back + milliseconds(100), back + milliseconds(100), true));
  EXPECT_TRUE(looker.IsDue(back + milliseconds(250), back + milliseconds(250), true));
}

}  // namespace
}  // namespace coppice::web
