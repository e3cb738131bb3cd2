// NodeUnschedulable: a cordoned node takes only pods that tolerate being on one.

#include <string_view>

#include "fit/filter.h"
#include "model/taints.h"

namespace coppice::filters::node_unschedulable {
namespace {

constexpr std::string_view kName = "NodeUnschedulable";

class NodeUnschedulable final : public fit::ShapeFilter {
 public:
  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override {
    if (!node.unschedulable || model::Tolerates(pod.tolerations, cordon_))
      return model::Verdict::Yes();
    return refusal_;
  }

 private:
  // Cordoning is judged as if the node had this taint, whether the node controller has put it there
  // or not.
  const model::Taint cordon_{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"};
  const model::Verdict refusal_ = model::Verdict::No(
      kName, model::VerdictCode::kUnschedulableAndUnresolvable, "node(s) were unschedulable");
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<NodeUnschedulable>());
}

}  // namespace coppice::filters::node_unschedulable
