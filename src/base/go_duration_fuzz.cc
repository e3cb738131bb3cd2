// What parses, prints as something that parses to the same.
#include "base/go_duration.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto duration = coppice::ParseGoDuration({reinterpret_cast<const char*>(data), size});
  if (!duration.ok()) return 0;
  const auto again = coppice::ParseGoDuration(coppice::FormatGoDuration(*duration));
  CHECK(again.ok() && *again == *duration);
  return 0;
}
