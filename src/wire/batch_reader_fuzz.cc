// Pod groups, queues and hypernodes are written by users and by other people's controllers.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/batch.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

template <class T>
void TryBatchKind(std::string_view text) {
  const auto object = FromJson<T>(text);
  if (!object.ok()) return;
  const auto again = FromJson<T>(ToJson(*object));
  CHECK(again.ok());
}

}  // namespace
}  // namespace coppice::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  coppice::wire::TryBatchKind<coppice::model::HyperNode>(text);
  coppice::wire::TryBatchKind<coppice::model::PodGroup>(text);
  coppice::wire::TryBatchKind<coppice::model::Queue>(text);
  coppice::wire::TryBatchKind<coppice::model::ResourceQuota>(text);
  return 0;
}
