// Any bytes as protobuf: refused, or read, written and read again the same. The first byte chooses
// the type.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

template <class T>
void Try(std::string_view bytes) {
  const auto value = FromProto<T>(bytes);
  if (!value.ok()) return;
  const auto again = FromProto<T>(ToProto(*value));
  CHECK(again.ok());
  CHECK(*again == *value);
}

}  // namespace
}  // namespace coppice::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;  // NOLINT
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      wire::Try<model::Pod>(bytes);
      break;
    case 1:
      wire::Try<model::Node>(bytes);
      break;
    case 2:
      wire::Try<model::List<model::Pod>>(bytes);
      break;
    case 3:
      wire::Try<model::PersistentVolume>(bytes);
      break;
    case 4:
      wire::Try<model::Deployment>(bytes);
      break;
    case 5:
      wire::Try<model::PodDisruptionBudget>(bytes);
      break;
    case 6:
      wire::Try<model::ResourceSlice>(bytes);
      break;
    default:
      // Also what is saved of an object that cannot be read is an object.
      (void)wire::ForEachItem<model::Pod>(bytes, [](model::Pod& pod) {
        CHECK(wire::FromProto<model::Pod>(wire::ToProto(pod)).ok());
        return Status::Ok();
      });
      (void)wire::FromEnvelope<model::Lease>(bytes);
  }
  return 0;
}
