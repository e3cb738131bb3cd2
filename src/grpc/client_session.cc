#include "grpc/client_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grpc/framing.h"
#include "grpc/gzip.h"
#include "grpc/http2_header.h"

namespace coppice::grpc {
namespace {

constexpr uint32_t kAnswerWindow = 4U << 20;
constexpr int32_t kAnswersWindow = 16 << 20;
constexpr uint32_t kMostAnswerHeaderBytes = 64U << 10;
constexpr size_t kMostAnswerAcks = 100;

// What gRPC makes of an HTTP answer that is none of its own: a proxy's, say.
Code CodeOfHttp(int status) {
  switch (status) {
    case 400:
      return Code::kInternal;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return Code::kUnavailable;
    default:
      return Code::kUnknown;
  }
}

// And of a stream that was reset.
Code CodeOfReset(uint32_t error) {
  switch (error) {
    case NGHTTP2_REFUSED_STREAM:
      return Code::kUnavailable;
    case NGHTTP2_CANCEL:
      return Code::kCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return Code::kResourceExhausted;
    case NGHTTP2_INADEQUATE_SECURITY:
      return Code::kPermissionDenied;
    default:
      return Code::kInternal;
  }
}

std::optional<int> NumberIn(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace

struct ClientSession::State {
  struct Stream {
    ClientCall call;
    char prefix[kPrefix] = {};
    size_t sent = 0;     // of prefix and request
    bool begun = false;  // its headers are out: the server may have seen it
    size_t header_bytes = 0;
    int http_status = 0;
    std::string type;         // content-type
    std::optional<int> code;  // grpc-status
    std::string text;         // grpc-message
    std::string encoding;
    std::string body;  // the first message, prefix first; what follows it is dropped

    // Else its bytes are somebody's page, and no messages.
    bool is_grpc() const { return http_status == 200 && type.starts_with("application/grpc"); }
    bool all_sent() const { return sent == kPrefix + call.request.size(); }
  };

  explicit State(const Options& o);
  ~State() { nghttp2_session_del(session); }

  Stream* Find(int32_t id) {
    const auto it = streams.find(id);
    return it == streams.end() ? nullptr : it->second.get();
  }
  void Finish(int32_t id, CallEnd end);
  // Ends the call before the server is through with it.
  void CutOff(int32_t id, const Status& why, uint32_t error);
  void TakeHeader(Stream& stream, std::string_view name, std::string_view value) const;
  Result<std::string> AnswerOf(Stream& stream) const;

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self);
  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                    void* self);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnSent(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int error, void* self);
  static int OnClose(nghttp2_session*, int32_t id, uint32_t error, void* self);
  static ssize_t OnRead(nghttp2_session*, int32_t id, uint8_t* out, size_t size, uint32_t* flags,
                        nghttp2_data_source*, void* self);

  const Options options;
  nghttp2_session* session = nullptr;
  std::unordered_map<int32_t, std::unique_ptr<Stream>> streams;
};

ClientSession::State::State(const Options& o) : options(o) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &OnSent);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, &OnNotSent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnClose);
  nghttp2_option* limits = nullptr;
  nghttp2_option_new(&limits);
  nghttp2_option_set_max_outbound_ack(limits, kMostAnswerAcks);
  nghttp2_session_client_new2(&session, callbacks, this, limits);
  nghttp2_option_del(limits);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kAnswerWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostAnswerHeaderBytes}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kAnswersWindow);
}

void ClientSession::State::Finish(int32_t id, CallEnd end) {
  const auto it = streams.find(id);
  if (it == streams.end()) return;
  const auto told = std::move(it->second->call.end);
  streams.erase(it);
  told(std::move(end));
}

void ClientSession::State::CutOff(int32_t id, const Status& why, uint32_t error) {
  nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, error);
  Finish(id, {why});
}

void ClientSession::State::TakeHeader(Stream& stream, std::string_view name,
                                      std::string_view value) const {
  if (name == ":status") {
    stream.http_status = NumberIn(value).value_or(0);
  } else if (name == "content-type") {
    stream.type = value;
  } else if (name == "grpc-status") {
    constexpr int kLast = static_cast<int>(Code::kUnauthenticated);
    const int code = NumberIn(value).value_or(-1);
    stream.code = code >= 0 && code <= kLast ? code : static_cast<int>(Code::kUnknown);
  } else if (name == "grpc-message") {
    stream.text = PercentDecode(value);
  } else if (name == "grpc-encoding") {
    stream.encoding = value;
  }
}

