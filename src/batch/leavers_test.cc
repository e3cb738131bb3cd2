#include "batch/leavers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/fake_clock.h"
#include "batch/scripted_writer.h"
#include "test/support/must.h"

namespace coppice::batch {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LeaversTest : public testing::Test {
 protected:
  LeaversTest() { own_.UpsertPod(PodOf("p")); }
  ~LeaversTest() override {
    std::destroy_at(&executor_);  // its tasks work on what goes now
    std::construct_at(&executor_, clock_);
  }

  static cluster::PodPtr PodOf(const std::string& name, const std::string& uid = "uid") {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = name;
    pod->metadata.uid = uid;
    pod->spec.node_name = "n";
    pod->spec.termination_grace_period_seconds = 7;
    pod->status.phase = "Running";
    return pod;
  }
  Status Begin(bool by_budget = false) {
    Outcome::Eviction eviction;
    eviction.pod = {"default", "p", "uid"};
    eviction.reason = "somebody more important";
    return leavers_.Begin(eviction, by_budget, clock_.Now());
  }
  void Run(Duration time) {
    executor_.RunFor(time);
    leavers_.Settle(clock_.Now());
  }
  bool ShownAsGoing() const {
    const auto pod = own_.FindPod("default", "p");
    return pod != nullptr && pod->metadata.deletion_timestamp.has_value();
  }

  FakeClock clock_;
  cluster::World own_;
  ScriptedWriter writer_;
  SeededRng rng_{1};
  const Log log_ = Log::Null();
  std::vector<Status> ended_;
  Executor executor_{clock_};
  Leavers leavers_{{own_, writer_, executor_, rng_, log_,
                    [this](const Status& status) { ended_.push_back(status); }}};
};

TEST_F(LeaversTest, APodIsToldWhyAndThenDeletedWithItsOwnGrace) {
  ASSERT_OK(Begin());
  EXPECT_TRUE(ShownAsGoing()) << "from the decision on";
  Run(seconds(1));
  EXPECT_THAT(writer_.asked, ElementsAre("tell p Ready DisruptionTarget", "delete p 7"));
  ASSERT_THAT(writer_.events, SizeIs(1));
  EXPECT_EQ(writer_.events[0].reason, "Evict");
  EXPECT_EQ(writer_.events[0].text, "somebody more important");
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_OK(ended_[0]);
  EXPECT_EQ(leavers_.under_way(), 0U);
}

TEST_F(LeaversTest, WhereBudgetsCountItIsEvictedAndARefusalIsFinal) {
  writer_.answers = {ResourceExhausted("a budget")};
  ASSERT_OK(Begin(true));
  Run(seconds(30));
  EXPECT_THAT(writer_.asked, ElementsAre("evict p 7"));
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].code(), Code::kResourceExhausted);
  EXPECT_FALSE(ShownAsGoing()) << "it is as before";
}

TEST_F(LeaversTest, AnApiServerThatIsAwayIsAskedAgainAFewTimes) {
  writer_.answers = {Status::Ok(), Unavailable("away"), Unavailable("away")};
  ASSERT_OK(Begin());
  Run(seconds(30));
  EXPECT_THAT(writer_.asked, ElementsAre("tell p Ready DisruptionTarget", "delete p 7",
                                         "delete p 7", "delete p 7"));
  EXPECT_OK(ended_.at(0));
}

TEST_F(LeaversTest, AfterFiveFailuresItStaysAsItWas) {
  writer_.answers.assign(10, Unavailable("away"));
  ASSERT_OK(Begin(true));
  Run(std::chrono::minutes(5));
  EXPECT_THAT(writer_.asked, SizeIs(5));
  EXPECT_FALSE(ended_.at(0).ok());
  EXPECT_FALSE(ShownAsGoing());
  EXPECT_OK(Begin(true)) << "the next session may choose it again";
}

TEST_F(LeaversTest, OneThatIsGoneIsAsGoodAsGone) {
  writer_.answers = {NotFound("gone")};
  ASSERT_OK(Begin());
  Run(seconds(1));
  EXPECT_THAT(writer_.asked, SizeIs(1)) << "nobody is deleted under its name";
}

TEST_F(LeaversTest, UntilTheWatchShowsItAnOlderVersionDoesNotBringItBack) {
  ASSERT_OK(Begin());
  own_.UpsertPod(PodOf("p"));  // it was on its way when we decided
  Run(seconds(1));
  EXPECT_TRUE(ShownAsGoing());
  own_.DeletePod("default", "p");
  Run(seconds(1));
  own_.UpsertPod(PodOf("p", "another"));
  Run(seconds(1));
  EXPECT_FALSE(ShownAsGoing()) << "its successor is another pod";
}

TEST_F(LeaversTest, NobodyIsAskedToLeaveTwiceNorForAnother) {
  ASSERT_OK(Begin());
  EXPECT_EQ(Begin().code(), Code::kAlreadyExists);
  own_.UpsertPod(PodOf("p", "another"));
  EXPECT_EQ(Begin().code(), Code::kNotFound);
}

}  // namespace
}  // namespace coppice::batch
