// What Prometheus, or whoever answers in its place, sends: numbers by instance, or a reason.

#include <cmath>
#include <string_view>

#include "plugins/batch/usage/source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto values = coppice::batch::usage::ReadVector(text);
  if (!values.ok()) {
    if (values.status().message().empty()) __builtin_trap();
    return 0;
  }
  for (const auto& [instance, value] : *values) {
    if (!std::isfinite(value)) __builtin_trap();
  }
  return 0;
}
