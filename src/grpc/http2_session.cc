#include "grpc/http2_session.h"

#include <algorithm>
#include <cstring>

#include "grpc/http2_state.h"

namespace coppice::grpc {
namespace {

constexpr uint32_t kStreamWindow = 1U << 20;
constexpr int32_t kConnectionWindow = 16 << 20;

// nghttp2's own bounds. Acks that wait to be sent: a client that pings and never reads.
constexpr size_t kMaxAcks = 100;
constexpr size_t kMaxSettings = 16;  // entries of one frame; there are nine in all the standards
constexpr size_t kMaxContinuations = 8;

// Resets of calls (CVE-2023-44487): all that can be open may be given up at once, but not again and
// again. nghttp2 has such a bound too, which does not say why it ends a connection: ours is
// smaller.
constexpr double kResetBurst = 1'000;
constexpr double kResetsPerSecond = 50;
constexpr uint64_t kLibraryResetBurst = 2'000;
constexpr uint64_t kLibraryResetRate = 100;

// Frames that make us work and ask for nothing: pings, settings, priorities, empty data. Each frame
// that we send earns one: a client that measures the line pings once per round trip while it reads.
constexpr double kControlBurst = 200;
constexpr double kControlsPerSecond = 10;

// A client that has been told to go and does not answer the ping: this many ticks.
constexpr uint32_t kGoAwayTicks = 2;
constexpr uint8_t kGoAwayPing[8] = {'g', 'o', 'i', 'n', 'g', ' ', ' ', ' '};

std::string_view View(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

Http2Session::State::State(Parts p, SessionLimits l)
    : routes(p.routes),
      caller(p.caller),
      clock(p.clock),
      load(p.load),
      start_waiting(std::move(p.start_waiting)),
      limits(l),
      resets(kResetBurst, kResetsPerSecond, p.clock.Now()),
      controls(kControlBurst, kControlsPerSecond, p.clock.Now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &OnBeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &OnSent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnClose);
  nghttp2_option* options = nullptr;
  nghttp2_option_new(&options);
  nghttp2_option_set_max_outbound_ack(options, kMaxAcks);
  nghttp2_option_set_max_settings(options, kMaxSettings);
  nghttp2_option_set_max_continuations(options, kMaxContinuations);
  nghttp2_option_set_stream_reset_rate_limit(options, kLibraryResetBurst, kLibraryResetRate);
  nghttp2_option_set_no_closed_streams(options, 1);
  nghttp2_session_server_new2(&session, callbacks, this, options);
  nghttp2_option_del(options);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits.max_header_bytes)}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2Session::State::~State() {
  for (const auto& [id, stream] : streams) {
    if (stream->given_up != nullptr) *stream->given_up = true;
    load.Return(kCallBytes + stream->body_held + stream->out_held);
  }
  streams.clear();
  nghttp2_session_del(session);
}

int Http2Session::State::OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  auto& state = *static_cast<State*>(self);
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  const int32_t id = frame->hd.stream_id;
  if (!state.load.Take(kCallBytes)) {
    // Nothing of the call has been looked at: the client may try it again, here or elsewhere.
    nghttp2_submit_rst_stream(state.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    state.Complain(Refusal::kBytes, "a call was refused before it began");
    return 0;
  }
  auto stream = std::make_unique<Stream>(state, id, state.tick);
  nghttp2_session_set_stream_user_data(state.session, id, stream.get());
  state.streams.emplace(id, std::move(stream));
  return 0;
}

int Http2Session::State::OnHeader(nghttp2_session* session, const nghttp2_frame* frame,
                                  const uint8_t* name, size_t name_size, const uint8_t* value,
                                  size_t value_size, uint8_t, void* self) {
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
    stream->timeout = ParseTimeout(text);
  } else if (key == "grpc-encoding") {
    stream->encoding = text == "identity" ? Encoding::kIdentity
                       : text == "gzip"   ? Encoding::kGzip
                                          : Encoding::kUnknown;
  }
  return 0;
}

