#include "grpc/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

namespace coppice::grpc {
namespace {

constexpr size_t kPrefix = 5;  // of a message: compressed or not, and its length
constexpr uint32_t kStreamWindow = 1U << 20;
constexpr int32_t kConnectionWindow = 16 << 20;
// A client refuses headers that are too long, and then the reason would be lost altogether.
constexpr size_t kMaxStatusText = 6'000;

nghttp2_nv Header(std::string_view name, std::string_view value, bool keep_value = true) {
  const uint8_t flags = NGHTTP2_NV_FLAG_NO_COPY_NAME |
                        (keep_value ? NGHTTP2_NV_FLAG_NO_COPY_VALUE : NGHTTP2_NV_FLAG_NONE);
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          flags};
}

std::string_view View(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// gRPC's way to put any text into a header.
std::string PercentEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text.substr(0, kMaxStatusText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  if (text.size() > kMaxStatusText) encoded += " ...";
  return encoded;
}

// "5S", "250m": up to eight digits and a unit. Absent when it is nothing of the kind.
std::optional<Duration> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  int64_t n = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stop != end || n < 0) return std::nullopt;
  switch (text.back()) {
    case 'H':
      return std::chrono::hours(std::min<int64_t>(n, 1'000'000));
    case 'M':
      return std::chrono::minutes(n);
    case 'S':
      return std::chrono::seconds(n);
    case 'm':
      return std::chrono::milliseconds(n);
    case 'u':
      return std::chrono::microseconds(n);
    case 'n':
      return std::chrono::nanoseconds(n);
    default:
      return std::nullopt;
  }
}

size_t LengthOf(std::string_view prefix) {
  size_t length = 0;
  for (size_t i = 1; i < kPrefix; ++i) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  return length;
}

void WritePrefix(char* out, size_t length) {
  out[0] = 0;
  for (size_t i = 1; i < kPrefix; ++i)
    out[i] = static_cast<char>(length >> (8 * (kPrefix - 1 - i)) & 0xff);
}

}  // namespace

struct Http2Session::State {
  // One call. A message is its prefix, then its bytes.
  struct Stream final : StreamClient {
    Stream(State& s, int32_t number) : session(s), id(number) {}

    State& session;
    const int32_t id;
    const Route* route = nullptr;
    std::string path;
    std::string timeout;
    bool is_post = false;
    bool is_grpc = false;
    size_t header_bytes = 0;
    std::string body;       // what has come and has not been handled
    bool answered = false;  // headers are out: what the client still sends is not looked at

    std::unique_ptr<StreamHandler> handler;
    char prefix[kPrefix] = {};
    Bytes sending;
    size_t sent = 0;  // of prefix and bytes
    bool has_message = false;
    std::deque<std::string> more;
    std::optional<Status> end;  // set: after the last message comes this

    void Send(std::string message) override {
      if (end) return;
      more.push_back(std::move(message));
      session.StartBody(*this);
    }
    void Finish(Status status) override {
      if (end) return;
      end = std::move(status);
      session.StartBody(*this);
    }
    void Load(Bytes bytes) {
      sending = std::move(bytes);
      WritePrefix(prefix, sending.view().size());
      sent = 0;
      has_message = true;
    }
  };

  const Routes& routes;
  const Caller& caller;
  const Clock& clock;
  StartWaiting start_waiting;
  SessionLimits limits;
  nghttp2_session* session = nullptr;
  std::unordered_map<int32_t, std::unique_ptr<Stream>> streams;
  size_t buffered = 0;  // request bytes of all streams

