// Any text as JSON: refused, or read, written and read again the same. The first byte chooses the
// type.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "wire/utf8.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

template <class T>
void Try(std::string_view text) {
  const auto value = FromJson<T>(text);
  if (!value.ok()) return;
  const auto again = FromJson<T>(ToJson(*value));
  CHECK(again.ok());
  CHECK(!IsUtf8(text) || *again == *value);  // what is not UTF-8 is not written as it came
  const auto in_protobuf = FromProto<T>(ToProto(*value));
  CHECK(in_protobuf.ok());
  CHECK(*in_protobuf == *value);
}

}  // namespace
}  // namespace coppice::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      wire::Try<model::Pod>(text);
      break;
    case 1:
      wire::Try<model::Node>(text);
      break;
    case 2:
      wire::Try<model::List<model::Pod>>(text);
      break;
    case 3:
      wire::Try<model::PersistentVolume>(text);
      break;
    case 4:
      wire::Try<model::ConfigMap>(text);
      break;
    case 5:
      wire::Try<model::PodDisruptionBudget>(text);
      break;
    case 6:
      wire::Try<model::Lease>(text);
      break;
    default:
      // Also what is saved of an object that cannot be read is an object.
      (void)wire::ForEachItem<model::Pod>(text, [](model::Pod& pod) {
        CHECK(wire::FromJson<model::Pod>(wire::ToJson(pod)).ok());
        return Status::Ok();
      });
  }
  return 0;
}
