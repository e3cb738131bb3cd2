#include "test/conformance/batch_suite.h"

namespace coppice {
namespace batch::task_topology {
void Register(PluginRegistry& registry);
}

namespace conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(TaskTopology, BatchPluginSuite,
                         testing::Values(BatchPluginUnderTest{
                             .name = "task-topology", .add = [](auto& plugins, auto&) {
                               batch::task_topology::Register(plugins);
                             }}));

// The job `big` has four tasks of the roles even (0, 2) and odd (1, 3, 9).
class TaskTopologyTest : public testing::Test {
 protected:
  batch::Session& Open(const std::string& key, const std::string& value) {
    for (model::PodGroup& group : world_.input.groups) {
      if (group.metadata.name == "big") group.metadata.annotations["volcano.sh/" + key] = value;
    }
    batch::task_topology::Register(plugins_);
    const auto conf =
        batch::ParseConf("actions: \"allocate\"\ntiers:\n- plugins:\n  - name: task-topology\n");
    session_ = std::move(batch::Session::Open(*conf, {}, plugins_, filters_, world_.snapshot,
                                              world_.input))
                   .value();
    return *session_;
  }
  batch::Task& Task(const std::string& name) {
    for (batch::Task* task : session_->FindJob("ns/big")->tasks) {
      if (task->name == name) return *task;
    }
    ADD_FAILURE() << name;
    return *session_->FindJob("ns/big")->tasks.front();
  }
  double Score(batch::Task& task, const char* name) {
    batch::NodeInfo* node = session_->FindNode(name);
    return session_->ask().Score(task, {&node, 1})->front();
  }

  BatchWorld world_;
  batch::PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  std::unique_ptr<batch::Session> session_;
};

TEST_F(TaskTopologyTest, CompanionsAreLikedAndWhatIsDiscardedLeavesNoTrace) {
  batch::Session& session = Open("task-topology-affinity", "even,odd");
  batch::Task& task = Task("big-1");
  const double before = Score(task, "c");
  batch::Statement statement(session);
  ASSERT_TRUE(statement.Allocate(Task("big-0"), *session.FindNode("c")).ok());
  EXPECT_GT(Score(task, "c"), Score(task, "b"));
  statement.Discard();
  EXPECT_EQ(Score(task, "c"), before);
}

TEST_F(TaskTopologyTest, RolesThatBelongApartDislikeEachOthersNodes) {
  batch::Session& session = Open("task-topology-anti-affinity", "even,odd");
  batch::Statement statement(session);
  ASSERT_TRUE(statement.Allocate(Task("big-0"), *session.FindNode("c")).ok());
  EXPECT_LT(Score(Task("big-1"), "c"), Score(Task("big-1"), "b"));
}

TEST_F(TaskTopologyTest, TheWishedOrderCounts) {
  // Two roles in one bucket, and the odd ones first.
  for (model::PodGroup& group : world_.input.groups)
    group.metadata.annotations["volcano.sh/task-topology-affinity"] = "even,odd";
  batch::Session& session = Open("task-topology-task-order", "odd,even");
  EXPECT_TRUE(session.ask().TaskBefore(Task("big-1"), Task("big-0")));
  EXPECT_FALSE(session.ask().TaskBefore(Task("big-0"), Task("big-1")));
}

TEST_F(TaskTopologyTest, ARoleThatNobodyHasIsTold) {
  batch::Session& session = Open("task-topology-affinity", "even,ghost");
  EXPECT_EQ(Score(Task("big-0"), "a"), 0);
  session.Run();
  const auto outcome = session.Close();
  const auto told =
      std::ranges::find(outcome.events, "TaskTopology", &batch::Outcome::EventNote::reason);
  ASSERT_NE(told, outcome.events.end());
  EXPECT_THAT(told->message, testing::HasSubstr("ghost"));
}

}  // namespace
}  // namespace conformance
}  // namespace coppice
