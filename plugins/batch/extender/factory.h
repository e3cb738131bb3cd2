// How the plug-in is made, with the things that tests bring themselves.

#pragma once

#include "base/clock.h"
#include "batch/plugin.h"
#include "plugins/batch/extender/caller.h"

namespace coppice::batch::extender {

// Without pipes every question has a connection of its own while it is under way.
PluginFactory MakeFactory(const Clock& clock, ClientMaker make, PipesMaker make_pipes = nullptr);

}  // namespace coppice::batch::extender
