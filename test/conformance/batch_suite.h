// What any batch plug-in must do. A plug-in's test says how to make one, and gets these tests:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, BatchPluginSuite, testing::Values(BatchPluginUnderTest{
//       .name = "my-plugin", .add = [](auto& plugins, auto&) { batch::my_plugin::Register(plugins);
//   }}));
//
// (within namespace coppice::conformance). What the plug-in prefers is its own business and in its
// own tests; here is what sessions rely on: orders are orders, votes are votes, the same question
// has the same answer, a statement that is discarded leaves no trace, victims are among those who were offered,
// and a scope that is promised is kept.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "batch/session.h"
#include "batch/statement.h"
#include "fit/filter.h"

namespace coppice::conformance {

class BatchWorld;

struct BatchPluginUnderTest {
  std::string name;
  std::function<void(batch::PluginRegistry&, fit::FilterRegistry&)> add;
  batch::ArgumentValue::Map arguments = {};
  std::function<void(BatchWorld&)> prepare = nullptr;  // what it looks at besides
  friend void PrintTo(const BatchPluginUnderTest& of, std::ostream* out) { *out << of.name; }
};

// A small cluster: three nodes, two queues, jobs of several sizes and ages, some of it running.
class BatchWorld {
 public:
  explicit BatchWorld(bool empty = false) {
    input.uid = "session";
    input.now = TimePoint(std::chrono::hours(24 * 365));
    for (const char* name : {"left", "right"}) {
      model::Queue& queue = input.queues.emplace_back();
      queue.metadata.name = name;
      queue.metadata.creation_timestamp = model::Time{input.now};
      queue.spec.weight = 1 + static_cast<int32_t>(input.queues.size());
      queue.status.state = "Open";
    }
    Group("nobody", 1, "left", 0);
    if (empty) return;
    for (const char* name : {"a", "b", "c"}) Node(name);
    Group("big", 3, "left", 10);
    Group("small", 1, "right", 100);
    Group("old", 2, "left", 5);
    for (int i = 0; i < 4; ++i) Pod("big", i, "2", "");
    for (int i = 0; i < 3; ++i) Pod("small", i, "1", i == 0 ? "a" : "");
    for (int i = 0; i < 3; ++i) Pod("old", i, "500m", i < 2 ? "b" : "");
    Pod("big", 9, "", "");  // asks for nothing
  }

  void Node(const std::string& name, const model::Labels& labels = {}) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.labels = labels;
    node->metadata.labels["kubernetes.io/hostname"] = name;
    node->status.allocatable["cpu"] = model::Quantity::FromUnits(4);
    node->status.allocatable["memory"] = model::Quantity::FromUnits(int64_t{16} << 30);
    node->status.allocatable["pods"] = model::Quantity::FromUnits(20);
    node->status.capacity = node->status.allocatable;
    const auto index = snapshot.AddNode(*node).value();
    input.nodes.push_back({.object = std::move(node), .index = index});
  }
  void Group(const std::string& name, int32_t least, const std::string& queue, int minutes) {
    model::PodGroup& group = input.groups.emplace_back();
    group.metadata.name = name;
    group.metadata.namespace_ = "ns";
    group.metadata.creation_timestamp = model::Time{input.now - std::chrono::minutes(minutes)};
    group.spec.min_member = least;
    group.spec.queue = queue;
    group.spec.min_resources.emplace()["cpu"] = model::Quantity::FromUnits(least);
    group.status.phase = "Inqueue";
  }
  void Pod(const std::string& group, int number, const std::string& cpu, const std::string& node) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = group + "-" + std::to_string(number);
    pod->metadata.namespace_ = "ns";
    pod->metadata.uid = "uid-" + pod->metadata.name;
    pod->metadata.annotations["scheduling.k8s.io/group-name"] = group;
    pod->metadata.annotations["volcano.sh/task-spec"] = number % 2 == 0 ? "even" : "odd";
    pod->spec.scheduler_name = "volcano";
    pod->spec.priority = number;
    pod->spec.node_name = node;
    model::Container container{.name = "c", .image = "img"};
    if (!cpu.empty()) container.resources.requests["cpu"] = model::Quantity::Parse(cpu).value();
    pod->spec.containers.push_back(std::move(container));
    pod->status.phase = node.empty() ? "Pending" : "Running";
    const auto index = snapshot.AddPod(pod, snapshot.FindNode(node));
    input.pods.push_back({.object = std::move(pod), .index = index});
  }

  batch::SessionInput input;
  cluster::Facts facts;
  cluster::Snapshot snapshot{facts};
};

