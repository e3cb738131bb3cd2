// The Now page of an instance as a screen of text: groups and pools with a letter or bar per node,
// pods that wait, the last decisions. What the server says is taken as it comes: whatever is missing
// or of another type is left out, and nothing in it can steer the terminal.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::web {

struct TopLook {
  size_t width = 100;
  size_t height = 0;  // lines; 0: as many as there are
  bool colour = false;
};

// `state` and `decisions` as /api/v1/state and /api/v1/decisions answer; InvalidArgument if the
// first is none. Lines end with a line break.
Result<std::string> TopScreen(std::string_view state, std::string_view decisions,
                              const std::string& server, const TopLook& look);

}  // namespace coppice::web
