// Any bytes as a KubeSchedulerConfiguration: a complaint or a configuration, never a crash.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fit/scheduler_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = coppice::fit::ParseSchedulerConfig(text, "fuzz", {"Spaceship"});
  return config.ok() && config->scheduler_name.empty() ? 1 : 0;
}
