// Any text as the annotation of a PodGroup: read without a crash; and what was read survives being
// written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "market/intent.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (coppice::market::HoldValue(text).size() > 63) std::abort();
  const auto intent = coppice::market::ParseIntent(text);
  if (!intent.ok()) return 0;
  const std::string once = coppice::market::FormatIntent(*intent);
  const auto again = coppice::market::ParseIntent(once);
  if (!again.ok() || coppice::market::FormatIntent(*again) != once) std::abort();
  return 0;
}
