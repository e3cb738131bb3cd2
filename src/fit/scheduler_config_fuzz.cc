// Any bytes as a KubeSchedulerConfiguration: a complaint or a configuration, never a crash.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fit/default_spread_config.h"
#include "fit/scheduler_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = coppice::fit::ParseSchedulerConfig(text, "fuzz", {"Spaceship"});
  const auto spread = coppice::fit::ParseDefaultSpread(text, "fuzz");
  if (spread.ok()) {
    for (const auto& constraint : *spread) {
      if (constraint.max_skew <= 0) __builtin_trap();
    }
  }
  return config.ok() && config->scheduler_name.empty() ? 1 : 0;
}
