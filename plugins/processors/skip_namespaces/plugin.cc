// skip-namespaces: pods of these namespaces cause no scale-up. They still use what is there: a
// scratch namespace fills gaps and never buys a machine.
//
//   --processor=pod-list=skip-namespaces:scratch,dev

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "autoscale/processor_registry.h"
#include "base/strings.h"

namespace coppice::processors::skip_namespaces {
namespace {

class SkipNamespaces final : public autoscale::PodListProcessor {
 public:
  explicit SkipNamespaces(std::set<std::string> skipped) : skipped_(std::move(skipped)) {}

  // The standard step first: it places pods on nodes that exist, and these pods may have them.
  Result<autoscale::Pods> Process(autoscale::Pods pods,
                                  const std::function<autoscale::Pods(autoscale::Pods)>& standard,
                                  const autoscale::PassView&) override {
    autoscale::Pods left = standard(std::move(pods));
    std::erase_if(left, [this](const fit::PendingPod& pending) {
      return skipped_.contains(pending.pod->metadata.namespace_);
    });
    return left;
  }

 private:
  const std::set<std::string> skipped_;
};

Result<std::unique_ptr<autoscale::PodListProcessor>> Make(
    const autoscale::ProcessorContext& context) {
  std::set<std::string> skipped;
  for (std::string& name : Split(context.argument, ',')) {
    if (!name.empty()) skipped.insert(std::move(name));
  }
  if (skipped.empty())
    return InvalidArgument("it needs namespaces: --processor=pod-list=skip-namespaces:a,b");
  return std::unique_ptr<autoscale::PodListProcessor>(
      std::make_unique<SkipNamespaces>(std::move(skipped)));
}

}  // namespace

void Register(autoscale::ProcessorRegistry& registry) {
  registry.pod_list.Add("skip-namespaces", Make);
}

}  // namespace coppice::processors::skip_namespaces
