// The pod-list processor: pods that carry acme.example/no-scale-up: "true" use what is there and
// never buy a machine.
//
//   --processor=pod-list=acme-patient

#include <algorithm>
#include <memory>
#include <utility>

#include "acme.h"

namespace acme {
namespace {

using namespace coppice;  // NOLINT

class Patient final : public autoscale::PodListProcessor {
 public:
  // First what Coppice does by itself, which places pods on nodes that exist or are coming.
  Result<autoscale::Pods> Process(autoscale::Pods pods,
                                  const std::function<autoscale::Pods(autoscale::Pods)>& standard,
                                  const autoscale::PassView&) override {
    autoscale::Pods left = standard(std::move(pods));
    std::erase_if(left, [](const fit::PendingPod& pending) {
      const std::string* value = pending.pod->metadata.annotations.Find("acme.example/no-scale-up");
      return value != nullptr && *value == "true";
    });
    return left;
  }
};

}  // namespace

void Register(autoscale::ProcessorRegistry& processors) {
  processors.pod_list.Add("acme-patient", [](const autoscale::ProcessorContext&) {
    return Result<std::unique_ptr<autoscale::PodListProcessor>>(std::make_unique<Patient>());
  });
}

}  // namespace acme
