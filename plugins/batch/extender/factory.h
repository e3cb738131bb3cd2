// How the plug-in is made, with the two things that tests bring themselves.

#pragma once

#include "base/clock.h"
#include "batch/plugin.h"
#include "plugins/batch/extender/caller.h"

namespace coppice::batch::extender {

PluginFactory MakeFactory(const Clock& clock, ClientMaker make);

}  // namespace coppice::batch::extender
