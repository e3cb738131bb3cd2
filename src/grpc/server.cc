#include "grpc/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "grpc/connection.h"
#include "grpc/health.h"
#include "grpc/listen_socket.h"
#include "grpc/reflection.h"
#include "grpc/routes.h"
#include "grpc/server_tls.h"

namespace coppice::grpc {
namespace {

// Instead of a connection's number.
constexpr uint64_t kListenTag = UINT64_MAX;
constexpr uint64_t kWakeTag = UINT64_MAX - 1;

bool IsLoopback(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

}  // namespace

Status CheckListen(const ServerOptions& options) {
  const std::string& listen = options.listen;
  if (IsUnixAddress(listen)) {
    if (options.certificates != nullptr) {
      return InvalidArgument("listen: " + listen +
                             " is a Unix socket, which needs no tls block; remove it");
    }
    return Status::Ok();
  }
  const size_t colon = listen.rfind(':');
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(port) > 65'535) {
    return InvalidArgument("listen: '" + listen + "' is not host:port, :port or unix:/path");
  }
  if (options.certificates != nullptr) return Status::Ok();
  if (!IsLoopback(listen)) {
    return FailedPrecondition(
        "listen: " + listen +
        " would serve without TLS on the network, where anybody could delete machines; add a "
        "tls block (certFile, keyFile, caFile), or listen on unix:/path");
  }
  if (!options.insecure) {
    return FailedPrecondition("listen: " + listen +
                              " has no tls block; plaintext on loopback needs the flag --insecure");
  }
  return Status::Ok();
}

namespace {

constexpr size_t kMaxConnections = 1'000;
constexpr int kTickMs = 1'000;
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

Route ToRoute(const Service& service, const Method& method) {
  return {.path = service.PathOf(method), .unary = method.handler, .waits = method.waits};
}

// Who called, for a handler on a worker that may outlive the connection.
struct KeptCaller final : Caller {
  std::vector<std::string> names;
  std::string address;
  std::vector<std::string> Names() const override { return names; }
  std::string Address() const override { return address; }
};

}  // namespace

// The thread that reads and writes every connection, and what it shares with the others.
struct Server::State {
  State(ServerOptions o, std::vector<Service> s, Workers& w, const Clock& c, const Log& l)
      : options(std::move(o)),
        services(std::move(s)),
        workers(w),
        clock(c),
        log(l),
        health(NamesOf(services)) {}

  ServerOptions options;
  const std::vector<Service> services;
  Workers& workers;
  const Clock& clock;
  const Log& log;
  Health health;
  Routes routes;
  std::optional<ServerContexts> contexts;

  Socket listener;
  Socket epoll;
  Socket wake;  // an eventfd: another thread has left something
  int port = 0;
  std::thread thread;
  bool stopped = false;
  std::optional<TimePoint> accept_again;  // no connection is accepted before

  // By number, which an answer carries: a file descriptor may have another owner by then.
  std::map<uint64_t, std::unique_ptr<Connection>> connections;
  uint64_t last_number = 0;
  std::set<uint64_t> hungry;  // have decrypted bytes that were not handled yet

  struct LateAnswer {
    uint64_t connection = 0;
    int32_t stream = 0;
    Answer answer;
  };
  std::mutex mutex;
  std::vector<LateAnswer> late;  // guarded by mutex, as all below
  size_t running = 0;            // handlers on workers
  bool stop = false;
  TimePoint stop_at;

  static std::vector<std::string> NamesOf(const std::vector<Service>& services) {
    std::vector<std::string> names;
    for (const Service& service : services) names.push_back(service.name);
    return names;
  }

  Status Open();
  void Run();
  void Accept();
  void ListenTo(bool waiting_clients);
  void StartWaiting(uint64_t number, int32_t stream, const Route& route, std::string request,
                    Deadline deadline);
  void TakeLateAnswers();
  void Watch(uint64_t number, Connection& connection);
  void Drop(uint64_t number);
  void Serve(uint64_t number, bool readable);
  void Tick();
  bool Finished();
  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake.fd(), &one, sizeof one);
  }
};

