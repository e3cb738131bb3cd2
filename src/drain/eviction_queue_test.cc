#include "drain/eviction_queue.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "cluster/fake_writer.h"

namespace coppice::drain {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// An API server that answers as it is told.
class ToldWriter final : public cluster::PodWriter {
 public:
  Task<Status> Evict(cluster::PodName, int64_t) override {
    ++evictions;
    co_return answer;
  }
  Task<Status> DeletePod(cluster::PodName, int64_t grace) override {
    graces.push_back(grace);
    co_return answer;
  }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    co_return std::optional<std::string>();
  }
  Status answer;
  int evictions = 0;
  std::vector<int64_t> graces;
};

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

TEST_F(EvictionQueueTest, WhatJustFitsIsNotForced) {
  const TimePoint now = clock_.Now();
  EXPECT_FALSE(EvictionQueue::IsForced(*APod("a", 10), now + seconds(10), now));
  EXPECT_TRUE(EvictionQueue::IsForced(*APod("a", 10), now + seconds(10) - Duration(1), now));
  model::Pod ending = *APod("b");
  ending.metadata.deletion_timestamp = model::Time{now + seconds(60)};
  EXPECT_FALSE(EvictionQueue::IsForced(ending, now + seconds(60), now));
}

// What Want answers, and when it asks: the queue's own clockwork.
class EvictionTimesTest : public testing::Test {
 protected:
  TimePoint Want(std::optional<TimePoint> deadline = std::nullopt) {
    const TimePoint again = queue_.Want({pod_, deadline, true});
    if (!hangs_) Answer();
    return again;
  }
  void Answer() {
    for (Task<void>& task : std::exchange(under_way_, {})) executor_.Spawn(std::move(task));
    executor_.RunUntilIdle();
  }

  FakeClock clock_;
  Executor executor_{clock_};
  ToldWriter writer_;
  bool hangs_ = false;
  std::vector<Task<void>> under_way_;
  cluster::PodPtr pod_ = [] {
    model::Pod pod;
    pod.metadata.name = pod.metadata.uid = "a";
    pod.spec.termination_grace_period_seconds = 10;
    return std::make_shared<const model::Pod>(std::move(pod));
  }();
  EvictionQueue queue_{writer_,
                       clock_,
                       {.spawn = [this](Task<void> task) { under_way_.push_back(std::move(task)); },
                        .answered = nullptr,
                        .forced = nullptr}};
};

TEST_F(EvictionTimesTest, WhoHasBeenAskedForIsLookedAtAgainAfterTenSecondsOrBeforeItsDeadline) {
  EXPECT_EQ(Want(), clock_.Now() + seconds(10));
  const TimePoint deadline = clock_.Now() + seconds(15);
  EXPECT_EQ(Want(deadline), clock_.Now() + seconds(5) + Duration(1)) << "its grace is ten seconds";
  EXPECT_EQ(writer_.evictions, 1);
}

TEST_F(EvictionTimesTest, ARefusedOneIsAskedForAgainJustWhenItWasSaid) {
  writer_.answer = ResourceExhausted("a budget");
  Want();
  EXPECT_EQ(Want(), clock_.Now() + milliseconds(100));
  clock_.Advance(milliseconds(100) - Duration(1));
  Want();
  EXPECT_EQ(writer_.evictions, 1);
  clock_.Advance(Duration(1));
  Want();
  EXPECT_EQ(writer_.evictions, 2);
  EXPECT_EQ(Want(clock_.Now() + seconds(10) + milliseconds(50)),
            clock_.Now() + milliseconds(50) + Duration(1))
      << "it is forced before it would be asked for again";
}

TEST_F(EvictionTimesTest, WhereSomebodyElseIsAtItTheWaitDoesNotGrow) {
  writer_.answer = Status(Code::kAborted, "somebody else");
  for (int i = 1; i < 4; ++i) {
    Want();
    EXPECT_EQ(writer_.evictions, i);
    EXPECT_EQ(Want(), clock_.Now() + milliseconds(100));
    EXPECT_EQ(writer_.evictions, i);
    clock_.Advance(milliseconds(100));
  }
}

TEST_F(EvictionTimesTest, NobodyIsAskedTwiceForOnePodAtTheSameTime) {
  hangs_ = true;
  Want();
  EXPECT_EQ(Want(), clock_.Now() + seconds(10));
  EXPECT_EQ(under_way_.size(), 1u);
  Answer();
  Want(clock_.Now() + seconds(5));
  Want(clock_.Now() + seconds(5));
  EXPECT_EQ(under_way_.size(), 1u);
  EXPECT_EQ(writer_.evictions, 1);
}

TEST_F(EvictionTimesTest, ADeletedPodHasTheTimeThatIsLeftAndIsNotDeletedAgainAtOnce) {
  const TimePoint deadline = clock_.Now() + seconds(5);
  Want(deadline);
  EXPECT_EQ(Want(deadline), clock_.Now() + milliseconds(100));
  EXPECT_EQ(writer_.graces, std::vector<int64_t>{5});
  clock_.Advance(milliseconds(100));
  Want(deadline);
  EXPECT_EQ(writer_.graces, (std::vector<int64_t>{5, 4}));
  clock_.Advance(minutes(1));
  Want(deadline);
  EXPECT_EQ(writer_.graces.back(), 1) << "zero would leave its kubelet no time at all";
}

TEST_F(EvictionTimesTest, ADeletionThatFailedIsRepeatedAtOnceAndOneOfNobodyIsNot) {
  const TimePoint deadline = clock_.Now() + seconds(5);
  writer_.answer = Unavailable("no");
  Want(deadline);
  Want(deadline);
  EXPECT_EQ(writer_.graces.size(), 2u);
  writer_.answer = NotFound("it is gone");
  Want(deadline);
  Want(deadline);
  EXPECT_EQ(writer_.graces.size(), 3u);
}

TEST_F(EvictionTimesTest, WhoNobodyWantsForFiveMinutesIsForgottenUnlessAnAnswerIsDue) {
  Want();
  clock_.Advance(minutes(5));
  queue_.ForgetOld();
  EXPECT_EQ(queue_.size(), 1u);
  clock_.Advance(Duration(1));
  queue_.ForgetOld();
  EXPECT_EQ(queue_.size(), 0u);
  hangs_ = true;
  Want();
  clock_.Advance(minutes(6));
  queue_.ForgetOld();
  EXPECT_EQ(queue_.size(), 1u);
  Answer();
}

}  // namespace
}  // namespace coppice::drain
