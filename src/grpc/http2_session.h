// One client's HTTP/2 connection without its socket: bytes in, calls out, answers in, bytes out.
// nghttp2 does the framing, header compression and flow control; this class knows what gRPC puts
// into them, and how much of anything a client may ask for. Internal to this module.
//
// Lives on the server's thread. Having no socket, it can be fuzzed and tested with bytes alone.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "grpc/routes.h"
#include "grpc/server_load.h"

namespace coppice::grpc {

struct SessionLimits {
  size_t max_message_bytes = 64UL << 20;
  uint32_t max_streams = 1'000;
  size_t max_header_bytes = 16UL << 10;
  // Answers of one stream that its client has not taken: then no further request of it is looked
  // at.
  size_t max_queued_bytes = 256UL << 10;
};

// A call of a method that waits: its answer comes through Answer() with the same stream.
struct WaitingCall {
  int32_t stream = 0;
  const Route& route;
  std::string request;
  Deadline deadline;
  // Set from the server's thread when the client has given the call up.
  std::shared_ptr<const std::atomic<bool>> given_up;
  // Of the server's load: to be returned when the request is not needed any more.
  size_t held = 0;
};

class Http2Session {
 public:
  using StartWaiting = std::function<void(WaitingCall call)>;

  // All of it outlives the session.
  struct Parts {
    const Routes& routes;
    const Caller& caller;
    const Clock& clock;
    ServerLoad& load;
    StartWaiting start_waiting;
  };

  Http2Session(Parts parts, SessionLimits limits);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // Every call is answered with `why`, before anything of it is kept.
  void Forbid(Status why);

  // What the client sent. Handlers that do not wait run in here. An error: the connection is beyond
  // repair; send what is pending and close.
  Status Receive(std::string_view bytes);
  // Appends what is to be sent next, up to about `limit` bytes; false when there was nothing.
  bool Pull(std::string& out, size_t limit);

  // Dropped when the client has given up the stream meanwhile.
  void Answer(int32_t stream, grpc::Answer answer);

  // About once a second: gives up requests that do not come to their end and answers that nobody
  // takes.
  void Tick();

  void Ping();  // the answer is just bytes received
  // Takes no more calls, in two steps: the client is told first, and what it sent before it knew is
  // still served. Calls in progress go on.
  void GoAway();
  // Streams have no end of their own: they get this one, and new ones too.
  void EndStreams(const Status& why);
  // The second step is still to come.
  bool going_away() const;
  size_t calls() const;
  // Both sides are done: close.
  bool done() const;
  // Why nghttp2 has ended it; empty: it has not, or nothing was wrong.
  const std::string& complaint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coppice::grpc
