#include "test/conformance/batch_suite.h"

namespace coppice {
namespace batch::warm_nodes {
void Register(PluginRegistry& registry);
}

namespace conformance {
// What every plug-in must do: orders are orders, what is discarded leaves no trace, ...
INSTANTIATE_TEST_SUITE_P(WarmNodes, BatchPluginSuite,
                         testing::Values(BatchPluginUnderTest{
                             .name = "warm-nodes", .add = [](auto& plugins, auto&) {
                               batch::warm_nodes::Register(plugins);
                             }}));

// What this one is for.
class WarmNodesTest : public BatchPluginSuite {};
TEST_P(WarmNodesTest, ANodeWithATaskOfTheJobIsPreferred) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const batch::Job* job = session_->FindJob("ns/small");
  const batch::Task* waiting = *std::ranges::find_if(job->tasks, [](const batch::Task* task) {
    return task->status == batch::TaskStatus::kPending;
  });
  EXPECT_GT(*slots_.node_order->ScoreNode(*waiting, *session_->FindNode("a")), 0);
  EXPECT_EQ(*slots_.node_order->ScoreNode(*waiting, *session_->FindNode("b")), 0);
}
INSTANTIATE_TEST_SUITE_P(WarmNodes, WarmNodesTest,
                         testing::Values(BatchPluginUnderTest{
                             .name = "warm-nodes", .add = [](auto& plugins, auto&) {
                               batch::warm_nodes::Register(plugins);
                             }}));
}  // namespace conformance
}  // namespace coppice
