#include "net/http_server.h"

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "base/check.h"
#include "base/strings.h"

namespace coppice::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

// Failures as values: a peer that goes away is not an exception.
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
using Parser = http::request_parser<http::string_body>;

// What the server does to a connection from outside its coroutine, on the io thread.
class Connection {
 public:
  virtual ~Connection() = default;
  // Closes at once if nothing is in flight, else after the answer.
  virtual void Drain() = 0;
  virtual void Abort() = 0;
};

// State that every connection sees. All but `stream` ends are touched by the io thread only.
struct Shared {
  Shared(HttpServerOptions o, HttpServer::Handler h)
      : options(std::move(o)), handler(std::move(h)) {}

  HttpServerOptions options;
  HttpServer::Handler handler;
  asio::io_context io{1};
  std::set<Connection*> connections;
  bool stopping = false;
  asio::steady_timer stop_deadline{io};

  void Forget(Connection* connection) {
    connections.erase(connection);
    if (stopping && connections.empty()) stop_deadline.cancel();  // nothing keeps the loop then
  }
};

// Bytes on their way from any thread to a coroutine of the io thread.
class StreamQueue final : public ServerStream, public std::enable_shared_from_this<StreamQueue> {
 public:
  StreamQueue(asio::io_context& io, size_t max_backlog)
      : io_(io), ready_(io), max_backlog_(max_backlog) {
    ready_.expires_at(asio::steady_timer::time_point::max());
  }

  bool Write(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    if (over_ || closing_) return false;
    if (pending_.size() + text.size() > max_backlog_) {
      over_ = true;  // a gap in the stream would be worse than its end: the reader connects again
      Wake();
      return false;
    }
    pending_ += text;
    Wake();
    return true;
  }

  void Close() override {
    const std::lock_guard lock(mutex_);
    if (over_ || closing_) return;
    closing_ = true;
    Wake();
  }

  // From here on nobody touches the io_context, which may be gone before the last owner of this.
  void End() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    ended_ = true;
  }

  void GiveUp() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    Wake();
  }

  // What is to be sent now; nothing at the end of the stream. io thread only.
  asio::awaitable<std::optional<std::string>> Next(bool& complete) {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (over_) co_return std::nullopt;
        if (!pending_.empty()) co_return std::exchange(pending_, {});
        if (closing_) {
          complete = true;
          co_return std::nullopt;
        }
      }
      co_await ready_.async_wait(kAsTuple);
    }
  }

 private:
  // With the mutex held, so that End() cannot come between the check and the post.
  void Wake() {
    if (ended_) return;
    asio::post(io_, [self = shared_from_this()] { self->ready_.cancel(); });
  }

  asio::io_context& io_;
  asio::steady_timer ready_;
  const size_t max_backlog_;
  std::mutex mutex_;
  std::string pending_;
  bool closing_ = false;  // after what is pending
  bool over_ = false;     // at once
  bool ended_ = false;    // the coroutine is gone
};

template <class Body>
http::response<Body> ToBeast(const ServerResponse& from, unsigned version, bool keep_alive) {
  http::response<Body> to(static_cast<http::status>(from.status), version);
  to.set(http::field::content_type, from.content_type);
  for (const auto& [name, value] : from.headers) to.insert(name, value);
  to.keep_alive(keep_alive);
  return to;
}

// The status that a reading problem is answered with, or 0 when there is nobody to answer.
int StatusOfProblem(error_code problem) {
  if (problem == http::error::header_limit || problem == http::error::buffer_overflow) return 431;
  if (problem == http::error::body_limit) return 413;
  if (problem == http::error::end_of_stream || problem == http::error::partial_message) return 0;
  if (problem.category() == make_error_code(http::error::bad_method).category()) return 400;
  return 0;
}

// A line break in a header would let whoever chose its text write the rest of the answer.
bool WellFormed(const ServerResponse& response) {
  const auto one_line = [](std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
  };
  return response.status >= 200 && response.status <= 599 && one_line(response.content_type) &&
         std::ranges::all_of(response.headers, [&](const auto& header) {
           return one_line(header.first) && one_line(header.second);
         });
}

