// What every serving command offers beside its own protocol: /metrics, /healthz and /readyz over
// HTTP.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "net/http_server.h"

namespace coppice::net {

// The limits of a server that only tells how things are, the autoscaler's own too.
HttpServerOptions StatusServerOptions(const HostPort& at, const Log& log);

// Serves at `address`; null when that is "". `ready` says why nobody should be sent here, on the
// server's thread; it and the metrics outlive the server.
Result<std::unique_ptr<HttpServer>> ServeStatus(const std::string& address, Metrics& metrics,
                                                const Log& log, std::function<Status()> ready);

}  // namespace coppice::net
