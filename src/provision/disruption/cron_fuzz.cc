// Any text as a schedule: refused, or its hits are in the future, and in order.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "provision/disruption/cron.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;  // NOLINT
  if (size < 4) return 0;
  const uint32_t hours =
      data[0] | uint32_t{data[1]} << 8 | uint32_t{data[2]} << 16 | uint32_t{data[3] % 4u} << 24;
  const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);
  const auto schedule = provision::CronSchedule::Parse(text);
  if (!schedule.ok()) return 0;
  TimePoint at{std::chrono::hours(hours % 2'000'000)};
  for (int i = 0; i < 3; ++i) {
    const auto next = schedule->Next(at);
    if (!next) break;
    CHECK(*next > at);
    at = *next;
  }
  return 0;
}
