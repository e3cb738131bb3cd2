#include "base/boot_time.h"

#include <ctime>

#include "base/check.h"

namespace coppice {

Duration SinceBoot() {
  timespec now{};
  CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace coppice