Status Server::State::Open() {
  for (const Service& service : services) {
    for (const Method& method : service.methods) routes.Add(ToRoute(service, method));
  }
  health.AddTo(routes);
  std::vector<std::string> names = NamesOf(services);
  names.insert(names.end(), {"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                             "grpc.reflection.v1alpha.ServerReflection"});
  AddReflection(routes, std::move(names));
  if (options.certificates != nullptr) {
    TRY(ServerContext(*options.certificates->Current(), options.certificates->files().parts));
    contexts.emplace(options.certificates);
  }
  listener = TRY(Listen(options.listen));
  port = PortOf(listener);
  epoll = Socket(::epoll_create1(EPOLL_CLOEXEC));
  wake = Socket(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (epoll.fd() < 0 || wake.fd() < 0) return Internal("no epoll or eventfd");
  for (const int fd : {listener.fd(), wake.fd()}) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = fd == wake.fd() ? kWakeTag : kListenTag}};
    ::epoll_ctl(epoll.fd(), EPOLL_CTL_ADD, fd, &event);
  }
  thread = std::thread([this] { Run(); });
  return Status::Ok();
}

void Server::State::Run() {
  // A peer that is gone is an error of the write and not the end of the process. For this thread
  // alone, for it makes all writes, and the program may want its own way with the signal.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::array<epoll_event, 128> events{};
  bool stopping = false;
  TimePoint ticked = clock.Now();
  for (;;) {
    const int timeout = !hungry.empty() ? 0 : stopping ? 10 : accept_again ? 50 : kTickMs;
    const int n = ::epoll_wait(epoll.fd(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.u64 == kListenTag) {
        Accept();
      } else if (event.data.u64 == kWakeTag) {
        uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake.fd(), &ignored, sizeof ignored);
        TakeLateAnswers();
        health.Tell();
        for (auto it = connections.begin(); it != connections.end();) Serve((it++)->first, false);
      } else {
        Serve(event.data.u64, (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0);
      }
    }
    const std::set<uint64_t> again = std::exchange(hungry, {});
    for (const uint64_t number : again) Serve(number, true);
    if (clock.Now() - ticked >= std::chrono::milliseconds(kTickMs)) {
      ticked = clock.Now();
      Tick();
    }
    if (accept_again && clock.Now() >= *accept_again && !stopping) {
      accept_again.reset();
      ListenTo(true);
    }
    if (!stopping && [&] {
          const std::lock_guard lock(mutex);
          return stop;
        }()) {
      stopping = true;
      listener.Close();
      for (auto it = connections.begin(); it != connections.end();) {
        const uint64_t number = (it++)->first;
        connections.at(number)->session().GoAway();
        Serve(number, false);
      }
    }
    if (stopping && Finished()) return;
  }
}

// All calls are answered, or the time for that is over and their connections are cut. Handlers that
// run are always waited for.
bool Server::State::Finished() {
  const bool all_idle =
      std::ranges::all_of(connections, [](const auto& entry) { return entry.second->idle(); });
  const std::lock_guard lock(mutex);
  if (!all_idle && clock.Now() >= stop_at) connections.clear();
  return running == 0 && late.empty() && (all_idle || connections.empty());
}

void Server::State::ListenTo(bool waiting_clients) {
  epoll_event event{.events = waiting_clients ? uint32_t{EPOLLIN} : 0, .data = {.u64 = kListenTag}};
  ::epoll_ctl(epoll.fd(), EPOLL_CTL_MOD, listener.fd(), &event);
}

void Server::State::Accept() {
  for (;;) {
    Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.fd() < 0) {
      const int problem = errno;
      if (problem == EINTR || problem == ECONNABORTED) continue;
      if (problem == EAGAIN || problem == EWOULDBLOCK) return;
      // Out of file descriptors, mostly. The connection still waits, so that being told of it again
      // and again would only burn the processor.
      log.Warning("no connection can be accepted", {{"error", std::strerror(problem)}});
      accept_again = Later(clock.Now(), kAcceptPause);
      return ListenTo(false);
    }
    if (connections.size() >= kMaxConnections) {
      log.Warning("connection refused: too many", {{"limit", kMaxConnections}});
      continue;
    }
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SslPtr tls;
    if (contexts) {
      auto made = contexts->NewConnection(socket.fd());
      if (!made.ok()) {
        log.Error("connection refused", {{"error", made.status().message()}});
        continue;
      }
      tls = std::move(made).value();
    }
    const uint64_t number = ++last_number;
    const int fd = socket.fd();
    auto connection = std::make_unique<Connection>(
        std::move(socket), std::move(tls), routes, clock,
        [this, number](int32_t stream, const Route& route, std::string request, Deadline deadline) {
          StartWaiting(number, stream, route, std::move(request), deadline);
        },
        SessionLimits{.max_message_bytes = options.max_message_bytes});
    connections.emplace(number, std::move(connection));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
    ::epoll_ctl(epoll.fd(), EPOLL_CTL_ADD, fd, &event);
  }
}

