// What an HTTP/2 session makes of what nghttp2 tells it: calls, their limits and their answers.

#include "grpc/gzip.h"
#include "grpc/http2_state.h"

namespace coppice::grpc {
namespace {

// Ticks, which are seconds, that a request may take to arrive, and that an answer may wait for a
// client that takes nothing of it.
constexpr uint32_t kRequestTicks = 60;
constexpr uint32_t kAnswerTicks = 60;

// Requests on streams (health, reflection) are names.
constexpr size_t kMaxStreamMessage = 64UL << 10;
constexpr size_t kMaxStreamBacklog = 256UL << 10;

constexpr std::string_view kAcceptEncoding = "grpc-accept-encoding";
constexpr std::string_view kEncodings = "identity,gzip";

}  // namespace

void Http2Session::State::Stream::Send(std::string message) {
  if (end || cut) return;
  if (out.bytes() > session.limits.max_queued_bytes) {
    return session.CutOff(*this, Refusal::kNotReading, "it does not read what it asked for");
  }
  if (out.empty()) moved = session.tick;
  const size_t before = out.bytes();
  out.Queue(std::move(message));
  if (!session.load.Take(out.bytes() - before)) {
    return session.CutOff(*this, Refusal::kBytes, "no room for another message of a stream");
  }
  out_held += out.bytes() - before;
  session.StartBody(*this);
}

void Http2Session::State::Stream::Finish(Status status) {
  if (end || cut) return;
  end = std::move(status);
  session.StartBody(*this);
}

void Http2Session::State::Complain(Refusal reason, std::string_view why) const {
  load.Refuse(reason, Describe(&caller), why);
}

bool Http2Session::State::HoldBody(Stream& stream, size_t bytes) {
  // Many streams, each below its limit, may still be more than one client should have.
  if (buffered + bytes > 2 * limits.max_message_bytes + (1UL << 20) || !load.Take(bytes))
    return false;
  buffered += bytes;
  stream.body_held += bytes;
  return true;
}

void Http2Session::State::ReleaseBody(Stream& stream, size_t bytes) {
  buffered -= bytes;
  stream.body_held -= bytes;
  load.Return(bytes);
}

void Http2Session::State::SettleOut(Stream& stream) {
  if (stream.out.bytes() >= stream.out_held) return;
  load.Return(stream.out_held - stream.out.bytes());
  stream.out_held = stream.out.bytes();
}

void Http2Session::State::Open(Stream& stream) {
  // Not kept: a thousand open calls would hold their paths beside what they are charged for.
  const std::string path = std::exchange(stream.path, {});
  if (!forbidden.ok()) {
    Complain(Refusal::kNotAllowed, path);
    return Refuse(stream, "200", forbidden);
  }
  if (!stream.is_post || !stream.is_grpc)
    return Refuse(stream, stream.is_post ? "415" : "405",
                  InvalidArgument("this is a gRPC server: POST with content-type "
                                  "application/grpc"));
  stream.route = routes.Find(path);
  if (stream.route == nullptr)
    return Refuse(stream, "200", Unimplemented("no method " + path + " here"));
  if (stream.encoding == Encoding::kUnknown)
    return Refuse(stream, "200",
                  Unimplemented("messages are taken as they are or with gzip, and with no other "
                                "grpc-encoding"));
  if (stream.timeout) stream.deadline = Deadline::In(clock, *stream.timeout);
  if (!stream.route->stream) return;
  if (!ending.ok()) return Refuse(stream, "200", ending);
  stream.handler = stream.route->stream(stream);
}

void Http2Session::State::TakeBody(Stream& stream, std::string_view data) {
  if (!HoldBody(stream, data.size())) {
    Complain(Refusal::kBytes, stream.route->path);
    return GiveUp(stream, Full());
  }
  stream.body += data;
  if (stream.handler != nullptr) return TakeMessages(stream);
  if (stream.body.size() < kPrefix) return;
  const size_t length = LengthOf(stream.body);
  if (length > limits.max_message_bytes)
    return GiveUp(stream, TooLarge(length, limits.max_message_bytes));
  if (stream.body.size() > kPrefix + length)
    return GiveUp(stream, Internal("more than one message in a unary call"));
}

void Http2Session::State::TakeMessages(Stream& stream) {
  size_t at = 0;
  while (!stream.end && !stream.cut && stream.body.size() - at >= kPrefix) {
    if (stream.out.bytes() > limits.max_queued_bytes) {
      if (!stream.held_back) held_back.push_back(stream.id);
      stream.held_back = true;
      break;
    }
    const std::string_view rest = std::string_view(stream.body).substr(at);
    const size_t length = LengthOf(rest);
    if (length > kMaxStreamMessage) return GiveUp(stream, TooLarge(length, kMaxStreamMessage));
    if (rest.size() < kPrefix + length) break;
    at += kPrefix + length;
    if (rest[0] == 0) {
      stream.handler->OnMessage(rest.substr(kPrefix, length));
      continue;
    }
    const auto message = Inflate(stream, rest.substr(0, kPrefix + length));
    if (!message.ok()) return GiveUp(stream, message.status());
    stream.handler->OnMessage(*message);
  }
  if (stream.cut) return;
  stream.body.erase(0, at);
  ReleaseBody(stream, at);
  if (stream.body.size() > kMaxStreamBacklog)
    return CutOff(stream, Refusal::kNotReading, "it asks faster than it reads");
  if (!stream.ended || stream.held_back || stream.end) return;
  if (!stream.body.empty()) return GiveUp(stream, Internal("the request ended before its message"));
  stream.handler->OnEnd();
}

// Streams whose client has read meanwhile.
void Http2Session::State::GoOnWithHeldBack() {
  for (const int32_t id : std::exchange(held_back, {})) {
    Stream* stream = Find(id);
    if (stream == nullptr || stream->cut || stream->handler == nullptr) continue;
    stream->held_back = false;
    TakeMessages(*stream);
  }
}

Status Http2Session::State::TooLarge(size_t length, size_t limit) const {
  const Status status =
      ResourceExhausted("a message of " + std::to_string(length) +
                        " bytes is larger than the limit of " + std::to_string(limit));
  Complain(Refusal::kTooLarge, status.message());
  return status;
}

Status Http2Session::State::Full() const {
  return ResourceExhausted("too many unfinished requests: at most " +
                           std::to_string(2 * limits.max_message_bytes + (1UL << 20)) +
                           " bytes of one connection are kept and " +
                           std::to_string(load.max_bytes()) + " of all; try again");
}

// The message of a packed one, prefix included. The flag without an encoding is a mistake of the
// client and not something that we lack.
Result<std::string> Http2Session::State::Inflate(const Stream& stream,
                                                 std::string_view packed) const {
  if (packed[0] != 1) return Internal("a message starts with a byte that is neither 0 nor 1");
  if (stream.encoding != Encoding::kGzip)
    return Internal("a message is flagged as compressed, but the call has no grpc-encoding");
  auto message = Gunzip(packed.substr(kPrefix), std::min(limits.max_message_bytes, load.left()));
  if (message.code() == Code::kResourceExhausted) {
    const bool full = load.left() < limits.max_message_bytes;
    Complain(full ? Refusal::kBytes : Refusal::kTooLarge, message.status().message());
  }
  return message;
}

void Http2Session::State::RequestComplete(Stream& stream) {
  stream.ended = true;
  if (stream.cut) return;
  if (stream.handler != nullptr) return TakeMessages(stream);
  if (stream.body.size() < kPrefix || stream.body.size() != kPrefix + LengthOf(stream.body))
    return Respond(stream, Internal("the request ended before its message"));
  if (stream.deadline.at != TimePoint::max() && stream.deadline.Passed(clock)) {
    Complain(Refusal::kExpired, stream.route->path);
    return Respond(stream, DeadlineExceeded("the deadline passed while the request was sent"));
  }
  Run(stream);
}

void Http2Session::State::Run(Stream& stream) {
  const bool packed = stream.body[0] != 0;
  if (packed) {
    auto message = Inflate(stream, stream.body);
    if (!message.ok()) return Respond(stream, message.status());
    ReleaseBody(stream, stream.body_held);
    stream.body = *std::move(message);
    if (!HoldBody(stream, stream.body.size())) return Respond(stream, Full());
  }
  if (!stream.route->waits) {
    const std::string_view message = stream.body;
    grpc::Answer answer =
        stream.route->unary({.method = stream.route->path,
                             .request = packed ? message : message.substr(kPrefix),
                             .deadline = stream.deadline,
                             .caller = &caller});
    ReleaseBody(stream, stream.body_held);
    stream.body = {};
    return Respond(stream, std::move(answer));
  }
  if (!packed) stream.body.erase(0, kPrefix);
  stream.answered = true;  // nothing more is expected from the client
  stream.given_up = std::make_shared<std::atomic<bool>>(false);
  buffered -= stream.body_held;
  start_waiting({.stream = stream.id,
                 .route = *stream.route,
                 .request = std::move(stream.body),
                 .deadline = stream.deadline,
                 .given_up = stream.given_up,
                 .held = std::exchange(stream.body_held, 0)});
}

void Http2Session::State::Respond(Stream& stream, grpc::Answer answer) {
  stream.answered = true;
  stream.given_up = nullptr;
  if (!answer.status.ok()) return Refuse(stream, "200", answer.status);
  const size_t cost = Outgoing::CostOf(answer.bytes);
  if (!load.Take(cost)) {
    Complain(Refusal::kBytes, stream.route->path);
    return Refuse(stream, "200",
                  ResourceExhausted("too many answers wait to be read: at most " +
                                    std::to_string(load.max_bytes()) + " bytes; try again"));
  }
  stream.out_held += cost;
  stream.out.Load(std::move(answer.bytes));
  stream.moved = tick;
  stream.end = Status::Ok();
  SubmitHeaders(stream);
}

// Headers and trailers in one: there is no message.
void Http2Session::State::Refuse(Stream& stream, std::string_view http_status,
                                 const Status& status) {
  stream.answered = true;
  stream.end = status;
  const std::string code = std::to_string(static_cast<int>(status.code()));
  const std::string text = PercentEncode(status.message());
  const nghttp2_nv headers[] = {
      Header(":status", http_status), Header("content-type", "application/grpc"),
      Header(kAcceptEncoding, kEncodings), Header("grpc-status", code, false),
      Header("grpc-message", text, false)};
  nghttp2_submit_response(session, stream.id, headers, text.empty() ? 4 : 5, nullptr);
}

// An answer before the request is over; what still comes is not read.
void Http2Session::State::GiveUp(Stream& stream, const Status& status) {
  ReleaseBody(stream, stream.body_held);
  stream.body = {};
  if (stream.handler != nullptr && stream.answered) {
    stream.Finish(status);
  } else {
    Refuse(stream, "200", status);
  }
  stream.handler = nullptr;
}

// An answer would wait behind what the client does not take. The handler stays until the stream is
// closed: it may be the one that called.
void Http2Session::State::CutOff(Stream& stream, Refusal reason, std::string_view why) {
  if (stream.cut) return;
  stream.cut = true;
  Complain(reason, stream.route->path + ": " + std::string(why));
  stream.out.Clear();
  SettleOut(stream);
  ReleaseBody(stream, stream.body_held);
  nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2Session::State::TickStream(Stream& stream) {
  if (stream.cut || stream.route == nullptr) return;  // refused, or its headers are still coming
  if (!stream.answered && stream.handler == nullptr && tick - stream.opened > kRequestTicks) {
    Complain(Refusal::kSlowRequest, stream.route->path);
    return GiveUp(stream, DeadlineExceeded("the request was not complete within " +
                                           std::to_string(kRequestTicks) + " s"));
  }
  if (!stream.out.empty() && tick - stream.moved > kAnswerTicks)
    CutOff(stream, Refusal::kNotReading,
           "nothing of the answer was taken for " + std::to_string(kAnswerTicks) + " s");
}

void Http2Session::State::SubmitHeaders(Stream& stream) {
  static const nghttp2_nv kHeaders[] = {Header(":status", "200"),
                                        Header("content-type", "application/grpc"),
                                        Header(kAcceptEncoding, kEncodings)};
  const nghttp2_data_provider provider{.source = {.ptr = &stream}, .read_callback = &OnRead};
  nghttp2_submit_response(session, stream.id, kHeaders, std::size(kHeaders), &provider);
}

void Http2Session::State::StartBody(Stream& stream) {
  if (!stream.answered) {
    stream.answered = true;
    return SubmitHeaders(stream);
  }
  nghttp2_session_resume_data(session, stream.id);
}

}  // namespace coppice::grpc
