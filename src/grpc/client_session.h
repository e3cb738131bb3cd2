// The client's HTTP/2 connection without its socket: calls in, bytes out; bytes in, answers out.
// nghttp2 does the framing, header compression and flow control; this class knows what gRPC puts
// into them. Internal to this module.
//
// One thread. Having no socket, it can be fuzzed and tested with bytes alone.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::grpc {

struct CallEnd {
  Result<std::string> answer;
  // The server has not begun with it, so that it may be asked again on another connection.
  bool untouched = false;
};

struct ClientCall {
  std::string method;                // "/package.Service/Method"
  std::string request;               // serialised
  std::optional<Duration> timeout;   // as the server is told
  std::function<void(CallEnd)> end;  // once, and never out of Start() or Cancel()
};

class ClientSession {
 public:
  struct Options {
    std::string authority;  // whom the server is to take itself for
    bool tls = false;
    size_t max_message_bytes = 64UL << 20;
  };
  explicit ClientSession(const Options& options);
  ~ClientSession();  // calls in progress get no end
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  // The number of the call, for Cancel(). An error: this connection takes no further calls.
  Result<int32_t> Start(ClientCall call);
  // Nobody waits for its end any more.
  void Cancel(int32_t call);

  // What the server sent. An error: the connection is beyond repair.
  Status Receive(std::string_view bytes);
  // Appends what is to be sent next, up to about `limit` bytes; false when there was nothing.
  bool Pull(std::string& out, size_t limit);
  void Ping();  // the answer is just bytes received

  // The connection is gone, and with it every call.
  void End(const Status& why);

  // False: the server is going away, or all numbers are used.
  bool takes_calls() const;
  size_t calls() const;
  // Both sides are done: close.
  bool done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coppice::grpc