  State(const Routes& r, const Caller& c, const Clock& k, StartWaiting s, SessionLimits l)
      : routes(r), caller(c), clock(k), start_waiting(std::move(s)), limits(l) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnClose);
    nghttp2_session_server_new(&session, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits.max_header_bytes)}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  }
  ~State() {
    streams.clear();
    nghttp2_session_del(session);
  }

  Stream* Find(int32_t id) {
    const auto it = streams.find(id);
    return it == streams.end() ? nullptr : it->second.get();
  }

  // ---- What nghttp2 tells us

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    auto& state = *static_cast<State*>(self);
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const int32_t id = frame->hd.stream_id;
    auto stream = std::make_unique<Stream>(state, id);
    nghttp2_session_set_stream_user_data(state.session, id, stream.get());
    state.streams.emplace(id, std::move(stream));
    return 0;
  }

  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self) {
    auto& state = *static_cast<State*>(self);
    auto* stream =
        static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    stream->header_bytes += name_size + value_size + 32;
    if (stream->header_bytes > state.limits.max_header_bytes)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string_view key = View(name, name_size);
    const std::string_view text = View(value, value_size);
    if (key == ":path") {
      stream->path = text;
    } else if (key == ":method") {
      stream->is_post = text == "POST";
    } else if (key == "content-type") {
      stream->is_grpc = text.rfind("application/grpc", 0) == 0;
    } else if (key == "grpc-timeout") {
      stream->timeout = text;
    }
    return 0;
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    auto& state = *static_cast<State*>(self);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    auto* stream =
        static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
    if (stream == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      state.Open(*stream);
    const bool listens = !stream->answered || stream->handler != nullptr;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && listens) state.RequestComplete(*stream);
    return 0;
  }

  static int OnData(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data, size_t size,
                    void* self) {
    auto& state = *static_cast<State*>(self);
    auto* stream = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
    if (stream != nullptr && (!stream->answered || stream->handler != nullptr))
      state.TakeBody(*stream, View(data, size));
    return 0;
  }

  static int OnClose(nghttp2_session* session, int32_t id, uint32_t, void* self) {
    auto& state = *static_cast<State*>(self);
    nghttp2_session_set_stream_user_data(session, id, nullptr);
    const auto it = state.streams.find(id);
    if (it == state.streams.end()) return 0;
    state.buffered -= it->second->body.size();
    state.streams.erase(it);
    return 0;
  }

  static ssize_t OnRead(nghttp2_session* session, int32_t, uint8_t* out, size_t size,
                        uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& stream = *static_cast<Stream*>(source->ptr);
    size_t written = 0;
    while (written < size) {
      if (!stream.has_message) {
        if (stream.more.empty()) break;
        stream.Load(std::move(stream.more.front()));
        stream.more.pop_front();
      }
      const std::string_view bytes = stream.sending.view();
      while (stream.sent < kPrefix && written < size)
        out[written++] = static_cast<uint8_t>(stream.prefix[stream.sent++]);
      if (stream.sent < kPrefix) break;
      const size_t from = stream.sent - kPrefix;
      const size_t n = std::min(bytes.size() - from, size - written);
      if (n > 0) std::memcpy(out + written, bytes.data() + from, n);
      written += n;
      stream.sent += n;
      if (stream.sent < kPrefix + bytes.size()) break;
      stream.has_message = false;
      stream.sending = Bytes();
    }
    if (!stream.has_message && stream.more.empty()) {
      if (!stream.end) {
        return written > 0 ? static_cast<ssize_t>(written) : ssize_t{NGHTTP2_ERR_DEFERRED};
      }
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      SubmitTrailers(session, stream);
    }
    return static_cast<ssize_t>(written);
  }

  static void SubmitTrailers(nghttp2_session* session, const Stream& stream) {
    const std::string code = std::to_string(static_cast<int>(stream.end->code()));
    const std::string text = PercentEncode(stream.end->message());
    const nghttp2_nv trailers[] = {Header("grpc-status", code, false),
                                   Header("grpc-message", text, false)};
    nghttp2_submit_trailer(session, stream.id, trailers, text.empty() ? 1 : 2);
  }

  // ---- What we make of it

  void Open(Stream& stream) {
    if (!stream.is_post || !stream.is_grpc)
      return Refuse(stream, stream.is_post ? "415" : "405",
                    InvalidArgument("this is a gRPC server: POST with content-type "
                                    "application/grpc"));
    stream.route = routes.Find(stream.path);
    if (stream.route == nullptr)
      return Refuse(stream, "200", Unimplemented("no method " + stream.path + " here"));
    if (stream.route->stream) stream.handler = stream.route->stream(stream);
  }

  void TakeBody(Stream& stream, std::string_view data) {
    stream.body += data;
    buffered += data.size();
    // Many streams, each below its limit, may still be more than we want to hold.
    if (buffered > 2 * limits.max_message_bytes + (1UL << 20)) {
      return GiveUp(stream, ResourceExhausted("too many unfinished requests on one connection"));
    }
    if (stream.handler != nullptr) return TakeMessages(stream);
    if (stream.body.size() < kPrefix) return;
    const size_t length = LengthOf(stream.body);
    if (length > limits.max_message_bytes) return GiveUp(stream, TooLarge(length));
    if (stream.body.size() > kPrefix + length)
      return GiveUp(stream, Internal("more than one message in a unary call"));
  }

  void TakeMessages(Stream& stream) {
    size_t at = 0;
    while (stream.body.size() - at >= kPrefix) {
      const std::string_view rest = std::string_view(stream.body).substr(at);
      const size_t length = LengthOf(rest);
      if (length > limits.max_message_bytes) return GiveUp(stream, TooLarge(length));
      if (rest[0] != 0) return GiveUp(stream, Compressed());
      if (rest.size() < kPrefix + length) break;
      stream.handler->OnMessage(rest.substr(kPrefix, length));
      if (stream.end) return;
      at += kPrefix + length;
    }
    stream.body.erase(0, at);
    buffered -= at;
  }

  Status TooLarge(size_t length) const {
    return ResourceExhausted("a message of " + std::to_string(length) +
                             " bytes is larger than the limit of " +
                             std::to_string(limits.max_message_bytes));
  }
  static Status Compressed() {
    return Unimplemented("compressed messages are not taken; send them as they are");
  }

  void RequestComplete(Stream& stream) {
    if (stream.handler != nullptr) {
      if (!stream.end) stream.handler->OnEnd();
      return;
    }
    if (stream.body.size() < kPrefix || stream.body.size() != kPrefix + LengthOf(stream.body))
      return Respond(stream, Internal("the request ended before its message"));
    if (stream.body[0] != 0) return Respond(stream, Compressed());
    const auto timeout = ParseTimeout(stream.timeout);
    const Deadline deadline = timeout ? Deadline::In(clock, *timeout) : Deadline::Never();
    if (stream.route->waits) {
      stream.body.erase(0, kPrefix);
      buffered -= kPrefix + stream.body.size();
      stream.answered = true;  // nothing more is expected from the client
      return start_waiting(stream.id, *stream.route, std::move(stream.body), deadline);
    }
    Respond(stream, stream.route->unary({.method = stream.route->path,
                                         .request = std::string_view(stream.body).substr(kPrefix),
                                         .deadline = deadline,
                                         .caller = &caller}));
  }

  void Respond(Stream& stream, grpc::Answer answer) {
    stream.answered = true;
    if (!answer.status.ok()) return Refuse(stream, "200", std::move(answer.status));
    stream.Load(std::move(answer.bytes));
    stream.end = Status::Ok();
    SubmitHeaders(stream);
  }

  // Headers and trailers in one: there is no message.
  void Refuse(Stream& stream, std::string_view http_status, Status status) {
    stream.answered = true;
    stream.end = status;
    const std::string code = std::to_string(static_cast<int>(status.code()));
    const std::string text = PercentEncode(status.message());
    const nghttp2_nv headers[] = {
        Header(":status", http_status), Header("content-type", "application/grpc"),
        Header("grpc-status", code, false), Header("grpc-message", text, false)};
    nghttp2_submit_response(session, stream.id, headers, text.empty() ? 3 : 4, nullptr);
  }

  // An answer before the request is over; what still comes is not read.
  void GiveUp(Stream& stream, Status status) {
    buffered -= stream.body.size();
    stream.body = {};
    if (stream.handler != nullptr && stream.answered) {
      stream.Finish(std::move(status));
    } else {
      Refuse(stream, "200", std::move(status));
    }
    stream.handler = nullptr;
  }

  void SubmitHeaders(Stream& stream) {
    static const nghttp2_nv kHeaders[] = {Header(":status", "200"),
                                          Header("content-type", "application/grpc")};
    const nghttp2_data_provider provider{.source = {.ptr = &stream}, .read_callback = &OnRead};
    nghttp2_submit_response(session, stream.id, kHeaders, std::size(kHeaders), &provider);
  }

  void StartBody(Stream& stream) {
    if (!stream.answered) {
      stream.answered = true;
      return SubmitHeaders(stream);
    }
    nghttp2_session_resume_data(session, stream.id);
  }
};

