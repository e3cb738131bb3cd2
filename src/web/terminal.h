// The answers of /api/v1/explain, /decisions and /pass as text for a terminal: what `coppice explain` prints.
// Whatever the server says, nothing of it steers the terminal.

#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::web {

// `json` is what the server said; InvalidArgument if it is no such thing.
Result<std::string> ExplainedAsText(std::string_view json);
Result<std::string> DecisionsAsText(std::string_view json);
// The "error" of an answer that is one, else the beginning of the text.
std::string ErrorOf(std::string_view body);
// Who leads, of /api/v1/health of a replica that does not; "": it leads, or nobody is known to.
std::string OtherLeaderOf(std::string_view health);

}  // namespace coppice::web