void Server::State::StartWaiting(uint64_t number, int32_t stream, const Route& route,
                                 std::string request, Deadline deadline) {
  auto caller = std::make_shared<KeptCaller>();
  const Connection& connection = *connections.at(number);
  caller->names = connection.Names();
  caller->address = connection.Address();
  {
    const std::lock_guard lock(mutex);
    ++running;
  }
  const auto finish = [this, number, stream](Answer answer) {
    const std::lock_guard lock(mutex);
    late.push_back({number, stream, std::move(answer)});
    --running;
    Wake();  // under the lock: afterwards the server may be gone
  };
  auto shared_request = std::make_shared<const std::string>(std::move(request));
  const Status queued = workers.Submit([finish, caller, shared_request, deadline, &route] {
    finish(route.unary({.method = route.path,
                        .request = *shared_request,
                        .deadline = deadline,
                        .caller = caller.get()}));
  });
  if (queued.ok()) return;
  finish(Unavailable("the server is busy with calls of " + route.path + ": " + queued.message() +
                     "; try again"));
}

void Server::State::TakeLateAnswers() {
  std::vector<LateAnswer> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(late);
  }
  for (LateAnswer& one : taken) {
    const auto it = connections.find(one.connection);
    if (it != connections.end()) it->second->session().Answer(one.stream, std::move(one.answer));
  }
}

void Server::State::Serve(uint64_t number, bool readable) {
  const auto it = connections.find(number);
  if (it == connections.end()) return;
  Connection& connection = *it->second;
  const bool wanted_to_write = connection.wants_to_write();
  if (!(readable ? connection.OnReadable() : connection.Flush())) return Drop(number);
  if (connection.has_more()) hungry.insert(number);
  if (connection.wants_to_write() != wanted_to_write) Watch(number, connection);
}

void Server::State::Watch(uint64_t number, Connection& connection) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  if (connection.wants_to_write()) event.events |= EPOLLOUT;
  ::epoll_ctl(epoll.fd(), EPOLL_CTL_MOD, connection.fd(), &event);
}

void Server::State::Drop(uint64_t number) {
  const auto it = connections.find(number);
  if (!it->second->problem().empty()) {
    log.Info("connection closed", {{"peer", it->second->Address()},
                                   {"caller", Describe(it->second.get())},
                                   {"reason", it->second->problem()}});
  }
  hungry.erase(number);
  connections.erase(it);
}

void Server::State::Tick() {
  for (auto it = connections.begin(); it != connections.end();) {
    const auto [number, connection] = std::pair(it->first, it->second.get());
    ++it;
    if (!connection->OnTick()) {
      Drop(number);
    } else {
      Watch(number, *connection);
    }
  }
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { Stop(Duration::zero()); }

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, std::vector<Service> services,
                                              Workers& workers, const Clock& clock,
                                              const Log& log) {
  TRY(CheckListen(options));
  auto state =
      std::make_unique<State>(std::move(options), std::move(services), workers, clock, log);
  TRY(state->Open());
  log.Debug("gRPC server listens", {{"address", state->options.listen}, {"port", state->port}});
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

int Server::port() const { return state_->port; }

void Server::SetServing(bool serving) {
  state_->health.Set(serving);
  state_->Wake();
}

void Server::Stop(Duration grace) {
  if (state_->stopped) return;
  state_->stopped = true;
  state_->health.Set(false);
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->stop_at = Later(state_->clock.Now(), grace);
  }
  state_->Wake();
  state_->thread.join();
  // The last handler counts itself out while it still holds the lock.
  const std::lock_guard lock(state_->mutex);
}

}  // namespace coppice::grpc
