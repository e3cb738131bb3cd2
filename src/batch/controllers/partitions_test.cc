// Tasks that come in parts: what their group asks for, and how pods tell which part they are of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/controllers/job_objects.h"
#include "model/batch.h"
#include "wire/wire.h"

namespace coppice::batch {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

VolcanoJob AJob(const std::string& policy) {
  auto job = ReadVolcanoJob(
      R"({"metadata":{"name":"train"},"spec":{"tasks":[{"name":"w","replicas":6,"template":{"spec":{}},)"
      R"("partitionPolicy":)" +
      policy + "}]}}");
  EXPECT_TRUE(job.ok()) << job.status();
  job->metadata.name = "train";
  job->metadata.namespace_ = "ns";
  job->metadata.uid = "u";
  return *std::move(job);
}

TEST(PartitionsTest, TheGroupHasASubGroupPolicyOfEachSuchTask) {
  const VolcanoJob job = AJob(R"({"totalPartitions":3,"partitionSize":2,"minPartitions":2,)"
                              R"("networkTopology":{"mode":"hard","highestTierAllowed":1}})");
  const auto group = wire::FromJson<model::PodGroup>(GroupOfJob(job));
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(group->spec.min_member, 4) << "two parts of two";
  ASSERT_THAT(group->spec.sub_group_policy, SizeIs(1));
  const model::SubGroupPolicy& policy = group->spec.sub_group_policy.front();
  EXPECT_EQ(policy.name, "w");
  EXPECT_EQ(policy.sub_group_size, 2);
  EXPECT_EQ(policy.min_sub_groups, 2);
  EXPECT_THAT(policy.match_label_keys, ElementsAre("volcano.sh/partition-id"));
  EXPECT_EQ(*policy.label_selector->match_labels.Find("volcano.sh/task-spec"), "w");
  EXPECT_EQ(policy.network_topology->highest_tier_allowed, 1);
}

TEST(PartitionsTest, PodsSayWhichPartTheyAreOf) {
  const VolcanoJob job = AJob(R"({"partitionSize":2,"minPartitions":3})");
  std::string parts;
  for (int i = 0; i < 6; ++i) {
    const auto pod = wire::FromJson<model::Pod>(PodOfJob(job, job.tasks.front(), i).value());
    parts += *pod->metadata.labels.Find("volcano.sh/partition-id");
  }
  EXPECT_EQ(parts, "001122");
}

TEST(PartitionsTest, ASizeThatIsNoneIsOnePart) {
  const VolcanoJob job = AJob(R"({"minPartitions":1})");
  const auto pod = wire::FromJson<model::Pod>(PodOfJob(job, job.tasks.front(), 5).value());
  EXPECT_EQ(*pod->metadata.labels.Find("volcano.sh/partition-id"), "0");
  EXPECT_EQ(job.least(), 6);
}

}  // namespace
}  // namespace coppice::batch