class BatchPluginSuite : public testing::TestWithParam<BatchPluginUnderTest> {
 protected:
  void Open(bool empty = false) {
    GetParam().add(plugins_, filters_);
    world_ = std::make_unique<BatchWorld>(empty);
    if (GetParam().prepare) GetParam().prepare(*world_);
    auto conf = batch::ParseConf("actions: \"allocate\"\ntiers: []\n");
    ASSERT_TRUE(conf.ok()) << conf.status();
    auto opened =
        batch::Session::Open(*conf, options_, plugins_, filters_, world_->snapshot, world_->input);
    ASSERT_TRUE(opened.ok()) << opened.status();
    session_ = std::move(*opened);
    arguments_ = batch::Arguments(GetParam().arguments);
    auto made = plugins_.Make(GetParam().name, batch::PluginContext{.name = GetParam().name,
                                                                    .arguments = arguments_,
                                                                    .options = options_,
                                                                    .filters = filters_});
    ASSERT_TRUE(made.ok()) << made.status();
    plugin_ = std::move(*made);
    const Status status = plugin_->Open(*session_, slots_);
    ASSERT_TRUE(status.ok()) << status;
  }
  void TearDown() override {
    if (plugin_ != nullptr) plugin_->Close(*session_);
  }

  std::vector<batch::Task*> Tasks(bool running) const {
    std::vector<batch::Task*> tasks;
    for (batch::Job* job : session_->jobs()) {
      for (batch::Task* task : job->tasks) {
        if (batch::IsAllocated(task->status) == running) tasks.push_back(task);
      }
    }
    return tasks;
  }
  std::vector<batch::Task*> AllTasks() const {
    std::vector<batch::Task*> tasks = Tasks(false);
    for (batch::Task* task : Tasks(true)) tasks.push_back(task);
    return tasks;
  }

  static std::string Number(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", value);
    return text;
  }
  static std::string Names(const std::vector<batch::Task*>& tasks) {
    std::string text;
    for (const batch::Task* task : tasks) text += std::string(task->name) + " ";
    return text;
  }
  void PredicatesOn(const batch::NodeInfo& node, std::string& text) const {
    if (slots_.predicate == nullptr) return;
    for (batch::Task* task : Tasks(false)) {
      if (slots_.pre_predicate != nullptr && !slots_.pre_predicate->PrepareTask(*task).ok())
        continue;
      text += slots_.predicate->CheckNode(*task, node) ? "n" : "y";
    }
  }
  void NetworkOf(std::string& text) const {
    if (!slots_.hyper_node_gradient) return;
    for (const batch::Task* task : Tasks(false)) {
      std::vector<double> scores(session_->nodes().size());
      if (slots_.batch_node_order)
        (void)slots_.batch_node_order->ScoreNodes(*task, session_->nodes(), scores);
      for (const double score : scores) text += Number(score) + " ";
    }
    const batch::HyperNode& top = session_->hyper_nodes().top();
    for (const batch::Job* job : session_->jobs()) {
      for (const auto purpose : {batch::SearchPurpose::kAllocate, batch::SearchPurpose::kEvict}) {
        for (const auto& row : slots_.hyper_node_gradient->GradientsOf(*job, top, purpose)) {
          std::vector<double> scores(row.size());
          if (slots_.hyper_node_order && !job->sub_jobs.empty())
            (void)slots_.hyper_node_order->ScoreHyperNodes(*job->sub_jobs.front(), row, scores);
          for (size_t i = 0; i < row.size(); ++i)
            text += row[i]->name + "=" + Number(scores[i]) + " ";
        }
      }
      text += ";";
    }
  }
  // Everything that the plug-in answers, as one text.
  std::string Answers() const {
    std::string text;
    for (const batch::Job* l : session_->jobs()) {
      if (slots_.job_valid) text += slots_.job_valid->ValidateJob(*l) ? "i" : "v";
      if (slots_.job_ready) text += slots_.job_ready->IsJobReady(*l) ? "r" : "-";
      if (slots_.job_pipelined) text += std::to_string(slots_.job_pipelined->JobPipelinedVote(*l));
      if (slots_.job_starving) text += slots_.job_starving->IsJobStarving(*l) ? "s" : "-";
      if (slots_.job_enqueueable)
        text += std::to_string(slots_.job_enqueueable->JobEnqueueableVote(*l));
      for (const batch::Job* r : session_->jobs())
        if (slots_.job_order) text += std::to_string(slots_.job_order->CompareJobs(*l, *r));
    }
    text += "|queues ";
    for (const batch::QueueInfo* l : session_->queues()) {
      if (slots_.overused) text += slots_.overused->IsOverused(*l) ? "o" : "-";
      for (const batch::Task* task : Tasks(false))
        if (slots_.allocatable) text += slots_.allocatable->MayAllocate(*l, *task) ? "y" : "n";
      for (const batch::QueueInfo* r : session_->queues())
        if (slots_.queue_order) text += std::to_string(slots_.queue_order->CompareQueues(*l, *r));
    }
    text += "|nodes ";
    for (batch::NodeInfo* node : session_->nodes()) {
      PredicatesOn(*node, text);
      for (const batch::Task* task : Tasks(false)) {
        if (!slots_.node_order) continue;
        const auto score = slots_.node_order->ScoreNode(*task, *node);
        text += score.ok() ? Number(*score) + " " : "error ";
      }
    }
    text += "|network ";
    NetworkOf(text);
    text += "|victims ";
    const std::vector<batch::Task*> running = Tasks(true);
    for (const batch::Task* task : Tasks(false)) {
      if (slots_.preemptable)
        text += Names(slots_.preemptable->PreemptVictims(*task, running).tasks) + ";";
      if (slots_.reclaimable)
        text += Names(slots_.reclaimable->ReclaimVictims(*task, running).tasks) + ";";
    }
    return text;
  }