template <class Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Shared& shared, Stream stream, std::string peer)
      : shared_(shared), stream_(std::move(stream)), peer_(std::move(peer)) {
    shared_.connections.insert(this);
  }
  ~Session() override { shared_.Forget(this); }

  void Drain() override {
    if (idle_) return Abort();
    if (queue_) queue_->Close();
  }
  void Abort() override {
    if (queue_) queue_->GiveUp();
    Lowest().close();
  }

  // The pointer keeps the session alive as long as its coroutine.
  static asio::awaitable<void> Run(std::shared_ptr<Session> self) { co_await self->ServeAll(); }

 private:
  asio::awaitable<void> ServeAll() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      Limit(shared_.options.header_timeout);
      const auto [problem] =
          co_await stream_.async_handshake(asio::ssl::stream_base::server, kAsTuple);
      if (problem) co_return;
    }
    bool first = true;
    while (co_await ServeOne(first)) first = false;
    co_await Finish();
  }

  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }
  void Limit(Duration time) { Lowest().expires_after(time); }

  // Reads a request and answers it; whether another may follow.
  asio::awaitable<bool> ServeOne(bool first) {
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(shared_.options.max_header_bytes));
    parser.body_limit(shared_.options.max_body_bytes);
    if (buffer_.size() == 0) {
      idle_ = true;
      // A fresh connection that says nothing gets no more time than one that dawdles.
      Limit(first ? shared_.options.header_timeout : shared_.options.idle_timeout);
      const auto space = buffer_.prepare(4096);
      const auto [problem, length] = co_await stream_.async_read_some(space, kAsTuple);
      idle_ = false;
      buffer_.commit(length);
      if (problem || shared_.stopping) co_return false;
    }
    Limit(shared_.options.header_timeout);
    const auto [header_problem, header_length] =
        co_await http::async_read_header(stream_, buffer_, parser, kAsTuple);
    if (header_problem)
      co_return co_await Refuse(StatusOfProblem(header_problem), header_problem.message());
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      if (!co_await SendContinue()) co_return false;
    }
    Limit(shared_.options.body_timeout);
    const auto [body_problem, body_length] =
        co_await http::async_read(stream_, buffer_, parser, kAsTuple);
    if (body_problem)
      co_return co_await Refuse(StatusOfProblem(body_problem), body_problem.message());
    co_return co_await Answer(parser.release());
  }

  asio::awaitable<bool> SendContinue() {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    const auto [problem, length] = co_await http::async_write(stream_, go_on, kAsTuple);
    co_return !problem;
  }

  asio::awaitable<bool> Answer(http::request<http::string_body> from) {
    const unsigned version = from.version();
    const bool head = from.method() == http::verb::head;
    const bool keep_alive = from.keep_alive() && !shared_.stopping;
    const Result<Target> target = ParseTarget(from.target());
    if (!target.ok()) co_return co_await Refuse(400, target.status().message());
    ServerRequest request;
    request.method = from.method_string();
    request.path = target->path;
    request.query = target->query;
    for (const auto& field : from) {
      request.headers.emplace_back(Lower(std::string_view(field.name_string())), field.value());
    }
    request.body = std::move(from.body());
    request.peer = peer_;
    ServerResponse response = Handle(request);
    if (response.stream) {
      co_await SendStream(std::move(response), version, head);
      co_return false;
    }
    co_return co_await Send(std::move(response), version, keep_alive, head);
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

  asio::awaitable<bool> Send(ServerResponse response, unsigned version, bool keep_alive,
                             bool head) {
    auto message = ToBeast<http::string_body>(response, version, keep_alive);
    // A HEAD's answer has the length of the body that it leaves out.
    if (response.status != 204 && response.status != 304) {
      message.content_length(response.body.size());
    }
    if (!head) message.body() = std::move(response.body);
    Limit(shared_.options.write_timeout);
    http::response_serializer<http::string_body> serializer(message);
    if (head) {
      const auto [problem, length] =
          co_await http::async_write_header(stream_, serializer, kAsTuple);
      co_return !problem && keep_alive;
    }
    const auto [problem, length] = co_await http::async_write(stream_, serializer, kAsTuple);
    co_return !problem && keep_alive;
  }

  asio::awaitable<bool> Refuse(int status, std::string why) {
    if (status != 0) {
      ServerResponse response{.status = status, .body = why + "\n"};
      co_await Send(std::move(response), 11, false, false);
    }
    co_return false;
  }

  asio::awaitable<void> SendStream(ServerResponse response, unsigned version, bool head) {
    auto message = ToBeast<http::empty_body>(response, version, false);
    const bool chunked = version == 11;
    message.chunked(chunked);
    http::response_serializer<http::empty_body> serializer(message);
    Limit(shared_.options.write_timeout);
    const auto [problem, length] = co_await http::async_write_header(stream_, serializer, kAsTuple);
    if (problem || head) co_return;
    queue_ = std::make_shared<StreamQueue>(shared_.io, shared_.options.max_stream_backlog);
    if (shared_.stopping) queue_->Close();
    // The reader's good-bye is the only thing that still comes in; without this read a silent
    // stream would never notice it. Reads and writes have time-outs of their own.
    Lowest().expires_never();
    asio::co_spawn(shared_.io, WatchReader(this->shared_from_this()), asio::detached);
    response.stream(queue_);
    co_await Pump(chunked);
    queue_->End();
  }

  static asio::awaitable<void> WatchReader(std::shared_ptr<Session> self) {
    std::array<char, 256> ignored;
    for (;;) {
      const auto space = asio::buffer(ignored);
      const auto [problem, length] = co_await self->stream_.async_read_some(space, kAsTuple);
      if (problem) break;
    }
    self->queue_->GiveUp();
  }

  asio::awaitable<void> Pump(bool chunked) {
    bool complete = false;
    for (;;) {
      const std::optional<std::string> text = co_await queue_->Next(complete);
      if (!text) break;
      Limit(shared_.options.write_timeout);
      const asio::const_buffer bytes = asio::buffer(*text);
      error_code problem;
      if (chunked) {
        const auto chunk = http::make_chunk(bytes);
        const auto [failed, length] = co_await asio::async_write(stream_, chunk, kAsTuple);
        problem = failed;
      } else {
        const auto [failed, length] = co_await asio::async_write(stream_, bytes, kAsTuple);
        problem = failed;
      }
      if (problem) co_return;
    }
    if (complete && chunked) {
      Limit(shared_.options.write_timeout);
      const auto last = http::make_chunk_last();
      co_await asio::async_write(stream_, last, kAsTuple);
    }
  }

  // Closes so that the last answer arrives: closing with unread bytes would reset the connection
  // and take the answer back out of the peer's hands.
  asio::awaitable<void> Finish() {
    if (!Lowest().socket().is_open() || queue_) {
      Lowest().close();
      co_return;
    }
    Limit(std::chrono::seconds(1));
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      co_await stream_.async_shutdown(kAsTuple);
    }
    error_code ignored_problem;
    Lowest().socket().shutdown(tcp::socket::shutdown_send, ignored_problem);
    std::array<char, 4096> ignored;
    for (size_t left = 1 << 18; left > 0;) {
      const auto space = asio::buffer(ignored);
      const auto [problem, length] = co_await Lowest().async_read_some(space, kAsTuple);
      if (problem) break;
      left -= std::min(left, length);
    }
    Lowest().close();
  }

  Shared& shared_;
  Stream stream_;
  const std::string peer_;
  beast::flat_buffer buffer_;
  std::shared_ptr<StreamQueue> queue_;
  bool idle_ = true;  // no request has begun: may be closed without harm
};

