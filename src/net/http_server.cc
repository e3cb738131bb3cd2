#include "net/http_server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "base/check.h"
#include "base/file_signature.h"
#include "net/http_session.h"

namespace coppice::net {

namespace asio = boost::asio;
using boost::system::error_code;
using http1::kAsTuple;
using http1::PlainWire;
using http1::Session;
using http1::Shared;
using http1::tcp;
using http1::TlsWire;
using http1::Wire;

namespace {

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
  Status CheckTls() const;
  Result<std::shared_ptr<asio::ssl::context>> ReadTls() const;
  std::string TlsSignature() const;
  void LookAtTls();
  Status Listen();
  void Start();
  asio::awaitable<void> Accept();
  bool MakeRoom();
  void BeginStop();
  void Stop();

  std::shared_ptr<asio::ssl::context> tls;  // null: plain; each connection holds on to its own
  std::string tls_signature;                // of the files as they were last tried
  Shared shared;
  tcp::acceptor acceptor;
  uint16_t port = 0;
  std::optional<std::chrono::steady_clock::time_point> said_full;
  std::thread thread;
};

Status HttpServer::State::CheckTls() const {
  const HttpServerOptions& options = shared.options;
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return InvalidArgument("TLS needs both a certificate file and a key file");
  }
  if (options.tls_cert_file.empty() && !options.tls_client_ca_file.empty())
    return InvalidArgument(
        "certificates are asked for over TLS only: a certificate file is missing");
  return Status::Ok();
}

Result<std::shared_ptr<asio::ssl::context>> HttpServer::State::ReadTls() const {
  const HttpServerOptions& options = shared.options;
  // The TLS library says "no start line" of a file that is not there.
  for (const std::string& file :
       {options.tls_cert_file, options.tls_key_file, options.tls_client_ca_file}) {
    if (!file.empty() && !std::ifstream(file))
      return NotFound(file + " cannot be read: " + std::strerror(errno));
  }
  auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  if (SSL_CTX_set_min_proto_version(made->native_handle(), TLS1_3_VERSION) != 1) {
    return Internal("the TLS library knows no TLS 1.3");
  }
  error_code problem;
  made->use_certificate_chain_file(options.tls_cert_file, problem);
  if (problem) return FromSystem("reading certificate " + options.tls_cert_file, problem);
  made->use_private_key_file(options.tls_key_file, asio::ssl::context::pem, problem);
  if (problem) return FromSystem("reading key " + options.tls_key_file, problem);
  if (options.tls_client_ca_file.empty()) return made;
  made->load_verify_file(options.tls_client_ca_file, problem);
  if (problem) return FromSystem("reading authorities " + options.tls_client_ca_file, problem);
  // Without it a client that resumes its session is refused.
  SSL_CTX_set_session_id_context(made->native_handle(),
                                 reinterpret_cast<const unsigned char*>("coppice"), 7);
  made->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, problem);
  if (problem) return FromSystem("asking for certificates", problem);
  return made;
}

std::string HttpServer::State::TlsSignature() const {
  const HttpServerOptions& options = shared.options;
  return FileSignature({options.tls_cert_file, options.tls_key_file, options.tls_client_ca_file});
}

Status HttpServer::State::LoadTls() {
  TRY(CheckTls());
  if (shared.options.tls_cert_file.empty()) return Status::Ok();
  tls_signature = TlsSignature();
  tls = TRY(ReadTls());
  return Status::Ok();
}

// With each connection: a certificate that is renewed is taken into use without a restart. Those
// that are open keep theirs.
void HttpServer::State::LookAtTls() {
  std::string signature = TlsSignature();
  if (signature == tls_signature) return;
  // Remembered before reading: a write that is still going on changes it again.
  tls_signature = std::move(signature);
  auto read = ReadTls();
  const std::string& file = shared.options.tls_cert_file;
  if (!read.ok()) {
    shared.options.log.Error(
        "certificates changed on disk and cannot be used, the old ones stay in use",
        {{"file", file}, {"error", read.status()}});
    return;
  }
  tls = *std::move(read);
  shared.options.log.Info("certificates read again", {{"file", file}});
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
      shared.options.log.Warning("no connection can be accepted", {{"error", problem.message()}});
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(kAsTuple);
      continue;
    }
    if (shared.sessions.size() >= shared.options.max_connections && !MakeRoom()) continue;
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const std::string peer = socket.remote_endpoint(ignored).address().to_string();
    std::unique_ptr<Wire> wire;
    if (tls) {
      LookAtTls();
      wire = std::make_unique<TlsWire>(std::move(socket), *tls);
    } else {
      wire = std::make_unique<PlainWire>(std::move(socket));
    }
    auto session = std::make_shared<Session>(shared, std::move(wire), peer);
    asio::co_spawn(shared.io, Session::Run(std::move(session)), asio::detached);
  }
}

// Closes whoever has asked nothing for longest, so that nobody keeps others out by being there. Its
// coroutine ends a moment later; what counts is that it is on its way.
bool HttpServer::State::MakeRoom() {
  Session* idlest = nullptr;
  for (Session* session : shared.sessions) {
    if (!session->idle_since()) continue;
    if (idlest == nullptr || *session->idle_since() < *idlest->idle_since()) idlest = session;
  }
  // Once in a while only: whoever opens connections must not fill the log.
  const auto now = std::chrono::steady_clock::now();
  if (!said_full || now - *said_full > std::chrono::seconds(10)) {
    said_full = now;
    shared.options.log.Warning(idlest != nullptr ? "too many connections: idle ones are closed"
                                                 : "connection refused: too many",
                               {{"limit", shared.options.max_connections}});
  }
  if (idlest != nullptr) idlest->Abort();
  return idlest != nullptr;
}

// On the io thread. The loop ends by itself when the last connection has gone.
void HttpServer::State::BeginStop() {
  shared.stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  for (Session* session : std::set(shared.sessions)) session->Drain();
  if (shared.sessions.empty()) return;
  shared.stop_deadline.expires_after(shared.options.stop_grace);
  shared.stop_deadline.async_wait([this](error_code problem) {
    if (problem) return;
    for (Session* session : std::set(shared.sessions)) session->Abort();
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
