// MultiClient: many exchanges at once on one thread of its own, with HTTP/2, for talking to one
// server a lot: streams that stay open for minutes beside short requests.
//
// An exchange is told on that thread what arrives; it must not block, and what it wants done
// elsewhere it posts there. Connections are kept, and shared by exchanges of the same identity
// (HTTP/2 carries all of them on one).
//
// A request that may have reached the server is never sent twice unless it is safe to repeat, as
// with HttpClient (http_client.h).

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "net/http_client.h"

namespace coppice::net {

// Who we are and whom we trust; PEM texts. Immutable once it is in use: connections are told apart
// by it, so a rotated certificate is a new object and gets new connections.
struct TlsIdentity {
  std::string ca_pem;    // empty: the system's authorities
  std::string cert_pem;  // of the client; empty: none
  Secret key_pem;
  std::string server_name;  // instead of the URL's host, for verification and SNI
  bool insecure = false;    // no verification at all; whoever sets it has been asked to
};

// One request and its answer as it arrives. Called on the client's thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Status and headers; the body is not there yet. False ends the exchange.
  virtual bool OnHead(const HttpResponse& head) = 0;
  virtual bool OnBody(std::string_view bytes) = 0;
  // Exactly once, last. OK: the answer is complete. Codes as of HttpClient::Send; kCancelled after
  // Cancel, or when the exchange itself said false.
  virtual void OnEnd(Status outcome) = 0;
};

struct MultiRequest {
  HttpRequest http;
  std::shared_ptr<const TlsIdentity> tls;
  Duration timeout = std::chrono::seconds(30);  // of the whole exchange; zero: none
  Duration max_silence = Duration::zero();      // without a byte; zero: none
  bool fresh_connection = false;                // the old one is suspected to be dead
};

struct MultiClientOptions {
  std::string user_agent = "coppice";
  // Unset: the environment's proxy variables count. "": no proxy.
  std::optional<std::string> proxy;
  Duration connect_timeout = std::chrono::seconds(10);
  // Sent bytes that nobody acknowledges for so long end the connection: a peer that vanished.
  Duration unacknowledged_timeout = std::chrono::seconds(20);
};

class MultiClient {
 public:
  static Result<std::unique_ptr<MultiClient>> Create(MultiClientOptions options);
  // Ends what is under way with kCancelled.
  virtual ~MultiClient() = default;

  // Any thread. The exchange is kept until its OnEnd. The number is for Cancel, never 0.
  virtual uint64_t Start(MultiRequest request, std::shared_ptr<Exchange> exchange) = 0;
  // Any thread; nothing happens if it is over.
  virtual void Cancel(uint64_t number) = 0;
};

}  // namespace coppice::net
