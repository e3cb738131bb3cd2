// Messages that a client sends compressed. Internal to this module.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::grpc {

// What `bytes` (gzip, one member or several) hold. ResourceExhausted when that is more than `limit`
// bytes, of which no more than that are ever made: a small message may stand for gigabytes.
// Internal when it is no gzip, or not all of it, as other servers answer.
Result<std::string> Gunzip(std::string_view bytes, size_t limit);

}  // namespace coppice::grpc
