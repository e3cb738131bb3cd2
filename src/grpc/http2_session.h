// One client's HTTP/2 connection without its socket: bytes in, calls out, answers in, bytes out.
// nghttp2 does the framing, header compression and flow control; this class knows what gRPC puts
// into them. Internal to this module.
//
// Lives on the server's thread. Having no socket, it can be fuzzed and tested with bytes alone.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "grpc/routes.h"

namespace coppice::grpc {

struct SessionLimits {
  size_t max_message_bytes = 64UL << 20;
  uint32_t max_streams = 1'000;
  size_t max_header_bytes = 16UL << 10;
};

class Http2Session {
 public:
  // A call of a method that waits: its answer comes through Answer() with the same stream.
  using StartWaiting = std::function<void(int32_t stream, const Route& route, std::string request,
                                          Deadline deadline)>;

  // All of it outlives the session.
  Http2Session(const Routes& routes, const Caller& caller, const Clock& clock,
               StartWaiting start_waiting, SessionLimits limits);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // What the client sent. Handlers that do not wait run in here. An error: the connection is beyond
  // repair; send what is pending and close.
  Status Receive(std::string_view bytes);
  // Appends what is to be sent next, up to about `limit` bytes; false when there was nothing.
  bool Pull(std::string& out, size_t limit);

  // Dropped when the client has given up the stream meanwhile.
  void Answer(int32_t stream, grpc::Answer answer);

  void Ping();  // the answer is just bytes received
  // Takes no more calls; those in progress go on, but for streams, which have no end of their own.
  void GoAway();
  size_t calls() const;
  // Both sides are done: close.
  bool done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coppice::grpc
