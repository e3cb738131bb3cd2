// Any bytes as a compressed message: no crash, and never more than the limit.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "grpc/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLimit = 1 << 16;
  const auto message = coppice::grpc::Gunzip({reinterpret_cast<const char*>(data), size}, kLimit);
  if (message.ok() && message->size() > kLimit) std::abort();
  return 0;
}
