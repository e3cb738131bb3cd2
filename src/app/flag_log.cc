#include "app/flag_log.h"

namespace coppice::app {

Log LogFrom(const autoscale::FlagValues& flags, const Clock& clock) {
  return LogToStderr(flags.log, clock);
}

}  // namespace coppice::app
