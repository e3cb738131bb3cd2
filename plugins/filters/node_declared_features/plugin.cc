// NodeDeclaredFeatures: a pod that needs something of the kubelet stays off nodes that do not
// declare it.
//
// What a pod needs is worked out once, when its spec is interned (model/declared_features.h).

#include <algorithm>

#include "fit/filter.h"

namespace coppice::filters::node_declared_features {
namespace {

constexpr std::string_view kName = "NodeDeclaredFeatures";

class NodeDeclaredFeatures final : public fit::ShapeFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod, const cluster::Snapshot&) const override {
    return pod.spec.needed_features.empty() ? fit::Preparation::Skip().ForSpec()
                                            : fit::Preparation::AskShapes().ForSpec();
  }

  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override {
    const bool has_all = std::ranges::all_of(pod.needed_features, [&](const std::string& feature) {
      return std::ranges::find(node.declared_features, feature) != node.declared_features.end();
    });
    return has_all ? model::Verdict::Yes()
                   : model::Verdict::No(kName, model::VerdictCode::kUnschedulableAndUnresolvable,
                                        "node(s) didn't match Pod's required features");
  }
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, [](const fit::SchedulerConfig&) -> Result<std::unique_ptr<fit::Filter>> {
    return std::make_unique<NodeDeclaredFeatures>();
  });
}

}  // namespace coppice::filters::node_declared_features
