// The parts of the autoscaler's table of flags, in the order in which they are shown. For the files
// that fill it; everybody else reads flags.h.

#pragma once

#include "autoscale/flags.h"

namespace coppice::autoscale {

void AddClusterFlags(FlagSet& t, FlagValues& v);
void AddScaleUpFlags(FlagSet& t, FlagValues& v);
void AddScaleDownFlags(FlagSet& t, FlagValues& v);
void AddHealthFlags(FlagSet& t, FlagValues& v);
void AddDeviationFlags(FlagSet& t, FlagValues& v);
void AddUnsupportedFlags(FlagSet& t);

}  // namespace coppice::autoscale
