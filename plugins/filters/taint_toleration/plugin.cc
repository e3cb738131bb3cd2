// TaintToleration: a pod stays off a node whose taints it does not tolerate.
//
// PreferNoSchedule is a wish and not a rule: kube-scheduler only scores it, so it is ignored here,
// or we would buy nodes for pods that the scheduler would have placed anyway.

#include <string_view>

#include "fit/filter.h"
#include "model/taints.h"

namespace coppice::filters::taint_toleration {
namespace {

constexpr std::string_view kName = "TaintToleration";

std::vector<model::ChangeSet> ForTaints(const model::Pod& pod, const model::Node& node) {
  model::ChangeSet together;
  for (const model::Taint& taint : node.spec.taints) {
    if (!model::KeepsOut(taint) || model::Tolerates(pod.spec.tolerations, taint)) continue;
    together.push_back({.kind = model::ChangeKind::kTolerate,
                        .subject = taint.key,
                        .value = taint.value,
                        .effect = taint.effect,
                        .text = "it tolerated " + model::ToString(taint)});
  }
  if (together.empty()) return {};
  return {std::move(together)};
}

class TaintToleration final : public fit::ShapeFilter {
 public:
  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override {
    return model::FirstUntolerated(node.taints, pod.tolerations) ? refusal_ : model::Verdict::Yes();
  }

  std::vector<model::ChangeSet> WaysAround(const model::Refusal&, const model::Pod& pod,
                                           const model::Node& node) const override {
    return ForTaints(pod, node);
  }

 private:
  const model::Verdict refusal_ = model::Verdict::No(
      kName, model::VerdictCode::kUnschedulableAndUnresolvable, "node(s) had untolerated taint(s)");
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<TaintToleration>());
}

}  // namespace coppice::filters::taint_toleration
