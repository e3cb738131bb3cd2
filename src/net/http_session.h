// One connection of the HTTP server: requests are read, handed to the handler, answered, one after
// the other; an answer may be a stream. Private to http_server.cc (see http_wire.h).
//
// Everything runs on the server's one thread but for what StreamQueue takes from others.

#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/strings.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/http_wire.h"
#include "net/stream_queue.h"

namespace coppice::net::http1 {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::string_body>;

class Session;

// State that every connection sees. Touched by the io thread only.
struct Shared {
  Shared(HttpServerOptions o, HttpServer::Handler h)
      : options(std::move(o)), handler(std::move(h)) {}

  HttpServerOptions options;
  HttpServer::Handler handler;
  asio::io_context io{1};
  std::set<Session*> sessions;
  size_t held = 0;     // bytes of requests and answers in progress, all sessions
  size_t streams = 0;  // answers that stay open
  bool stopping = false;
  asio::steady_timer stop_deadline{io};

  void Forget(Session* session) {
    sessions.erase(session);
    if (stopping && sessions.empty()) stop_deadline.cancel();  // nothing keeps the loop then
  }
};

// The status that a reading problem is answered with, or 0 when there is nobody to answer.
inline int StatusOfProblem(error_code problem) {
  if (problem == http::error::header_limit || problem == http::error::buffer_overflow) return 431;
  if (problem == http::error::body_limit) return 413;
  if (problem == asio::error::no_buffer_space) return 503;
  return problem == asio::error::eof ? 0 : 400;
}

// Exactly one, and nothing in it that a name or an address does not have (RFC 9112 3.2). What is
// meant by another name is not for us to guess.
inline bool HostIsClear(const http::request<http::string_body>& request) {
  const auto hosts = request.count(http::field::host);
  if (hosts == 0) return request.version() == 10;
  const std::string_view host = request[http::field::host];
  return hosts == 1 && host.find_first_of(" \t/\\@?#,") == std::string_view::npos;
}

// All of a request but its body and who sent it.
inline Result<ServerRequest> HeadOf(const http::request<http::string_body>& from) {
  if (!HostIsClear(from)) return InvalidArgument("a request needs one Host, and a proper one");
  const Target target = TRY(ParseTarget(from.target()));
  ServerRequest request;
  request.method = from.method_string();
  request.path = target.path;
  request.query = target.query;
  for (const auto& field : from) {
    request.headers.emplace_back(Lower(std::string_view(field.name_string())), field.value());
  }
  return request;
}

inline void SetLimits(const HttpServerOptions& options, Parser& parser) {
  parser.header_limit(static_cast<uint32_t>(options.max_header_bytes));
  parser.body_limit(options.max_body_bytes);
}

// Feeds the parser with what there is; whether it wants more.
inline bool Feed(const HttpServerOptions& options, Parser& parser, std::string& unread,
                 error_code& problem) {
  if (unread.empty()) return true;
  unread.erase(0, parser.put(asio::buffer(unread), problem));
  if (problem != http::error::need_more) return unread.empty();
  problem = {};
  // The parser bounds headers and bodies; this bounds what it overlooks, as endless chunk
  // extensions.
  if (unread.size() > options.max_header_bytes + (64 << 10)) problem = http::error::buffer_overflow;
  return true;
}

class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(Shared& shared, std::unique_ptr<Wire> wire, std::string peer)
      : shared_(shared), wire_(std::move(wire)), peer_(std::move(peer)), ready_(shared.io) {
    shared_.sessions.insert(this);
  }
  ~Session() {
    Hold(0);
    if (queue_) {
      queue_->Detach();
      --shared_.streams;
    }
    shared_.Forget(this);
  }

  // Since when nothing has been asked of us; none while something is.
  std::optional<std::chrono::steady_clock::time_point> idle_since() const {
    return idle_ ? std::optional(idle_since_) : std::nullopt;
  }

  // Closes at once if nothing is in flight, else after the answer.
  void Drain() {
    if (idle_) return Abort();
    if (queue_) queue_->Close();
  }
  void Abort() {
    idle_ = false;
    if (queue_) queue_->GiveUp();
    wire_->tcp().close();
  }

  // The pointer keeps the session alive as long as its coroutine.
  static asio::awaitable<void> Run(std::shared_ptr<Session> self) {
    self->Limit(self->shared_.options.header_timeout);
    if (!co_await self->wire_->Handshake()) co_return;
    bool first = true;
    while (co_await self->ServeOne(first)) first = false;
    co_await self->SendGathered();
    co_await self->Finish();
  }

 private:
  void Limit(Duration time) {
    limit_ = time;
    wire_->tcp().expires_after(time);
  }

  // What this connection holds now; whether all of them together may. More than before is not taken
  // when they may not.
  bool Hold(size_t bytes) {
    if (bytes > held_ && shared_.held - held_ + bytes > shared_.options.max_held_bytes)
      return false;
    shared_.held = shared_.held - held_ + bytes;
    held_ = bytes;
    return true;
  }

