// The log that --v and --logging-format ask for.

#pragma once

#include "autoscale/flags.h"
#include "base/log.h"

namespace coppice::app {

Log LogFrom(const autoscale::FlagValues& flags, const Clock& clock);

}  // namespace coppice::app