int Http2Session::State::OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  auto& state = *static_cast<State*>(self);
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
    return state.OnControl(*frame);
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 && !ends &&
      !state.controls.Take(state.clock.Now()))
    return state.Flood("too many empty DATA frames");
  auto* stream =
      static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
  if (stream == nullptr) return 0;
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
    state.Open(*stream);
  const bool listens = !stream->answered || stream->handler != nullptr;
  if (ends && listens) state.RequestComplete(*stream);
  return 0;
}

// A frame that is no part of a call.
int Http2Session::State::OnControl(const nghttp2_frame& frame) {
  const bool ack = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  switch (frame.hd.type) {
    case NGHTTP2_RST_STREAM:
      return resets.Take(clock.Now()) ? 0 : Flood("too many RST_STREAM frames");
    case NGHTTP2_PING:
      if (ack) {
        if (leaving == Leaving::kTold &&
            std::memcmp(frame.ping.opaque_data, kGoAwayPing, sizeof kGoAwayPing) == 0)
          LastGoAway();
        return 0;
      }
      return controls.Take(clock.Now()) ? 0 : Flood("too many PING frames");
    case NGHTTP2_SETTINGS:
      if (ack) return 0;
      return controls.Take(clock.Now()) ? 0 : Flood("too many SETTINGS frames");
    case NGHTTP2_PRIORITY:
      return controls.Take(clock.Now()) ? 0 : Flood("too many PRIORITY frames");
    default:
      return 0;
  }
}

int Http2Session::State::Flood(std::string why) {
  problem = std::move(why);
  Complain(Refusal::kFlood, problem);
  nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_ENHANCE_YOUR_CALM,
                        reinterpret_cast<const uint8_t*>(problem.data()), problem.size());
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int Http2Session::State::OnData(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data,
                                size_t size, void* self) {
  auto& state = *static_cast<State*>(self);
  auto* stream = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  if (stream != nullptr && !stream->cut && (!stream->answered || stream->handler != nullptr))
    state.TakeBody(*stream, View(data, size));
  return 0;
}

int Http2Session::State::OnSent(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  auto& state = *static_cast<State*>(self);
  if (frame->hd.type == NGHTTP2_GOAWAY) state.OnGoAwaySent(frame->goaway);
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  state.controls.Earn();
  // The answer is complete and the request is not: whatever still comes would only be thrown away.
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
      nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
  return 0;
}

void Http2Session::State::OnGoAwaySent(const nghttp2_goaway& goaway) {
  if (goaway.error_code != NGHTTP2_NO_ERROR) {
    said = goaway.opaque_data_len > 0 ? View(goaway.opaque_data, goaway.opaque_data_len)
                                      : nghttp2_http2_strerror(goaway.error_code);
  } else if (leaving == Leaving::kTold) {
    // Its answer comes after whatever the client sent before it knew. Not submitted earlier, for a
    // ping overtakes.
    nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, kGoAwayPing);
  }
}

int Http2Session::State::OnClose(nghttp2_session* session, int32_t id, uint32_t, void* self) {
  auto& state = *static_cast<State*>(self);
  nghttp2_session_set_stream_user_data(session, id, nullptr);
  const auto it = state.streams.find(id);
  if (it == state.streams.end()) return 0;
  Stream& stream = *it->second;
  if (stream.given_up != nullptr) *stream.given_up = true;
  state.buffered -= stream.body_held;
  state.load.Return(kCallBytes + stream.body_held + stream.out_held);
  state.streams.erase(it);
  return 0;
}

