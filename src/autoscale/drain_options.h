// What autoscale hands to drain: the flags that are about pods on leaving nodes, and upstream's
// words.

#pragma once

#include "autoscale/options.h"
#include "drain/options.h"

namespace coppice::autoscale {

inline constexpr std::string_view kAnnotationPrefix = "cluster-autoscaler.kubernetes.io/";

drain::RuleOptions RuleOptionsFrom(const DrainOptions& options);
drain::EvictionOptions EvictionOptionsFrom(const DrainOptions& options);

}  // namespace coppice::autoscale
