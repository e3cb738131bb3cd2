#include "seats/engine_seats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autoscale/drain_options.h"
#include "batch/controllers/volcano_job.h"
#include "model/node_claim.h"
#include "seats/batch_seat.h"

namespace coppice::seats {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Optional;

const std::string kOfPools = model::karpenter::kDoNotDisruptAnnotation;
const std::string kOfGroups(autoscale::kAnnotationPrefix);

RunSettings Engines(bool groups, bool pools) {
  RunSettings settings{.flags = {}, .node_groups = groups};
  if (pools) settings.node_pools.emplace();
  return settings;
}

TEST(EngineSeatsTest, WhatAnyOfTheEnginesReadsTellsPodsApartForAll) {
  EXPECT_THAT(ViewOf(Engines(true, false)).marks.eviction_annotations,
              Optional(ElementsAre(kOfGroups)));
  EXPECT_THAT(ViewOf(Engines(false, true)).marks.eviction_annotations,
              Optional(ElementsAre(kOfPools)));
  const auto both = ViewOf(Engines(true, true));
  EXPECT_THAT(both.marks.eviction_annotations, Optional(ElementsAre(kOfGroups, kOfPools)));
  EXPECT_EQ(both.marks.timed_taints, ViewOf(Engines(true, false)).marks.timed_taints);
}

TEST(EngineSeatsTest, WhatSpeaksOfEvictionIsNewsUnlessPeersAreFollowedExactly) {
  RunSettings settings = Engines(true, true);
  EXPECT_THAT(TellingAnnotations(settings), Optional(ElementsAre(kOfGroups, kOfPools)));
  EXPECT_EQ(TellingAnnotations(Engines(false, false)), std::nullopt);
  settings.flags.upstream_exact = true;
  EXPECT_EQ(TellingAnnotations(settings), std::nullopt);
}

TEST(EngineSeatsTest, WhoCountsIsSaidOnlyWhereThereAreNodeGroups) {
  EXPECT_TRUE(ViewOf(Engines(true, true)).counts);
  EXPECT_FALSE(ViewOf(Engines(false, true)).counts);
  EXPECT_FALSE(ViewOf(Engines(false, false)).counts);
}

TEST(EngineSeatsTest, GangsAreLeftToTheBatchSchedulerUnlessPeersAreFollowedExactly) {
  RunSettings settings = Engines(true, true);
  settings.batch.emplace();
  settings.batch->engine.session.scheduler_names = {"volcano"};
  const RunSettings together = Together(settings);
  EXPECT_THAT(together.flags.options.gang_scheduler_names, ElementsAre("volcano"));
  EXPECT_THAT(together.node_pools->gang_scheduler_names, Contains("volcano"));
  settings.flags.upstream_exact = true;
  EXPECT_THAT(Together(settings).flags.options.gang_scheduler_names, testing::IsEmpty());
}

TEST(VolcanoJobCodecTest, OneThatCannotBeReadIsThereAndHidesNoOther) {
  const kube::KindCodec codec = VolcanoJobCodec();
  EXPECT_EQ(codec.path, "/apis/batch.volcano.sh/v1alpha1/jobs");
  const auto page = codec.read_page(
      R"({"kind":"JobList","apiVersion":"batch.volcano.sh/v1alpha1","metadata":{},"items":[)"
      R"({"metadata":{"name":"good","namespace":"ns"},"spec":{"minAvailable":1}},)"
      R"({"metadata":{"name":"bad","namespace":"ns","uid":"u"},"spec":{"minAvailable":"many"}},)"
      R"({"metadata":{"name":"last","namespace":"ns"},"spec":{"minAvailable":2}}]})");
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->items.size(), 3u);
  EXPECT_FALSE(page->items[0].unreadable);
  ASSERT_TRUE(page->items[1].unreadable);
  EXPECT_EQ(page->items[1].name, "bad");
  const auto& bad = *std::static_pointer_cast<const batch::VolcanoJob>(page->items[1].object);
  EXPECT_TRUE(bad.metadata.unreadable);
  EXPECT_EQ(bad.metadata.uid, "u");
  EXPECT_FALSE(page->items[2].unreadable);
}

}  // namespace
}  // namespace coppice::seats
