// Any text as the annotation that the process before left: read without a crash; and what was read
// survives being written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "autoscale/restart_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto memory =
      coppice::autoscale::ParseMemory(std::string(reinterpret_cast<const char*>(data), size));
  if (!memory.ok()) return 0;
  const std::string once = coppice::autoscale::FormatMemory(*memory).text;
  const auto again = coppice::autoscale::ParseMemory(once);
  if (!again.ok() || coppice::autoscale::FormatMemory(*again).text != once) std::abort();
  return 0;
}
