// Any bytes as a list or as a watch event of a custom resource: read, or refused. What is handed
// out has a value, and a name or a reason for having none.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/custom_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const coppice::kube::KindCodec codec =
      coppice::kube::JsonCodecOf({"karpenter.sh/v1", "NodePool", "nodepools"});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto page = codec.read_page(text); page.ok()) {
    for (const coppice::kube::Delta& delta : page->items) {
      if (delta.object == nullptr) std::abort();
    }
  }
  std::optional<coppice::wire::ApiError> error;
  (void)codec.read_event(coppice::wire::Encoding::kJson, text, error);
  return 0;
}