int ClientSession::State::OnHeader(nghttp2_session*, const nghttp2_frame* frame,
                                   const uint8_t* name, size_t name_size, const uint8_t* value,
                                   size_t value_size, uint8_t, void* self) {
  auto& state = *static_cast<State*>(self);
  Stream* const stream = state.Find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  stream->header_bytes += name_size + value_size;
  if (stream->header_bytes > kMostAnswerHeaderBytes) {
    state.CutOff(frame->hd.stream_id, ResourceExhausted("the answer's headers are too large"),
                 NGHTTP2_CANCEL);
    return 0;
  }
  state.TakeHeader(*stream, {reinterpret_cast<const char*>(name), name_size},
                   {reinterpret_cast<const char*>(value), value_size});
  return 0;
}

int ClientSession::State::OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data,
                                 size_t size, void* self) {
  auto& state = *static_cast<State*>(self);
  Stream* const stream = state.Find(id);
  if (stream == nullptr || !stream->is_grpc()) return 0;
  std::string& body = stream->body;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (body.size() < kPrefix) {
    const std::string_view head = rest.substr(0, kPrefix - body.size());
    body.append(head);
    rest.remove_prefix(head.size());
    if (body.size() < kPrefix) return 0;
  }
  const size_t length = LengthOf(body);
  const size_t most = state.options.max_message_bytes;
  if (length > most) {
    // The library's words, which other programs of this world look for.
    state.CutOff(id,
                 ResourceExhausted("Received message larger than max (" + std::to_string(length) +
                                   " vs. " + std::to_string(most) + ")"),
                 NGHTTP2_CANCEL);
    return 0;
  }
  body.append(rest.substr(0, kPrefix + length - body.size()));
  return 0;
}

Result<std::string> ClientSession::State::AnswerOf(Stream& stream) const {
  if (!stream.code) {
    if (stream.http_status != 200)
      return Status(
          CodeOfHttp(stream.http_status),
          "HTTP status " + std::to_string(stream.http_status) + ", and no answer of a gRPC server");
    return Status(Code::kUnknown, "the answer has no grpc-status");
  }
  if (*stream.code != 0) return Status(static_cast<Code>(*stream.code), stream.text);
  if (!stream.is_grpc())
    return Status(Code::kUnknown, "the answer is '" + stream.type + "', and not application/grpc");
  if (stream.body.empty()) return Unimplemented("the answer has no message");
  if (stream.body.size() < kPrefix || stream.body.size() - kPrefix < LengthOf(stream.body))
    return Internal("the answer ends in the middle of a message");
  const bool packed = stream.body[0] != 0;
  stream.body.erase(0, kPrefix);
  if (!packed) return std::move(stream.body);
  if (stream.encoding != "gzip")
    return Internal("the answer is compressed as '" + stream.encoding + "', which was not offered");
  return Gunzip(stream.body, options.max_message_bytes);
}

int ClientSession::State::OnFrame(nghttp2_session* session, const nghttp2_frame* frame,
                                  void* self) {
  auto& state = *static_cast<State*>(self);
  const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (!may_end || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  const int32_t id = frame->hd.stream_id;
  Stream* const stream = state.Find(id);
  if (stream == nullptr) return 0;
  // An answer that does not wait for the whole question: the rest of it is for nobody.
  if (!stream->all_sent())
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
  state.Finish(id, {state.AnswerOf(*stream)});
  return 0;
}

int ClientSession::State::OnSent(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  Stream* const stream = static_cast<State*>(self)->Find(frame->hd.stream_id);
  if (stream != nullptr) stream->begun = true;
  return 0;
}

int ClientSession::State::OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int error,
                                    void* self) {
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  static_cast<State*>(self)->Finish(frame->hd.stream_id,
                                    {Unavailable(nghttp2_strerror(error)), true});
  return 0;
}