  // Reads a request and answers it; whether another may follow.
  asio::awaitable<bool> ServeOne(bool first) {
    Hold(unread_.size() + gathered_.size());  // what came before has been answered
    if (shared_.stopping) co_return false;    // since the last answer was decided on
    if (unread_.empty()) {
      if (!co_await SendGathered()) co_return false;  // or who closes idle ones takes it along
      idle_ = true;
      idle_since_ = std::chrono::steady_clock::now();
      // A fresh connection that says nothing gets no more time than one that dawdles.
      Limit(first ? shared_.options.header_timeout : shared_.options.idle_timeout);
      const error_code nothing = co_await ReadMore();
      idle_ = false;
      if (shared_.stopping) co_return false;
      if (nothing) co_return co_await Refuse(StatusOfProblem(nothing), nothing.message());
    }
    Parser parser;
    SetLimits(shared_.options, parser);
    Limit(shared_.options.header_timeout);
    error_code problem = co_await ReadHeader(parser);
    if (problem) co_return co_await Refuse(StatusOfProblem(problem), problem.message());
    Result<ServerRequest> request = HeadOf(parser.get());
    if (!request.ok()) co_return co_await Refuse(400, request.status().message());
    request->peer = peer_;
    Limit(shared_.options.body_timeout);
    problem = co_await ReadBody(parser);
    if (problem) co_return co_await Refuse(StatusOfProblem(problem), problem.message());
    request->body = std::move(parser.get().body());
    co_return co_await Answer(*request, parser.get());
  }

  // Whoever sent several requests at once gets their answers at once: nothing is kept back while we
  // wait for more. Whose bytes fill the space has more room at the next read.
  asio::awaitable<error_code> ReadMore() {
    if (!co_await SendGathered()) co_return asio::error::eof;
    const auto space = std::make_unique_for_overwrite<char[]>(room_);
    const size_t length = co_await wire_->Read(asio::buffer(space.get(), room_));
    if (length == 0) co_return asio::error::eof;
    if (!Hold(held_ + length)) co_return asio::error::no_buffer_space;
    unread_.append(space.get(), length);
    room_ = length == room_ ? kMostRoom : kLeastRoom;
    co_return error_code();
  }

  asio::awaitable<bool> SendGathered() {
    if (gathered_.empty()) co_return true;
    const std::string bytes = std::exchange(gathered_, {});
    const Duration limit = limit_;
    Limit(shared_.options.write_timeout);
    const bool sent = co_await wire_->Write(bytes);
    Limit(limit);
    co_return sent;
  }

  asio::awaitable<error_code> ReadHeader(Parser& parser) {
    for (;;) {
      error_code problem;
      const bool wants_more = Feed(shared_.options, parser, unread_, problem);
      if (problem || parser.is_header_done()) co_return problem;
      if (wants_more) problem = co_await ReadMore();
      if (problem) co_return problem;
    }
  }

  asio::awaitable<error_code> ReadBody(Parser& parser) {
    if (!parser.is_done() && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      gathered_ += "HTTP/1.1 100 Continue\r\n\r\n";
      if (!co_await SendGathered()) co_return asio::error::eof;
    }
    parser.eager(true);
    while (!parser.is_done()) {
      error_code problem;
      const bool wants_more = Feed(shared_.options, parser, unread_, problem);
      if (problem || parser.is_done()) co_return problem;
      if (wants_more) problem = co_await ReadMore();
      if (problem) co_return problem;
    }
    co_return error_code();
  }

  asio::awaitable<bool> Answer(const ServerRequest& request,
                               const http::request<http::string_body>& from) {
    ServerResponse response = Handle(request);
    Framing framing{.minor_version = from.version() == 10 ? 0 : 1, .keep_alive = from.keep_alive()};
    const bool head = from.method() == http::verb::head;
    if (response.stream && shared_.streams >= shared_.options.max_streams)
      response = {.status = 503, .body = "too many streams are open\n"};
    if (response.stream) {
      co_await SendStream(response, framing, head);
      co_return false;
    }
    co_return co_await Send(response, framing, head);
  }

  ServerResponse Handle(const ServerRequest& request) {
    ServerResponse response;
    try {
      response = shared_.handler(request);
    } catch (const std::exception& problem) {
      shared_.options.log.Error("request failed",
                                {{"path", request.path}, {"error", problem.what()}});
      response = {.status = 500, .body = "internal error\n"};
    }
    if (!WellFormed(response)) {
      shared_.options.log.Error("answer has a bad status or header", {{"path", request.path}});
      response = {.status = 500, .body = "internal error\n"};
    }
    return response;
  }

