// DynamicResources: resource claims are not understood yet, so a pod that has one is refused
// everywhere.
//
// Refusing is the safe mistake: a node bought for a pod whose devices it may not have is money
// lost.

#include <string_view>

#include "fit/filter.h"

namespace coppice::filters::dynamic_resources {
namespace {

constexpr std::string_view kName = "DynamicResources";

class DynamicResources final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod, const cluster::Snapshot&) const override {
    if (!pod.spec.has_resource_claims) return fit::Preparation::Skip().ForSpec();
    return fit::Preparation::Reject(refusal_);
  }

 private:
  const model::Verdict refusal_ = model::Verdict::No(
      kName, model::VerdictCode::kUnschedulableAndUnresolvable,
      "pods with resource claims (dynamic resource allocation) are not supported yet");
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<DynamicResources>());
}

}  // namespace coppice::filters::dynamic_resources
