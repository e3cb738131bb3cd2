// The inside of Http2Session. What nghttp2 tells us is in http2_session.cc, what we make of it in
// http2_calls.cc; nobody else includes this.

#pragma once

#include <nghttp2/nghttp2.h>

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grpc/framing.h"
#include "grpc/http2_header.h"
#include "grpc/http2_session.h"
#include "grpc/outgoing.h"
#include "grpc/token_bucket.h"

namespace coppice::grpc {

struct Http2Session::State {
  enum class Encoding { kIdentity, kGzip, kUnknown };

  // One call. A message is its prefix, then its bytes.
  struct Stream final : StreamClient {
    Stream(State& s, int32_t number, uint32_t tick)
        : session(s), id(number), opened(tick), moved(tick) {}

    State& session;
    const int32_t id;
    const Route* route = nullptr;  // of every call that was not refused at once
    std::string path;              // until the headers are in
    std::optional<Duration> timeout;
    Deadline deadline;
    bool is_post = false;
    bool is_grpc = false;
    Encoding encoding = Encoding::kIdentity;
    size_t header_bytes = 0;
    std::string body;        // what has come and has not been handled
    size_t body_held = 0;    // of the server's load, for the body
    bool ended = false;      // the client has sent its last byte
    bool answered = false;   // headers are out: what the client still sends is not looked at
    bool cut = false;        // given up without an answer
    bool held_back = false;  // messages wait until the client has read
    const uint32_t opened;   // tick of its first header
    uint32_t moved;          // tick at which something of the answer was last taken
    // Set when the call waits on a worker.
    std::shared_ptr<std::atomic<bool>> given_up;

    std::unique_ptr<StreamHandler> handler;
    Outgoing out;
    size_t out_held = 0;        // of the server's load, for what is to be sent
    std::optional<Status> end;  // set: after the last message comes this

    void Send(std::string message) override;
    void Finish(Status status) override;
  };

  State(Parts p, SessionLimits l);
  ~State();

  Stream* Find(int32_t id) {
    const auto it = streams.find(id);
    return it == streams.end() ? nullptr : it->second.get();
  }

  // ---- http2_session.cc

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame*, void*);
  static int OnHeader(nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t,
                      const uint8_t* value, size_t, uint8_t, void*);
  static int OnFrame(nghttp2_session*, const nghttp2_frame*, void*);
  static int OnData(nghttp2_session*, uint8_t, int32_t, const uint8_t*, size_t, void*);
  static int OnSent(nghttp2_session*, const nghttp2_frame*, void*);
  static int OnClose(nghttp2_session*, int32_t, uint32_t, void*);
  static ssize_t OnRead(nghttp2_session*, int32_t, uint8_t*, size_t, uint32_t*,
                        nghttp2_data_source*, void*);
  static void SubmitTrailers(nghttp2_session*, const Stream&);
  int OnControl(const nghttp2_frame& frame);
  int Flood(std::string why);
  void OnGoAwaySent(const nghttp2_goaway& goaway);
  void LastGoAway();

  // ---- http2_calls.cc

  void Open(Stream& stream);
  void TakeBody(Stream& stream, std::string_view data);
  void TakeMessages(Stream& stream);
  void RequestComplete(Stream& stream);
  void Run(Stream& stream);
  Result<std::string> Inflate(const Stream& stream, std::string_view packed) const;
  void Respond(Stream& stream, grpc::Answer answer);
  void Refuse(Stream& stream, std::string_view http_status, const Status& status);
  void GiveUp(Stream& stream, const Status& status);
  void CutOff(Stream& stream, Refusal reason, std::string_view why);
  void SubmitHeaders(Stream& stream);
  void StartBody(Stream& stream);
  void GoOnWithHeldBack();
  void TickStream(Stream& stream);
  Status TooLarge(size_t length, size_t limit) const;
  Status Full() const;

  bool HoldBody(Stream& stream, size_t bytes);
  void ReleaseBody(Stream& stream, size_t bytes);
  void SettleOut(Stream& stream);  // after something was sent or dropped
  void Complain(Refusal reason, std::string_view why) const;

  const Routes& routes;
  const Caller& caller;
  const Clock& clock;
  ServerLoad& load;
  StartWaiting start_waiting;
  const SessionLimits limits;
  nghttp2_session* session = nullptr;
  std::unordered_map<int32_t, std::unique_ptr<Stream>> streams;
  std::vector<int32_t> held_back;
  size_t buffered = 0;  // request bytes of all streams
  uint32_t tick = 0;
  TokenBucket resets;
  TokenBucket controls;
  Status forbidden;     // not OK: so is every call
  Status ending;        // not OK: so end streams
  std::string problem;  // what was wrong with the client
  std::string said;     // with the GOAWAY that ended it
  enum class Leaving { kNo, kTold, kLast } leaving = Leaving::kNo;
  uint32_t told = 0;  // tick of the first GOAWAY
};

// What an open call costs us beside its bytes: nghttp2's stream, ours, and their places in tables.
inline constexpr size_t kCallBytes = 2UL << 10;

}  // namespace coppice::grpc