  asio::awaitable<bool> Send(const ServerResponse& response, Framing framing, bool head) {
    framing.keep_alive = framing.keep_alive && !shared_.stopping;
    framing.content_length = response.body.size();
    std::string bytes = FormatHead(response, framing);
    // The answer to HEAD has the length of the body that it leaves out.
    if (!head) bytes += response.body;
    if (!Hold(held_ + bytes.size())) {
      bytes = FormatHead({.status = 503}, {.keep_alive = false, .content_length = 0});
      framing.keep_alive = false;
    }
    gathered_ = gathered_.empty() ? std::move(bytes) : gathered_ + bytes;
    const bool another = framing.keep_alive && !unread_.empty();
    if (another && gathered_.size() < kMostGathered) co_return true;
    const bool sent = co_await SendGathered();
    co_return sent&& framing.keep_alive;
  }

  asio::awaitable<bool> Refuse(int status, std::string why) {
    if (status != 0) {
      const ServerResponse response{.status = status, .body = why + "\n"};
      const Framing framing{.keep_alive = false};
      co_await Send(response, framing, false);
      linger_ = true;
    }
    co_return false;
  }

  asio::awaitable<void> SendStream(const ServerResponse& response, Framing framing, bool head) {
    framing.keep_alive = false;
    const std::string bytes = FormatHead(response, framing);
    gathered_ += bytes;
    const bool sent = co_await SendGathered();
    if (!sent || head) co_return;
    queue_ = std::make_shared<StreamQueue>(shared_.options.max_stream_backlog, Waker());
    ++shared_.streams;
    if (shared_.stopping) queue_->Close();
    // The reader's good-bye is the only thing that still comes in; without this read a silent
    // stream would never notice it. Reads and writes have time-outs of their own.
    wire_->tcp().expires_never();
    asio::co_spawn(shared_.io, WatchReader(shared_from_this()), asio::detached);
    response.stream(queue_);
    co_await Pump(framing.minor_version == 1);
    queue_->Detach();
  }

  // Ends the wait of Pump, from whatever thread.
  std::function<void()> Waker() {
    return [&io = shared_.io, weak = weak_from_this()] {
      asio::post(io, [weak] {
        if (const auto self = weak.lock()) self->ready_.cancel();
      });
    };
  }

  static asio::awaitable<void> WatchReader(std::shared_ptr<Session> self) {
    std::array<char, 256> ignored;
    while (co_await self->wire_->Read(asio::buffer(ignored)) > 0) {
    }
    self->queue_->GiveUp();
  }

  asio::awaitable<void> Pump(bool chunked) {
    ready_.expires_at(asio::steady_timer::time_point::max());
    std::string text;
    for (;;) {
      const StreamQueue::Next next = queue_->Take(text);
      if (next == StreamQueue::Next::kBroken) co_return;
      if (next == StreamQueue::Next::kEnd) break;
      if (next == StreamQueue::Next::kWait) {
        co_await ready_.async_wait(kAsTuple);
        continue;
      }
      if (chunked) text = FormatChunk(text);
      Limit(shared_.options.write_timeout);
      if (!co_await wire_->Write(text)) co_return;
    }
    if (!chunked) co_return;
    Limit(shared_.options.write_timeout);
    co_await wire_->Write(kLastChunk);
  }

  asio::awaitable<void> Finish() {
    beast::tcp_stream& stream = wire_->tcp();
    if (stream.socket().is_open() && !queue_) {
      Limit(std::chrono::seconds(1));
      co_await wire_->SayGoodbye();
      if (linger_) co_await Linger();
    }
    stream.close();
  }

  // Closing with bytes unread would reset the connection and take the refusal back out of the
  // peer's hands. So the rest of what was refused is read for a moment and thrown away.
  asio::awaitable<void> Linger() {
    beast::tcp_stream& stream = wire_->tcp();
    error_code ignored_problem;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored_problem);
    std::array<char, 4096> ignored;
    for (size_t left = 1 << 18; left > 0;) {
      const auto space = asio::buffer(ignored);
      const auto [problem, length] = co_await stream.async_read_some(space, kAsTuple);
      if (problem) break;
      left -= std::min(left, length);
    }
  }

  static constexpr size_t kLeastRoom = 4 << 10;
  static constexpr size_t kMostRoom = 64 << 10;
  static constexpr size_t kMostGathered = 64 << 10;

  Shared& shared_;
  const std::unique_ptr<Wire> wire_;
  const std::string peer_;
  std::string unread_;        // received and not yet parsed
  std::string gathered_;      // answers that have not been sent: more requests are there already
  size_t room_ = kLeastRoom;  // of the next read
  Duration limit_{};          // for what is under way
  std::shared_ptr<StreamQueue> queue_;
  asio::steady_timer ready_;  // cancelled when the queue has something
  size_t held_ = 0;           // of all that the server may hold
  bool linger_ = false;       // a request was refused half-read
  bool idle_ = true;          // no request has begun: may be closed without harm
  std::chrono::steady_clock::time_point idle_since_ = std::chrono::steady_clock::now();
};

}  // namespace coppice::net::http1
