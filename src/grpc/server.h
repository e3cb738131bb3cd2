// A gRPC server of unary methods over bytes: one thread reads the wire and answers what needs no
// waiting; methods that wait run on the workers.
//
// On nghttp2 and OpenSSL rather than on the gRPC library's server: what arrives in one read is
// answered with one write, which takes a fraction of the CPU per call (README.md has the numbers),
// and both libraries are kept secure in Debian. Health (standard service) and reflection come
// along.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/status.h"
#include "grpc/credentials.h"
#include "grpc/handler.h"

namespace coppice::grpc {

struct ServerOptions {
  // "host:port", ":port" (every interface), port 0 for any free one, or "unix:/path".
  std::string listen = ":8086";
  std::shared_ptr<CertificateStore> certificates;  // null: plaintext
  bool insecure = false;                           // plaintext on a loopback port is allowed
  size_t max_message_bytes = 64UL << 20;  // each way; the library's own 4 MiB is too small for
                                          // a batch of annotated nodes
  // Requests and answers in progress, over all connections; 0: three messages of the largest size.
  size_t max_held_bytes = 0;
  size_t max_connections = 1'000;
  // A connection is told to go when it is this old, a tenth more or less so that not all come back
  // at once, and its calls have the grace to end. So a client notices that there are more servers,
  // and a certificate that was taken back does not live on. Zero: never.
  Duration max_connection_age = std::chrono::hours(1);
  Duration connection_age_grace = std::chrono::minutes(5);
  // Names of client certificates that may call anything here, health and reflection too; empty:
  // everybody whose certificate was verified.
  std::vector<std::string> allowed_clients;
  Metrics* metrics = nullptr;  // outlives the server; null: nothing is counted
  std::string metric_prefix =
      "autoscaler_";  // + grpc_refused_total, grpc_held_bytes, grpc_connections
};

// Whether `listen` may be served as asked: plaintext only on a Unix socket, or on loopback when
// `insecure`.
Status CheckListen(const ServerOptions& options);
Status CheckListen(const std::string& listen, bool tls, bool insecure);

class Server {
 public:
  // Listens and serves when it returns. `workers`, `clock` and `log` outlive the server.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, std::vector<Service> services,
                                               Workers& workers, const Clock& clock,
                                               const Log& log);
  ~Server();  // stops without grace if Stop() was not called
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;  // the port that was bound; 0 for a Unix socket

  // What the health service answers for "" and for every service. False until it is called.
  void SetServing(bool serving);

  // Health says NOT_SERVING, clients are told to go and no new calls are taken, those in progress
  // have `grace` to end and are then cancelled towards the client; handlers that are running are
  // always waited for. Blocks; once.
  void Stop(Duration grace);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace coppice::grpc
