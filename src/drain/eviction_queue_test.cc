#include "drain/eviction_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/fake_clock.h"
#include "cluster/fake_writer.h"

namespace coppice::drain {
namespace {

using std::chrono::seconds;

class EvictionQueueTest : public testing::Test {
 protected:
  static cluster::PodPtr APod(const std::string& name, int64_t grace = 30) {
    model::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = name;
    pod.metadata.uid = name + "-uid";
    pod.spec.termination_grace_period_seconds = grace;
    return std::make_shared<const model::Pod>(std::move(pod));
  }
  void Want(const cluster::PodPtr& pod, std::optional<TimePoint> deadline = std::nullopt,
            bool may_evict = true) {
    const EvictionQueue::Wanted wanted{pod, deadline, may_evict};
    queue_.Want(wanted);
    executor_.RunUntilIdle();
  }

  FakeClock clock_;
  Executor executor_{clock_};
  cluster::FakeWriter writer_{clock_};
  std::vector<std::string> forced_;
  EvictionQueue queue_{writer_,
                       clock_,
                       {.spawn = [this](Task<void> task) { executor_.Spawn(std::move(task)); },
                        .answered = nullptr,
                        .forced = [this](const model::Pod& pod,
                                         TimePoint) { forced_.push_back(pod.metadata.name); }}};
};

TEST_F(EvictionQueueTest, AcceptedEvictionIsNotAskedForAgain) {
  const auto pod = APod("a");
  Want(pod);
  clock_.Advance(seconds(20));
  Want(pod);
  EXPECT_EQ(writer_.evictions.size(), 1);
}

TEST_F(EvictionQueueTest, RefusedEvictionIsAskedForAgainWithGrowingPauses) {
  writer_.on_evict = [](const std::string&) { return ResourceExhausted("a budget"); };
  const auto pod = APod("a");
  for (int i = 0; i < 100; ++i) {
    Want(pod);
    clock_.Advance(std::chrono::milliseconds(100));
  }
  // 100 ms, then 200, 400, ... : 7 attempts fit into ten seconds.
  EXPECT_EQ(writer_.evictions.size(), 7);
}

TEST_F(EvictionQueueTest, ProtectedPodStaysUntilItsDeadline) {
  const auto pod = APod("a", 10);
  const TimePoint deadline = clock_.Now() + seconds(60);
  Want(pod, deadline, false);
  EXPECT_TRUE(writer_.evictions.empty());
  EXPECT_TRUE(forced_.empty());
  clock_.Advance(seconds(51));
  Want(pod, deadline, false);
  EXPECT_EQ(forced_, std::vector<std::string>{"a"});
  EXPECT_TRUE(writer_.evictions.empty());
}

TEST_F(EvictionQueueTest, DeadlineOnlyComesNearer) {
  const auto pod = APod("a", 10);
  Want(pod, clock_.Now() + seconds(5), false);
  EXPECT_EQ(forced_.size(), 1);
  const auto other = APod("b", 10);
  Want(other, clock_.Now() + seconds(20), false);
  Want(other, clock_.Now() + seconds(600), false);
  clock_.Advance(seconds(11));
  Want(other, std::nullopt, false);
  EXPECT_EQ(forced_.size(), 2);
}

TEST_F(EvictionQueueTest, EndingPodIsForcedOnlyIfItWouldTakeTooLong) {
  model::Pod pod = *APod("a");
  const TimePoint deadline = clock_.Now() + seconds(60);
  pod.metadata.deletion_timestamp = model::Time{clock_.Now() + seconds(30)};
  EXPECT_FALSE(EvictionQueue::IsForced(pod, deadline, clock_.Now()));
  pod.metadata.deletion_timestamp = model::Time{clock_.Now() + seconds(90)};
  EXPECT_TRUE(EvictionQueue::IsForced(pod, deadline, clock_.Now()));
}

}  // namespace
}  // namespace coppice::drain
