// Time since the machine started, in which the time that it slept counts.
//
// Clock::Now() follows the monotonic clock, which stands still while the machine is suspended: good
// for timers, bad for what others believe to have run out meanwhile, such as a lease.

#pragma once

#include <functional>

#include "base/clock.h"

namespace coppice {

// The seam: tests let a machine sleep by handing in their own.
using BootTime = std::function<Duration()>;

// CLOCK_BOOTTIME. Any thread.
Duration SinceBoot();

}  // namespace coppice
