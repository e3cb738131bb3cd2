// When a certificate ends.

#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::grpc {

// Of the first certificate of a PEM text.
Result<TimePoint> CertificateEnd(const std::string& pem);

}  // namespace coppice::grpc
