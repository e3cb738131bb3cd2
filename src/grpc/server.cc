#include "grpc/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "grpc/connection.h"
#include "grpc/health.h"
#include "grpc/listen_socket.h"
#include "grpc/reflection.h"
#include "grpc/routes.h"
#include "grpc/server_tls.h"
#include "grpc/waiting_calls.h"

namespace coppice::grpc {
namespace {

// Instead of a connection's number.
constexpr uint64_t kListenTag = UINT64_MAX;
constexpr uint64_t kWakeTag = UINT64_MAX - 1;

constexpr int kTickMs = 1'000;
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

Route ToRoute(const Service& service, const Method& method) {
  return {.path = service.PathOf(method), .unary = method.handler, .waits = method.waits};
}

}  // namespace

// The thread that reads and writes every connection, and what it shares with the others.
struct Server::State {
  State(ServerOptions o, std::vector<Service> s, Workers& w, const Clock& c, const Log& l)
      : options(std::move(o)),
        services(std::move(s)),
        clock(c),
        log(l),
        load({.max_bytes = options.max_held_bytes != 0 ? options.max_held_bytes
                                                       : 3 * options.max_message_bytes,
              .metrics = options.metrics,
              .metric_prefix = options.metric_prefix},
             clock, log),
        allowed_clients(options.allowed_clients.begin(), options.allowed_clients.end()),
        waiting(w, clock, load, [this] { Wake(); }),
        health(NamesOf(services)) {}

  ServerOptions options;
  const std::vector<Service> services;
  const Clock& clock;
  const Log& log;
  ServerLoad load;  // before the connections, which return to it what they hold
  const std::set<std::string> allowed_clients;
  WaitingCalls waiting;
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

  Mutex mutex;
  bool stop COPPICE_GUARDED_BY(mutex) = false;  // guarded by mutex, as what is below
  TimePoint stop_at COPPICE_GUARDED_BY(mutex);

  static std::vector<std::string> NamesOf(const std::vector<Service>& services) {
    std::vector<std::string> names;
    for (const Service& service : services) names.push_back(service.name);
    return names;
  }

  Status Open();
  void Run();
  void Accept();
  void ListenTo(bool waiting_clients);
  bool MakeRoom();
  void Admit(Socket socket, SslPtr tls);
  Duration AgeOf(uint64_t number) const;
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
  BlockBrokenPipe();
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
          const MutexLock lock(mutex);
          return stop;
        }()) {
      stopping = true;
      listener.Close();
      for (auto it = connections.begin(); it != connections.end();) {
        const uint64_t number = (it++)->first;
        connections.at(number)->session().GoAway();
        connections.at(number)->session().EndStreams(Unavailable("the server stops"));
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
  const MutexLock lock(mutex);
  if (!all_idle && clock.Now() >= stop_at) connections.clear();
  return waiting.idle() && (all_idle || connections.empty());
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
    if (connections.size() >= options.max_connections && !MakeRoom()) {
      load.Refuse(Refusal::kConnections, PeerOf(socket.fd()),
                  "there are " + std::to_string(connections.size()) + " connections");
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
    Admit(std::move(socket), std::move(tls));
  }
}

// Who has not shown a certificate yet makes room for who may: the one that has taken longest.
bool Server::State::MakeRoom() {
  for (const auto& [number, connection] : connections) {
    if (connection->handshaken()) continue;
    load.Refuse(Refusal::kConnections, connection->Address(),
                "no handshake yet, and others wait for the place");
    Drop(number);
    return true;
  }
  return false;
}

// A tenth more or less, evenly spread over connections that come one after another.
Duration Server::State::AgeOf(uint64_t number) const {
  constexpr double kGolden = 0.6180339887498949;
  const double part = std::fmod(static_cast<double>(number) * kGolden, 1.0);
  return std::chrono::duration_cast<Duration>(options.max_connection_age * (0.9 + 0.2 * part));
}

void Server::State::Admit(Socket socket, SslPtr tls) {
  const uint64_t number = ++last_number;
  const int fd = socket.fd();
  Connection::Parts parts{.routes = routes,
                          .clock = clock,
                          .load = load,
                          .start_waiting = [this, number](WaitingCall call) {
                            waiting.Start(number, *connections.at(number), std::move(call));
                          }};
  auto connection =
      std::make_unique<Connection>(std::move(socket), std::move(tls), std::move(parts),
                                   SessionLimits{.max_message_bytes = options.max_message_bytes},
                                   ConnectionTerms{.max_age = AgeOf(number),
                                                   .age_grace = options.connection_age_grace,
                                                   .allowed_clients = &allowed_clients});
  connections.emplace(number, std::move(connection));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  ::epoll_ctl(epoll.fd(), EPOLL_CTL_ADD, fd, &event);
}

void Server::State::TakeLateAnswers() {
  for (WaitingCalls::Late& one : waiting.Take()) {
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
  epoll_event event{.events = connection.wants_to_write() ? uint32_t{EPOLLOUT} : uint32_t{EPOLLIN},
                    .data = {.u64 = number}};
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
  load.Publish(connections.size());
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
    const MutexLock lock(state_->mutex);
    state_->stop = true;
    state_->stop_at = Later(state_->clock.Now(), grace);
  }
  state_->Wake();
  state_->thread.join();
  // The last handler counts itself out while it still holds the lock.
  (void)state_->waiting.idle();
}

}  // namespace coppice::grpc