Status FromSystem(std::string_view what, const error_code& problem) {
  return Unavailable(std::string(what) + ": " + problem.message());
}

}  // namespace

const std::string* ServerRequest::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? nullptr : &found->second;
}

const std::string* ServerRequest::Query(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? nullptr : &found->second;
}

struct HttpServer::State {
  State(HttpServerOptions options, Handler handler)
      : shared(std::move(options), std::move(handler)), acceptor(shared.io) {}

  Status LoadTls();
  Status Listen();
  void Start();
  asio::awaitable<void> Accept();
  void BeginStop();
  void Stop();

  template <class Stream>
  void Serve(Stream stream, std::string peer) {
    const auto session =
        std::make_shared<Session<Stream>>(shared, std::move(stream), std::move(peer));
    asio::co_spawn(shared.io, Session<Stream>::Run(session), asio::detached);
  }

  std::optional<asio::ssl::context> tls;  // outlives the connections
  Shared shared;
  tcp::acceptor acceptor;
  uint16_t port = 0;
  std::thread thread;
};

Status HttpServer::State::LoadTls() {
  const HttpServerOptions& options = shared.options;
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return InvalidArgument("TLS needs both a certificate file and a key file");
  }
  if (options.tls_cert_file.empty()) return Status::Ok();
  tls.emplace(asio::ssl::context::tls_server);
  if (SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_3_VERSION) != 1) {
    return Internal("the TLS library knows no TLS 1.3");
  }
  error_code problem;
  tls->use_certificate_chain_file(options.tls_cert_file, problem);
  if (problem) return FromSystem("reading certificate " + options.tls_cert_file, problem);
  tls->use_private_key_file(options.tls_key_file, asio::ssl::context::pem, problem);
  if (problem) return FromSystem("reading key " + options.tls_key_file, problem);
  return Status::Ok();
}

