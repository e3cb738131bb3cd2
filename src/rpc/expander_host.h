// `coppice expander` as a running thing: a chain of expanders, the gRPC server in front of it, and
// an HTTP server for metrics and health where one is asked for.
//
// Owned by one thread, which calls Start, Tick about once a second, and Stop.

#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "base/status.h"
#include "expand/expander.h"
#include "rpc/expander_flags.h"

namespace coppice::rpc {

// What the process lends: all of it outlives the host.
struct ExpanderHostContext {
  const expand::ExpanderRegistry& expanders;
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
};

class ExpanderHost {
 public:
  static Result<std::unique_ptr<ExpanderHost>> Start(ExpanderOptions options,
                                                     const ExpanderHostContext& context);
  ~ExpanderHost();  // stops if Stop() was not called
  ExpanderHost(const ExpanderHost&) = delete;
  ExpanderHost& operator=(const ExpanderHost&) = delete;

  // Looks at the certificates, so that a broken rotation is reported before the next handshake.
  void Tick();
  // SIGHUP: the same, and says so. Priorities are read with each question.
  void Reload();
  // Health says NOT_SERVING, calls in progress have ten seconds to end.
  void Stop();

  int port() const;            // 0 on a Unix socket
  uint16_t http_port() const;  // 0 without an HTTP server

 private:
  struct State;
  explicit ExpanderHost(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace coppice::rpc
