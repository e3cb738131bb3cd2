// The provider as a running thing: a cloud, its node groups, the gRPC server, the HTTP server, and
// what happens to them over time (certificates and configuration re-read, the picture kept fresh,
// health).
//
// Owned by one thread, which calls Start, Tick about once a second, and Stop. Everything else has
// threads of its own.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "base/status.h"
#include "cloud/cloud.h"
#include "provider/provider_config.h"

namespace coppice::provider {

// What is served: node groups to Cluster Autoscaler (externalgrpc), or the cloud's own verbs to any
// program of ours (proto/cloud.proto; the file then needs no groups). Whoever has the verbs can
// create and delete any machine of the account, so it is one or the other.
enum class Serve { kGroups, kCloud };

struct ProviderOptions {
  std::string config_path;
  Serve serve = Serve::kGroups;
  std::optional<std::string> metrics_addr;  // "": no HTTP server; unset: the file's, else :9090
  bool insecure = false;
  Duration max_connection_age = std::chrono::hours(1);  // of a gRPC client; zero: no end

  // Cluster Autoscaler refreshes every 10 s; without one the provider does it itself, or a provider
  // that nobody has reached yet would never become ready to be reached.
  Duration refresh_every = std::chrono::minutes(1);
  Duration fresh_for = std::chrono::minutes(3);  // a picture older than this is not ready
  Duration refresh_timeout = std::chrono::seconds(30);
  // Kubernetes kills 30 s after the signal.
  Duration stop_calls = std::chrono::seconds(10);
  Duration stop_orders = std::chrono::seconds(15);
};

// What the process lends: all of it outlives the provider.
struct ProviderContext {
  const cloud::CloudRegistry& clouds;
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
};

class Provider {
 public:
  static Result<std::unique_ptr<Provider>> Start(ProviderOptions options,
                                                 const ProviderContext& context);
  ~Provider();  // stops if Stop() was not called
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  // Looks at certificates and configuration, refreshes if nobody else does, publishes health.
  // Quick.
  void Tick();
  // SIGHUP: reads certificates and configuration also if they look unchanged, so that a file that
  // was refused says once more why.
  void Reload();

  // Health says NOT_SERVING, calls in progress finish, orders under way are waited for or handed
  // over: what is unanswered then is found again by its tags. Returns what was left, if anything.
  Status Stop();

  int port() const;            // 0 on a Unix socket
  uint16_t http_port() const;  // 0 without an HTTP server
  // OK, or why no autoscaler should be sent here. Any thread.
  Status Ready() const;

 private:
  struct State;
  explicit Provider(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace coppice::provider
