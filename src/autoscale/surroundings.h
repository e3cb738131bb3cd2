// What expanders may look at beside the options, for whoever asks them.

#pragma once

#include "autoscale/stage.h"
#include "autoscale/templates.h"
#include "expand/expander.h"

namespace coppice::autoscale {

// Both outlive it; templates as they are now.
expand::Surroundings SurroundingsOf(const StageParts& shared, const Templates& templates);

}  // namespace coppice::autoscale