Status HttpServer::State::Listen() {
  const std::string where =
      "listening on " + ToString(HostPort{shared.options.host, shared.options.port});
  error_code problem;
  tcp::resolver resolver(shared.io);
  // Every interface: the IPv6 wildcard takes IPv4 too, but a machine without IPv6 has none.
  const std::vector<std::string> hosts = shared.options.host.empty()
                                             ? std::vector<std::string>{"::", "0.0.0.0"}
                                             : std::vector<std::string>{shared.options.host};
  for (const std::string& host : hosts) {
    const auto found = resolver.resolve(host, std::to_string(shared.options.port),
                                        tcp::resolver::passive, problem);
    for (const auto& entry : found) {
      const tcp::endpoint endpoint = entry.endpoint();
      error_code ignored;
      acceptor.close(ignored);
      acceptor.open(endpoint.protocol(), problem);
      if (problem) continue;
      acceptor.set_option(tcp::acceptor::reuse_address(true), ignored);
      if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), ignored);
      acceptor.bind(endpoint, problem);
      if (problem) continue;
      acceptor.listen(asio::socket_base::max_listen_connections, problem);
      if (problem) continue;
      port = acceptor.local_endpoint(ignored).port();
      return Status::Ok();
    }
  }
  return FromSystem(where, problem);
}

void HttpServer::State::Start() {
  asio::co_spawn(shared.io, Accept(), asio::detached);
  thread = std::thread([this] { shared.io.run(); });
}

asio::awaitable<void> HttpServer::State::Accept() {
  asio::steady_timer pause(shared.io);
  while (!shared.stopping) {
    tcp::socket socket(shared.io);
    const auto [problem] = co_await acceptor.async_accept(socket, kAsTuple);
    if (shared.stopping || problem == asio::error::operation_aborted) co_return;
    if (problem) {
      // Out of file descriptors, mostly: trying again at once would only burn the processor.
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(kAsTuple);
      continue;
    }
    if (shared.connections.size() >= shared.options.max_connections) {
      shared.options.log.Warning("connection refused: too many",
                                 {{"limit", shared.options.max_connections}});
      continue;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const std::string peer = socket.remote_endpoint(ignored).address().to_string();
    if (tls) {
      Serve(TlsStream(std::move(socket), *tls), peer);
    } else {
      Serve(PlainStream(std::move(socket)), peer);
    }
  }
}

// On the io thread. The loop ends by itself when the last connection has gone.
void HttpServer::State::BeginStop() {
  shared.stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  for (Connection* connection : std::set(shared.connections)) connection->Drain();
  if (shared.connections.empty()) return;
  shared.stop_deadline.expires_after(shared.options.stop_grace);
  shared.stop_deadline.async_wait([this](error_code problem) {
    if (problem) return;
    for (Connection* connection : std::set(shared.connections)) connection->Abort();
  });
}

void HttpServer::State::Stop() {
  if (!thread.joinable()) return;
  CHECK(thread.get_id() != std::this_thread::get_id());
  asio::post(shared.io, [this] { BeginStop(); });
  thread.join();
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() { Stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Create(HttpServerOptions options, Handler handler) {
  auto state = std::make_unique<State>(std::move(options), std::move(handler));
  TRY(state->LoadTls());
  TRY(state->Listen());
  state->Start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

uint16_t HttpServer::port() const { return state_->port; }

void HttpServer::Stop() { state_->Stop(); }

}  // namespace coppice::net
