// What one process leaves to the next, as the text of an annotation: small JSON, times in seconds.
//
// On the status ConfigMap, because upstream's chart grants nothing else that we could write to.
// Upstream itself does not look at it.

#pragma once

#include <cstddef>
#include <string>

#include "autoscale/memory.h"
#include "base/status.h"

namespace coppice::autoscale {

inline constexpr char kMemoryAnnotation[] = "coppice.cluster-autoscaler.kubernetes.io/memory";

// All annotations of an object may have 256 KiB together, or the API server refuses the whole
// status; others' need room, too.
inline constexpr size_t kMaxMemoryBytes = 128 << 10;

struct MemoryText {
  std::string text;
  size_t left_out = 0;  // back-offs that did not fit
};
// The times always; of back-offs what fits, those that last longest first: of one that is about to
// end the least is lost.
MemoryText FormatMemory(const Memory& memory, size_t max_bytes = kMaxMemoryBytes);
Result<Memory> ParseMemory(const std::string& text);

}  // namespace coppice::autoscale