  // What it says of every job, for and against.
  std::string Votes() const {
    std::string text;
    const auto add = [&](int vote) {
      EXPECT_GE(vote, -1);
      EXPECT_LE(vote, 1);
      text += std::to_string(vote) + " ";
    };
    for (const batch::Job* job : session_->jobs()) {
      text += job->id + ": ";
      if (slots_.job_enqueueable) add(slots_.job_enqueueable->JobEnqueueableVote(*job));
      if (slots_.job_pipelined) add(slots_.job_pipelined->JobPipelinedVote(*job));
      for (const auto& sub_job : job->sub_jobs)
        if (slots_.sub_job_pipelined) add(slots_.sub_job_pipelined->SubJobPipelinedVote(*sub_job));
    }
    return text;
  }

  // Everybody is placed who fits somewhere, and everybody evicted who runs; then nothing has been.
  void TryAndDiscard() {
    batch::Statement statement(*session_);
    bool placed = false;
    for (batch::Task* task : Tasks(false)) {
      for (batch::NodeInfo* node : session_->nodes()) {
        if (!node->FitsIdle(task->req())) continue;
        placed = statement.Allocate(*task, *node).ok() || placed;
        break;
      }
    }
    for (batch::Task* task : Tasks(true)) {
      if (task->status == batch::TaskStatus::kRunning) statement.Evict(*task, "tried");
    }
    EXPECT_TRUE(placed) << "it objects to every placement";
    (void)Answers();
    (void)Votes();
    statement.Discard();
  }

  template <class T, class Compare>
  static void ExpectOrder(const std::vector<T*>& of, Compare compare) {
    const auto sign = [](int value) { return value < 0 ? -1 : (value > 0 ? 1 : 0); };
    for (T* a : of) {
      EXPECT_EQ(compare(*a, *a), 0) << "one is before itself";
      for (T* b : of) {
        EXPECT_EQ(sign(compare(*a, *b)), -sign(compare(*b, *a))) << "each is before the other";
        for (T* c : of) {
          if (compare(*a, *b) <= 0 && compare(*b, *c) <= 0) {
            EXPECT_LE(compare(*a, *c), 0) << "goes in circles";
          }
        }
      }
    }
  }

  batch::Options options_;
  batch::PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  std::unique_ptr<BatchWorld> world_;
  batch::Arguments arguments_;
  std::unique_ptr<batch::Session> session_;
  std::unique_ptr<batch::Plugin> plugin_;  // goes before the session
  batch::Slots slots_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BatchPluginSuite);