int ClientSession::State::OnClose(nghttp2_session*, int32_t id, uint32_t error, void* self) {
  auto& state = *static_cast<State*>(self);
  const Stream* const stream = state.Find(id);
  if (stream == nullptr) return 0;
  // Refused, or beyond what a server that goes away has said to be its last: not begun.
  const bool untouched = error == NGHTTP2_REFUSED_STREAM || !stream->begun;
  state.Finish(id, {Status(CodeOfReset(error), std::string("the server has reset the call: ") +
                                                   nghttp2_http2_strerror(error)),
                    untouched});
  return 0;
}

ssize_t ClientSession::State::OnRead(nghttp2_session*, int32_t id, uint8_t* out, size_t size,
                                     uint32_t* flags, nghttp2_data_source*, void* self) {
  Stream* const stream = static_cast<State*>(self)->Find(id);
  if (stream == nullptr) return NGHTTP2_ERR_DEFERRED;  // its reset is on the way
  const std::string_view request = stream->call.request;
  size_t written = 0;
  while (stream->sent < kPrefix && written < size)
    out[written++] = static_cast<uint8_t>(stream->prefix[stream->sent++]);
  if (stream->sent >= kPrefix) {
    const size_t from = stream->sent - kPrefix;
    const size_t n = std::min(request.size() - from, size - written);
    if (n > 0) std::memcpy(out + written, request.data() + from, n);
    written += n;
    stream->sent += n;
  }
  if (stream->all_sent()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(written);
}

ClientSession::ClientSession(const Options& options) : state_(std::make_unique<State>(options)) {}
ClientSession::~ClientSession() = default;

Result<int32_t> ClientSession::Start(ClientCall call) {
  auto stream = std::make_unique<State::Stream>();
  WritePrefix(stream->prefix, call.request.size());
  const std::string timeout = call.timeout ? FormatTimeout(*call.timeout) : "";
  std::vector<nghttp2_nv> headers = {
      Header(":method", "POST"),
      Header(":scheme", state_->options.tls ? "https" : "http"),
      Header(":path", call.method, false),
      Header(":authority", state_->options.authority, false),
      Header("te", "trailers"),
      Header("content-type", "application/grpc"),
      Header("user-agent", "grpc-c++-coppice/1"),
      Header("grpc-accept-encoding", "identity,gzip"),
  };
  if (call.timeout) headers.push_back(Header("grpc-timeout", timeout, false));
  nghttp2_data_provider body{};
  body.read_callback = &State::OnRead;
  const int32_t id = nghttp2_submit_request(state_->session, nullptr, headers.data(),
                                            headers.size(), &body, nullptr);
  if (id < 0) return Unavailable(nghttp2_strerror(id));
  stream->call = std::move(call);
  state_->streams.emplace(id, std::move(stream));
  return id;
}

void ClientSession::Cancel(int32_t call) {
  if (state_->streams.erase(call) == 0) return;
  nghttp2_submit_rst_stream(state_->session, NGHTTP2_FLAG_NONE, call, NGHTTP2_CANCEL);
}

Status ClientSession::Receive(std::string_view bytes) {
  const ssize_t read = nghttp2_session_mem_recv(
      state_->session, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (read >= 0) return Status::Ok();
  return Unavailable(std::string("the server does not speak HTTP/2: ") +
                     nghttp2_strerror(static_cast<int>(read)));
}

bool ClientSession::Pull(std::string& out, size_t limit) {
  const size_t before = out.size();
  while (out.size() - before < limit) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(state_->session, &data);
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  return out.size() > before;
}

void ClientSession::Ping() { nghttp2_submit_ping(state_->session, NGHTTP2_FLAG_NONE, nullptr); }

void ClientSession::End(const Status& why) {
  while (!state_->streams.empty()) {
    const auto& [id, stream] = *state_->streams.begin();
    state_->Finish(id, {why, !stream->begun});
  }
}

bool ClientSession::takes_calls() const {
  return nghttp2_session_check_request_allowed(state_->session) != 0;
}

size_t ClientSession::calls() const { return state_->streams.size(); }

bool ClientSession::done() const {
  return nghttp2_session_want_read(state_->session) == 0 &&
         nghttp2_session_want_write(state_->session) == 0;
}

}  // namespace coppice::grpc
