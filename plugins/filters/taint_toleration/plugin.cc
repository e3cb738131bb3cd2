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

class TaintToleration final : public fit::ShapeFilter {
 public:
  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override {
    return model::FirstUntolerated(node.taints, pod.tolerations) ? refusal_ : model::Verdict::Yes();
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
