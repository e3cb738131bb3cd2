// What one process leaves to the next, as the text of an annotation: small JSON, times in seconds.
//
// On the status ConfigMap, because upstream's chart grants nothing else that we could write to.
// Upstream itself does not look at it.

#pragma once

#include <string>

#include "autoscale/memory.h"
#include "base/status.h"

namespace coppice::app {

inline constexpr char kMemoryAnnotation[] = "coppice.cluster-autoscaler.kubernetes.io/memory";

std::string FormatMemory(const autoscale::Memory& memory);
Result<autoscale::Memory> ParseMemory(const std::string& text);

}  // namespace coppice::app
