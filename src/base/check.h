// CHECK(condition): ends the process with file, line and the condition. For bugs of ours only; what
// comes from outside is answered with a Status.

#pragma once

namespace coppice::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace coppice::internal

#define CHECK(condition) \
  ((condition) ? void() : ::coppice::internal::CheckFailed(__FILE__, __LINE__, #condition))
