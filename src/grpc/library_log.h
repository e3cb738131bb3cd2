// The gRPC library writes text lines of its own to standard error. This sends them through our Log
// instead, so that whoever parses our log finds JSON only.

#pragma once

#include "base/log.h"

namespace coppice::grpc {

// Process-wide; `log` must outlive every use of gRPC, so the program's main log. Once.
void RouteLibraryLog(const Log& log);

}  // namespace coppice::grpc