ssize_t Http2Session::State::OnRead(nghttp2_session* session, int32_t, uint8_t* out, size_t size,
                                    uint32_t* flags, nghttp2_data_source* source, void*) {
  auto& stream = *static_cast<Stream*>(source->ptr);
  if (stream.cut) return NGHTTP2_ERR_DEFERRED;
  const size_t written = stream.out.Fill(out, size);
  stream.moved = stream.session.tick;
  stream.session.SettleOut(stream);
  if (stream.out.empty()) {
    if (!stream.end) {
      return written > 0 ? static_cast<ssize_t>(written) : ssize_t{NGHTTP2_ERR_DEFERRED};
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    SubmitTrailers(session, stream);
  }
  return static_cast<ssize_t>(written);
}

void Http2Session::State::SubmitTrailers(nghttp2_session* session, const Stream& stream) {
  const std::string code = std::to_string(static_cast<int>(stream.end->code()));
  const std::string text = PercentEncode(stream.end->message());
  const nghttp2_nv trailers[] = {Header("grpc-status", code, false),
                                 Header("grpc-message", text, false)};
  nghttp2_submit_trailer(session, stream.id, trailers, text.empty() ? 1 : 2);
}

void Http2Session::State::LastGoAway() {
  leaving = Leaving::kLast;
  nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, nullptr,
                        0);
}

Http2Session::Http2Session(Parts parts, SessionLimits limits)
    : state_(std::make_unique<State>(std::move(parts), limits)) {}
Http2Session::~Http2Session() = default;

void Http2Session::Forbid(Status why) { state_->forbidden = std::move(why); }

Status Http2Session::Receive(std::string_view bytes) {
  State& state = *state_;
  if (!state.problem.empty()) return ResourceExhausted(state.problem);
  const ssize_t read = nghttp2_session_mem_recv(
      state.session, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (read >= 0) return Status::Ok();
  if (!state.problem.empty()) return ResourceExhausted(state.problem);
  state.problem = nghttp2_strerror(static_cast<int>(read));
  if (read == NGHTTP2_ERR_FLOODED || read == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) {
    state.Complain(Refusal::kFlood, state.problem);
    return ResourceExhausted(state.problem);
  }
  return InvalidArgument("not HTTP/2: " + state.problem);
}

bool Http2Session::Pull(std::string& out, size_t limit) {
  const size_t before = out.size();
  bool went_on = false;
  while (out.size() - before < limit) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(state_->session, &data);
    if (size > 0) {
      out.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
      went_on = false;
      continue;
    }
    // All that the client takes is out: there may be room for the answers to its next questions.
    if (size < 0 || went_on || state_->held_back.empty()) break;
    went_on = true;
    state_->GoOnWithHeldBack();
  }
  return out.size() > before;
}

void Http2Session::Answer(int32_t stream, grpc::Answer answer) {
  State::Stream* found = state_->Find(stream);
  if (found != nullptr && !found->cut) state_->Respond(*found, std::move(answer));
}

void Http2Session::Tick() {
  State& state = *state_;
  ++state.tick;
  for (const auto& [id, stream] : state.streams) state.TickStream(*stream);
  if (state.leaving == State::Leaving::kTold && state.tick - state.told >= kGoAwayTicks)
    state.LastGoAway();
}

void Http2Session::Ping() { nghttp2_submit_ping(state_->session, NGHTTP2_FLAG_NONE, nullptr); }

void Http2Session::GoAway() {
  if (state_->leaving != State::Leaving::kNo) return;
  state_->leaving = State::Leaving::kTold;
  state_->told = state_->tick;
  nghttp2_submit_shutdown_notice(state_->session);
}

void Http2Session::EndStreams(const Status& why) {
  state_->ending = why;
  for (const auto& [id, stream] : state_->streams) {
    if (stream->handler != nullptr) stream->Finish(why);
  }
}

bool Http2Session::going_away() const { return state_->leaving == State::Leaving::kTold; }

size_t Http2Session::calls() const { return state_->streams.size(); }

bool Http2Session::done() const {
  return nghttp2_session_want_read(state_->session) == 0 &&
         nghttp2_session_want_write(state_->session) == 0;
}

const std::string& Http2Session::complaint() const { return state_->said; }

}  // namespace coppice::grpc
