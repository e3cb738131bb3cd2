// The annotation is written by users.

#include <cstddef>
#include <cstdint>
#include <string>

#include "plugins/batch/nodegroup/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto limits = coppice::batch::nodegroup::Limits::Parse(text);
  coppice::batch::Resource used;
  used.cpu = 1000;
  (void)limits.Exceeded("group", used);
  return 0;
}
