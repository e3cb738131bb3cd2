// What surrounds every handler of a server: what is counted, what is logged, and that a crash ends
// as an answer. Who may call is the server's to ask, before it reads anything of a call.

#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "grpc/handler.h"

namespace coppice::grpc {

struct InterceptorOptions {
  const Clock& clock;
  const Log& log;
  Metrics& metrics;
  std::string metric_prefix =
      "autoscaler_";  // + grpc_requests_total, grpc_request_duration_seconds
};

// Puts the whole chain around every method of `service`. The references in `options` outlive the
// service.
Service Intercept(Service service, const InterceptorOptions& options);

// The links, outermost first, as Intercept() orders them; each is usable alone in a test.
Handler WithLogging(Handler next, std::string path, const InterceptorOptions& options);
Handler WithMetrics(Handler next, std::string path, const InterceptorOptions& options);
Handler WithRecovery(Handler next, std::string path, const InterceptorOptions& options);

}  // namespace coppice::grpc
