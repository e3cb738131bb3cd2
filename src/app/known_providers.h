// Whether --cloud-provider names what this program has: asked before anything is connected, so that
// a wrong name is told at once.

#pragma once

#include "app/plugins.h"
#include "autoscale/flags.h"

namespace coppice::app {

Status CheckProviderNames(const autoscale::FlagValues& flags, const Plugins& plugins);

}  // namespace coppice::app
