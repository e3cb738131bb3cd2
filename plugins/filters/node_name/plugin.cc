// NodeName: a pod that names its node runs there or nowhere.
//
// Every node is asked; kube-scheduler does not narrow the search by it, so that a pod that names a
// cordoned node hears about the cordon from NodeUnschedulable.

#include <string_view>

#include "fit/filter.h"

namespace coppice::filters::node_name {
namespace {

constexpr std::string_view kName = "NodeName";

class OnlyThere final : public fit::NodeCheck {
 public:
  OnlyThere(cluster::NodeIndex wanted, model::Verdict refusal)
      : wanted_(wanted), refusal_(std::move(refusal)) {}

  model::Verdict Check(cluster::NodeIndex node) const override {
    return node == wanted_ ? model::Verdict::Yes() : refusal_;
  }

 private:
  cluster::NodeIndex wanted_;  // kNone if there is no such node: then nobody is it
  model::Verdict refusal_;
};

class NodeName final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    if (pod.wanted_node.empty()) return fit::Preparation::Skip().ForSpec();
    return fit::Preparation::Ask(
        std::make_unique<OnlyThere>(snapshot.FindNode(pod.wanted_node), refusal_));
  }

 private:
  const model::Verdict refusal_ =
      model::Verdict::No(kName, model::VerdictCode::kUnschedulableAndUnresolvable,
                         "node(s) didn't match the requested node name");
};

}  // namespace

void Register(fit::FilterRegistry& registry) { registry.Add(kName, fit::FactoryOf<NodeName>()); }

}  // namespace coppice::filters::node_name
