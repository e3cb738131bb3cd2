#include "batch/binder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/fake_clock.h"
#include "batch/scripted_writer.h"
#include "test/support/must.h"

namespace coppice::batch {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class BinderTest : public testing::Test {
 protected:
  BinderTest() {
    own_.Follow(shared_);
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "n";
    node->metadata.uid = "uid-of-n";
    shared_.UpsertNode(node);
    shared_.UpsertPod(PodOn(""));
  }
  ~BinderTest() override {
    std::destroy_at(&executor_);  // its tasks work on what goes now
    std::construct_at(&executor_, clock_);
  }

  static cluster::PodPtr PodOn(const std::string& node) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = "p";
    pod->metadata.uid = "uid";
    pod->spec.node_name = node;
    return pod;
  }
  static Outcome::Bind Binding(const std::string& node = "n") {
    Outcome::Bind bind;
    bind.pod = {"default", "p", "uid"};
    bind.node = node;
    return bind;
  }
  Status Begin(const std::string& node = "n") { return binder_.Begin(Binding(node)); }
  void Run(Duration time) {
    executor_.RunFor(time);
    binder_.Settle(clock_.Now());
  }
  std::string Where() const { return shared_.FindPod("default", "p")->spec.node_name; }
  bool HeldBack() const { return binder_.HeldBack(*shared_.FindPod("default", "p"), clock_.Now()); }

  FakeClock clock_;
  cluster::World shared_;
  cluster::World own_;
  ScriptedWriter writer_;
  SeededRng rng_{1};
  const Log log_ = Log::Null();
  std::vector<Status> ended_;
  Executor executor_{clock_};
  Volumes volumes_{{shared_, writer_, executor_}};
  Binder binder_{{shared_, own_, writer_, executor_, rng_, log_, volumes_, nullptr, nullptr,
                  [this](const cluster::PodPtr&, const Status& status, Duration) {
                    ended_.push_back(status);
                  }}};
};

TEST_F(BinderTest, APodThatIsBeingBoundStandsOnItsNodeAtOnceForEverybody) {
  ASSERT_OK(Begin());
  EXPECT_EQ(Where(), "n");
  EXPECT_EQ(own_.FindPod("default", "p")->spec.node_name, "n");
  Run(seconds(1));
  EXPECT_THAT(writer_.asked, ElementsAre("bind p to n"));
  EXPECT_EQ(binder_.assumed(), 1U) << "until the watch shows it";
  shared_.UpsertPod(PodOn("n"));
  Run(seconds(1));
  EXPECT_EQ(binder_.assumed(), 0U);
  EXPECT_THAT(ended_, ElementsAre(Status::Ok()));
}

TEST_F(BinderTest, ARefusalMakesItAsBeforeAndItIsLeftAloneForAWhileEachTimeLonger) {
  writer_.answers = {FailedPrecondition("no"), FailedPrecondition("no")};
  ASSERT_OK(Begin());
  Run(milliseconds(10));
  EXPECT_EQ(Where(), "");
  EXPECT_TRUE(HeldBack());
  Run(milliseconds(989));
  EXPECT_TRUE(HeldBack()) << "for a second";
  Run(milliseconds(1));
  EXPECT_FALSE(HeldBack());
  ASSERT_OK(Begin());
  Run(seconds(1));
  EXPECT_TRUE(HeldBack()) << "two seconds now";
  Run(seconds(1));
  EXPECT_FALSE(HeldBack());
}

TEST_F(BinderTest, AsLongAsNobodyKnowsTheSameIsTriedAgain) {
  writer_.answers = {Unavailable("away"), DeadlineExceeded("no answer"), ResourceExhausted("busy")};
  ASSERT_OK(Begin());
  Run(seconds(30));
  EXPECT_THAT(writer_.asked, SizeIs(4));
  EXPECT_THAT(writer_.asked, Each("bind p to n"));
  EXPECT_EQ(Where(), "n");
  EXPECT_THAT(ended_, ElementsAre(Status::Ok()));
}

TEST_F(BinderTest, APodThatIsGoneMeanwhileIsNotAskedForAgain) {
  writer_.answers.assign(100, Unavailable("away"));
  ASSERT_OK(Begin());
  Run(milliseconds(1));
  shared_.DeletePod("default", "p");
  Run(minutes(1));
  EXPECT_EQ(binder_.under_way(), 0U);
  EXPECT_EQ(ended_.at(0).code(), Code::kNotFound);
  EXPECT_LT(writer_.asked.size(), 5U);
}

TEST_F(BinderTest, AnOlderVersionOfThePodDoesNotGiveTheRoomAway) {
  ASSERT_OK(Begin());
  shared_.UpsertPod(PodOn(""));  // it was on its way when we decided
  Run(seconds(1));
  EXPECT_EQ(Where(), "n");
}

TEST_F(BinderTest, WhatSpeaksAgainstABindingIsSaidBeforeAnythingIsAsked) {
  EXPECT_EQ(Begin("gone").code(), Code::kNotFound);
  ASSERT_OK(shared_.held_nodes().Hold("n", "uid-of-n", "autoscale"));
  EXPECT_THAT(Begin().message(), HasSubstr("is being taken down"));
  shared_.held_nodes().Release("n", "autoscale");
  ASSERT_OK(Begin());
  EXPECT_EQ(Begin().code(), Code::kAlreadyExists);
  Outcome::Bind other = Binding();
  other.pod.uid = "another";
  EXPECT_EQ(binder_.Check(other).code(), Code::kNotFound);
  EXPECT_THAT(writer_.asked, SizeIs(0));
}

}  // namespace
}  // namespace coppice::batch