TEST_P(BatchPluginSuite, OrdersAreOrders) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (slots_.job_order)
    ExpectOrder(session_->jobs(), [&](const batch::Job& l, const batch::Job& r) {
      return slots_.job_order->CompareJobs(l, r);
    });
  if (slots_.queue_order)
    ExpectOrder(session_->queues(), [&](const batch::QueueInfo& l, const batch::QueueInfo& r) {
      return slots_.queue_order->CompareQueues(l, r);
    });
  if (slots_.task_order)
    ExpectOrder(AllTasks(), [&](const batch::Task& l, const batch::Task& r) {
      return slots_.task_order->CompareTasks(l, r);
    });
  std::vector<batch::SubJob*> sub_jobs;
  for (const batch::Job* job : session_->jobs())
    for (const auto& sub_job : job->sub_jobs) sub_jobs.push_back(sub_job.get());
  if (slots_.sub_job_order)
    ExpectOrder(sub_jobs, [&](const batch::SubJob& l, const batch::SubJob& r) {
      return slots_.sub_job_order->CompareSubJobs(l, r);
    });
  for (const batch::QueueInfo* preemptor : session_->queues()) {
    if (!slots_.victim_queue_order) break;
    ExpectOrder(session_->queues(), [&](const batch::QueueInfo& l, const batch::QueueInfo& r) {
      return slots_.victim_queue_order->CompareVictimQueues(l, r, *preemptor);
    });
  }
}

// For, against or no opinion: who votes with more is heard as often as everybody else.
TEST_P(BatchPluginSuite, VotesAreVotes) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const std::string before = Votes();
  EXPECT_EQ(Votes(), before) << "asking changes something";
  TryAndDiscard();
  EXPECT_EQ(Votes(), before) << "a statement that was discarded has left a trace";
}

TEST_P(BatchPluginSuite, TheSameQuestionHasTheSameAnswer) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const std::string first = Answers();
  EXPECT_EQ(Answers(), first) << "asking changes something";
}

TEST_P(BatchPluginSuite, AStatementThatIsDiscardedLeavesNoTrace) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const std::string before = Answers();
  TryAndDiscard();
  EXPECT_EQ(Answers(), before);
}

TEST_P(BatchPluginSuite, VictimsAreAmongThoseWhoWereOfferedAndNoneIsNamedTwice) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const std::vector<batch::Task*> offered = Tasks(true);
  const auto expect = [](std::vector<batch::Task*> victims,
                         const std::vector<batch::Task*>& among) {
    for (const batch::Task* victim : victims)
      EXPECT_NE(std::ranges::find(among, victim), among.end()) << victim->name;
    std::ranges::sort(victims);
    EXPECT_EQ(std::ranges::adjacent_find(victims), victims.end());
  };
  const auto expect_vote = [&](const batch::Victims& victims,
                               const std::vector<batch::Task*>& among) {
    expect(victims.tasks, among);
    if (victims.vote != 0) return;
    EXPECT_TRUE(victims.tasks.empty()) << "it abstains and names " << Names(victims.tasks);
  };
  for (const auto& among : {offered, std::vector<batch::Task*>()}) {
    for (const batch::Task* task : Tasks(false)) {
      if (slots_.preemptable) expect_vote(slots_.preemptable->PreemptVictims(*task, among), among);
      if (slots_.reclaimable) expect_vote(slots_.reclaimable->ReclaimVictims(*task, among), among);
    }
    using Context = batch::EvictionContext;
    for (const batch::Job* job : session_->jobs()) {
      for (const auto kind : {Context::Kind::kGangPreempt, Context::Kind::kGangReclaim}) {
        if (slots_.unified_evictable)
          expect_vote(slots_.unified_evictable->UnifiedVictims({kind, *job}, among), among);
      }
    }
    if (slots_.victim_tasks) expect(slots_.victim_tasks->TasksToMove(among), among);
  }
}

// Who says that an answer about a node stands until that node changes is taken at its word.
TEST_P(BatchPluginSuite, APromisedScopeIsKept) {
  ASSERT_NO_FATAL_FAILURE(Open());
  if (!slots_.predicate) return;
  for (const batch::Task* task : Tasks(false)) {
    if (slots_.predicate->PredicateScope(*task) == batch::Scope::kAnything) return;
  }
  std::string before;
  PredicatesOn(*session_->nodes()[0], before);
  std::vector<batch::Task*> pending = Tasks(false);
  std::erase_if(pending, [](const batch::Task* task) { return task->best_effort; });
  ASSERT_FALSE(pending.empty());
  batch::Statement statement(*session_);
  ASSERT_TRUE(statement.Allocate(*pending.front(), *session_->nodes()[2]).ok());
  statement.Discard();
  std::string after;
  PredicatesOn(*session_->nodes()[0], after);
  EXPECT_EQ(after, before);
}

TEST_P(BatchPluginSuite, AClusterWithoutNodesAndJobsWithoutPodsAreSurvived) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  const std::string first = Answers();
  EXPECT_EQ(Answers(), first);
}

}  // namespace coppice::conformance
