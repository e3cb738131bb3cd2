// Where the gRPC expander is.

#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::expanders::grpc {

// A target for gRPC from what --grpc-expander-url says: "host:port" and gRPC's own schemes
// ("dns:///host:port") as they are. The proposal wrote an https:// URL, which upstream does not
// dial; here the scheme may be there, the port is then 443 unless it is given, and a path, which
// gRPC has no use for, is refused.
Result<std::string> TargetOf(std::string_view url);

}  // namespace coppice::expanders::grpc