Http2Session::Http2Session(const Routes& routes, const Caller& caller, const Clock& clock,
                           StartWaiting start_waiting, SessionLimits limits)
    : state_(std::make_unique<State>(routes, caller, clock, std::move(start_waiting), limits)) {}
Http2Session::~Http2Session() = default;

Status Http2Session::Receive(std::string_view bytes) {
  const ssize_t read = nghttp2_session_mem_recv(
      state_->session, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (read >= 0) return Status::Ok();
  return InvalidArgument(std::string("not HTTP/2: ") + nghttp2_strerror(static_cast<int>(read)));
}

bool Http2Session::Pull(std::string& out, size_t limit) {
  const size_t before = out.size();
  while (out.size() - before < limit) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(state_->session, &data);
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  return out.size() > before;
}

void Http2Session::Answer(int32_t stream, grpc::Answer answer) {
  if (State::Stream* found = state_->Find(stream)) state_->Respond(*found, std::move(answer));
}

void Http2Session::Ping() { nghttp2_submit_ping(state_->session, NGHTTP2_FLAG_NONE, nullptr); }

void Http2Session::GoAway() {
  nghttp2_submit_goaway(state_->session, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(state_->session), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  for (const auto& [id, stream] : state_->streams) {
    if (stream->handler != nullptr) stream->Finish(Unavailable("the server stops"));
  }
}

size_t Http2Session::calls() const { return state_->streams.size(); }

bool Http2Session::done() const {
  return nghttp2_session_want_read(state_->session) == 0 &&
         nghttp2_session_want_write(state_->session) == 0;
}

}  // namespace coppice::grpc
