// The kinds of plug-ins that an autoscaler is put together from, a registry each. A program has
// more (seats/plugins.h): clouds and node group providers, which stand behind the groups that the
// engine is handed.

#pragma once

#include "autoscale/processor_registry.h"
#include "expand/expander.h"
#include "fit/filter.h"

namespace coppice::autoscale {

struct Plugins {
  fit::FilterRegistry filters{"filter"};
  expand::ExpanderRegistry expanders{"expander"};
  ProcessorRegistry processors;  // one registry per slot
};

}  // namespace coppice::autoscale
