#include "batch/stale.h"

#include <gtest/gtest.h>

#include "batch/job.h"
#include "batch/node.h"

namespace coppice::batch {
namespace {

std::shared_ptr<const model::Node> ANode(const char* name) {
  auto node = std::make_shared<model::Node>();
  node->metadata.name = name;
  node->status.allocatable["cpu"] = model::Quantity::FromUnits(4);
  node->status.allocatable["pods"] = model::Quantity::FromUnits(10);
  return node;
}

class StaleTaskTest : public testing::Test {
 protected:
  StaleTaskTest() : task_(MakeTask(APod())) {
    task_.request = std::make_shared<const Resource>(PodRequest(*task_.pod));
    job_.AddTask(task_);
    job_.Finish();
    // A plan puts a copy of it on the first node; the index keeps the pending one.
    Job::KeepStale({.task = &task_, .was = {}, .last_transaction = {}});
    job_.SetStatus(task_, TaskStatus::kPipelined);
    task_.node_name = first_.name;
    EXPECT_TRUE(first_.Add(task_).ok());
  }

  static std::shared_ptr<const model::Pod> APod() {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = "pod";
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromUnits(1);
    pod->spec.containers.push_back(container);
    return pod;
  }
  int32_t InSubJob(TaskStatus status) const { return task_.sub_job->counts.of(status); }

  Job job_{model::PodGroup{}};
  Task task_;
  NodeInfo first_{ANode("first")};
  NodeInfo second_{ANode("second")};
};

TEST_F(StaleTaskTest, BothCountForTheSubJobAndOneForTheJob) {
  EXPECT_EQ(InSubJob(TaskStatus::kPending), 1);
  EXPECT_EQ(InSubJob(TaskStatus::kPipelined), 1);
  EXPECT_EQ(job_.counts.of(TaskStatus::kPending), 0);
  EXPECT_EQ(job_.counts.of(TaskStatus::kPipelined), 1);
}

TEST_F(StaleTaskTest, WhoIsAskedAboutTheKeptOneSeesItPendingAndNowhere) {
  {
    const AsKept as_kept(task_);
    EXPECT_EQ(task_.status, TaskStatus::kPending);
    EXPECT_TRUE(task_.node_name.empty());
  }
  EXPECT_EQ(task_.status, TaskStatus::kPipelined);
  EXPECT_EQ(task_.node_name, "first");
}

TEST_F(StaleTaskTest, UndoneItIsTheOnlyOneAgain) {
  job_.SetStatus(task_, TaskStatus::kPending);
  EXPECT_EQ(InSubJob(TaskStatus::kPending), 1);
  EXPECT_EQ(InSubJob(TaskStatus::kPipelined), 0);
  EXPECT_EQ(KeptPending(task_), nullptr);
}

TEST_F(StaleTaskTest, TheKeptOneMayGoElsewhereButNotWhereTheOtherIs) {
  job_.Adopt(task_);
  EXPECT_EQ(task_.status, TaskStatus::kPending);
  EXPECT_EQ(InSubJob(TaskStatus::kPipelined), 1);
  EXPECT_EQ(job_.counts.of(TaskStatus::kPipelined), 0);
  EXPECT_FALSE(first_.Add(task_).ok());
  EXPECT_EQ(first_.pipelined.cpu, 1000);
  EXPECT_TRUE(second_.Add(task_).ok());
  first_.Remove(task_);  // what was left behind
  EXPECT_EQ(first_.pipelined.cpu, 0);
  EXPECT_EQ(task_.node, &second_);
}

}  // namespace
}  // namespace coppice::batch
