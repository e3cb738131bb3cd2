// A pod's annotations are anybody's texts: weights of resources, or a reason why not.

#include <string>

#include "plugins/batch/resource_strategy_fit/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  coppice::model::Labels annotations;
  annotations["volcano.sh/resource-strategy-scoring-type"] = "MostAllocated";
  annotations["volcano.sh/resource-strategy-weight"] =
      std::string(reinterpret_cast<const char*>(data), size);
  const auto wish = coppice::batch::resource_strategy_fit::ReadPodWish(annotations);
  if (wish.ok() ? !wish->has_value() : wish.status().message().empty()) __builtin_trap();
  return 0;
}
