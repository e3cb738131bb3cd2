// warm_nodes: tasks go where their job has tasks already, by a weight.
//
// A plug-in is made anew for every session. It reads its arguments in the constructor, says in
// Open() which roles it plays (batch/roles.h has them all), and answers from what the session
// shows. Answers have no side effects.

#include <algorithm>

#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::warm_nodes {
namespace {

class WarmNodes final : public Plugin, public NodeOrder {
 public:
  // Under `arguments:` of the plug-in in volcano-scheduler.conf; what is not there stays as it is.
  explicit WarmNodes(const Arguments& arguments) { arguments.Get("warm-nodes.weight", weight_); }

  Status Open(Session&, Slots& slots) override {
    if (weight_ < 0) return InvalidArgument("warm-nodes.weight must not be below zero");
    slots.node_order = this;
    return Status::Ok();
  }

  // Added to what the other plug-ins say about the node.
  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    const bool warm = std::ranges::any_of(node.tasks, [&](const Task* other) {
      return task.job != nullptr && other->job == task.job;
    });
    return warm ? 100.0 * weight_ : 0.0;
  }
  // A promise that makes sessions fast: how long an answer about a task and a node stands. Here it
  // depends on the job, which is more than "tasks of the same kind": so it is asked every time.
  Scope NodeOrderScope(const Task&) const override { return Scope::kAnything; }

 private:
  int weight_ = 1;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("warm-nodes", FactoryOf<WarmNodes>()); }

}  // namespace coppice::batch::warm_nodes
