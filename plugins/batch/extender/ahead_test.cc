#include "plugins/batch/extender/ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "test/conformance/batch_suite.h"

namespace coppice::batch::extender {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Ten tasks of one job, three nodes, and a server that answers with the task's name.
class AheadTest : public testing::Test {
 protected:
  AheadTest() {
    for (const char* node : {"a", "b", "c"}) world_.Node(node);
    world_.Group("job", 1, "left", 0);
    for (int i = 0; i < 10; ++i) world_.Pod("job", i, "1", "");
    const auto conf = ParseConf("actions: \"allocate\"\ntiers: []\n");
    session_ =
        std::move(Session::Open(*conf, {}, plugins_, filters_, world_.snapshot, world_.input))
            .value();
    tasks_ = session_->FindJob("ns/job")->tasks;
    std::ranges::sort(tasks_, [this](const Task* l, const Task* r) {
      return session_->ask().TaskBefore(*l, *r);
    });
    ahead_.emplace(*session_, [this](const Task& task) { return &task != uninteresting_; });
  }

  // What goes out for this task; its answer is its own whatever goes out.
  std::vector<std::string> Ask(size_t number, size_t nodes = 3) {
    std::vector<std::string> asked;
    const auto& all = session_->nodes();
    const auto reply = ahead_->Ask(
        *tasks_[number], {all.data(), nodes}, [&](const std::vector<const Task*>& tasks) {
          std::vector<Result<Reply>> replies;
          for (const Task* task : tasks) {
            asked.emplace_back(task->name);
            if (task == failing_) {
              replies.emplace_back(Unavailable("no answer"));
            } else {
              replies.emplace_back(Reply{std::string(task->name), false});
            }
          }
          return replies;
        });
    EXPECT_TRUE(reply.ok() || tasks_[number] == failing_);
    if (reply.ok()) {
      EXPECT_EQ(reply->body, tasks_[number]->name);
    }
    return asked;
  }
  std::vector<std::string> Names(size_t from, size_t to) const {
    std::vector<std::string> names;
    for (size_t i = from; i < to; ++i) names.emplace_back(tasks_[i]->name);
    return names;
  }

  conformance::BatchWorld world_{true};
  PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  std::unique_ptr<Session> session_;
  std::vector<Task*> tasks_;
  const Task* failing_ = nullptr;
  const Task* uninteresting_ = nullptr;
  std::optional<Ahead> ahead_;
};

TEST_F(AheadTest, TwiceAsManyGoOutEachTimeAndEachIsAskedAboutOnce) {
  EXPECT_EQ(Ask(0), Names(0, 1));
  EXPECT_EQ(Ask(1), Names(1, 3));
  EXPECT_THAT(Ask(2), IsEmpty());
  EXPECT_EQ(Ask(3), Names(3, 7));
  for (size_t i = 4; i < 7; ++i) EXPECT_THAT(Ask(i), IsEmpty());
  EXPECT_EQ(Ask(7), Names(7, 10)) << "there are no more";
  for (size_t i = 8; i < 10; ++i) EXPECT_THAT(Ask(i), IsEmpty());
}

TEST_F(AheadTest, AnswersThatWereOfNoUseEndTheHaste) {
  Ask(0);
  Ask(1);
  Ask(2);
  Ask(3);
  EXPECT_EQ(Ask(8), Names(8, 9)) << "three answers lie about";
  EXPECT_EQ(Ask(4),
            (std::vector<std::string>{std::string(tasks_[4]->name), std::string(tasks_[7]->name)}));
}

TEST_F(AheadTest, AnAnswerCountsForTheNodesThatItIsAbout) {
  Ask(0, 2);
  EXPECT_EQ(Ask(1, 2), Names(1, 3));
  EXPECT_EQ(Ask(2, 3), Names(2, 4)) << "of the third node nobody has said anything";
  EXPECT_THAT(Ask(3, 1), IsEmpty()) << "of fewer it has";
}

TEST_F(AheadTest, AnAnswerCountsForTheTaskAsItWas) {
  Ask(0);
  Ask(1);
  tasks_[2]->job_allocated_hyper_node = "rack";
  EXPECT_EQ(Ask(2), Names(2, 4));
}

TEST_F(AheadTest, AfterAFailureATaskIsAskedAboutInItsTurn) {
  failing_ = tasks_[2];
  Ask(0);
  EXPECT_EQ(Ask(1), Names(1, 3));
  failing_ = nullptr;
  EXPECT_THAT(Ask(2),
              ElementsAre(tasks_[2]->name, tasks_[3]->name, tasks_[4]->name, tasks_[5]->name));
}

TEST_F(AheadTest, WhoIsOfNoInterestIsNotAskedAbout) {
  uninteresting_ = tasks_[2];
  Ask(0);
  EXPECT_THAT(Ask(1), ElementsAre(tasks_[1]->name, tasks_[3]->name));
}

}  // namespace
}  // namespace coppice::batch::extender
