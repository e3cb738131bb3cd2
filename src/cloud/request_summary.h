// What a client is told about a request of many pieces: how many failed, why, and what to do about
// it.

#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "cloud/order.h"

namespace coppice::cloud {

// OK if nothing failed. "group 'web': 2 of 5 machines could not be ordered: quota is used up (2
// times); 3 were; raise the quota, ..." The code is that of the first failure: the pieces of a
// request mostly fail for one reason. `what`: "ordered" or "deleted".
Status Summary(std::string_view group, int64_t asked, std::string_view what,
               const Request& request);

}  // namespace coppice::cloud
