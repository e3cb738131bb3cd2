#include "grpc/client_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "grpc/client_tls.h"
#include "net/url.h"

namespace coppice::grpc {
namespace {

constexpr size_t kPiece = 64UL << 10;
// To be connected and to have shaken hands; the library's time, too.
constexpr auto kConnectTime = std::chrono::seconds(20);
// With calls in progress and nothing heard: whether anybody is there.
constexpr auto kAskAfter = std::chrono::seconds(30);
constexpr auto kAnswerWithin = std::chrono::seconds(10);

std::string Because(int error) { return std::generic_category().message(error); }

std::string UnixPath(std::string_view address) {
  address.remove_prefix(std::string_view("unix:").size());
  if (address.starts_with("//")) address.remove_prefix(2);  // unix:///path
  return std::string(address);
}

std::string HostIn(const ClientConnection::Options& options) {
  if (!options.server_name.empty()) return options.server_name;
  if (IsUnixAddress(options.address)) return "localhost";
  const auto at = net::ParseHostPort(options.address);
  return at.ok() ? at->host : options.address;
}

}  // namespace

ClientConnection::ClientConnection(Options options)
    : options_(std::move(options)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      session_({.authority = !options_.server_name.empty()     ? options_.server_name
                             : IsUnixAddress(options_.address) ? "localhost"
                                                               : options_.address,
                .tls = options_.material != nullptr,
                .max_message_bytes = options_.max_message_bytes}),
      thread_([this] { Run(); }) {}

ClientConnection::~ClientConnection() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  Wake();
  thread_.join();
}

void ClientConnection::Wake() {
  const uint64_t one = 1;
  // Full is as good as written.
  [[maybe_unused]] const ssize_t written = ::write(wake_.fd(), &one, sizeof one);
}

bool ClientConnection::takes_calls() const {
  const MutexLock lock(mutex_);
  return takes_calls_;
}

CallEnd ClientConnection::Call(const std::string& method, std::string_view request,
                               std::optional<Duration> left) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->call = {.method = method, .request = std::string(request), .timeout = left, .end = {}};
  {
    const MutexLock lock(mutex_);
    if (over_) return {*over_, !refused_};
    new_.push_back(waiting);
    Wake();
  }
  {
    UniqueMutexLock lock(waiting->mutex);
    const auto ended = [&]() COPPICE_REQUIRES(waiting->mutex) { return waiting->end.has_value(); };
    if (left) {
      waiting->ended.wait_until(lock.standard(), Real::now() + *left, ended);
    } else {
      waiting->ended.wait(lock.standard(), ended);
    }
    if (waiting->end) return *std::move(waiting->end);
    waiting->gone = true;
  }
  const MutexLock lock(mutex_);
  given_up_.push_back(waiting);
  Wake();
  return {DeadlineExceeded(connected_ ? "no answer of " + options_.address + " in time"
                                      : "no connection to " + options_.address + " in time")};
}

void ClientConnection::Tell(Waiting& waiting, CallEnd end) {
  const MutexLock lock(waiting.mutex);
  waiting.end = std::move(end);
  waiting.ended.notify_all();
}

void ClientConnection::Run() {
  BlockBrokenPipe();
  Status why = Serve();
  if (why.ok()) why = Unavailable("the connection to " + options_.address + " was closed");
  session_.End(why);
  const MutexLock lock(mutex_);
  takes_calls_ = false;
  over_ = why;
  for (const auto& waiting : new_) Tell(*waiting, {why, !refused_});
  new_.clear();
}

Status ClientConnection::Serve() {
  TRY(Connect().Context("no connection to " + options_.address));
  heard_ = Real::now();
  {
    const MutexLock lock(mutex_);
    connected_ = true;
    refused_ = false;
  }
  while (TakeOrders()) {
    TRY(WriteAll());
    if (session_.done()) break;
    int wait_ms = -1;
    TRY(KeepAlive(Real::now(), wait_ms));
    if (!blocked_) TRY(WriteAll());  // a ping, perhaps
    const short wanted = static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN);
    pollfd fds[] = {{wire_.fd(), wanted, 0}, {wake_.fd(), POLLIN, 0}};
    ::poll(fds, std::size(fds), wait_ms);
    if (fds[1].revents != 0) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t taken = ::read(wake_.fd(), &count, sizeof count);
    }
    if (fds[0].revents != 0) TRY(ReadAll());
  }
  return Status::Ok();
}

bool ClientConnection::TakeOrders() {
  std::deque<std::shared_ptr<Waiting>> begun;
  std::vector<std::shared_ptr<Waiting>> given_up;
  {
    const MutexLock lock(mutex_);
    if (stop_) return false;
    takes_calls_ = session_.takes_calls();
    std::swap(begun, new_);
    std::swap(given_up, given_up_);
  }
  std::erase_if(begun, [](const auto& waiting) {
    const MutexLock lock(waiting->mutex);
    return waiting->gone;
  });
  for (const auto& waiting : begun) {
    ClientCall call = std::move(waiting->call);
    call.end = [waiting](CallEnd end) { Tell(*waiting, std::move(end)); };
    const auto number = session_.Start(std::move(call));
    if (number.ok()) {
      waiting->number = *number;
    } else {
      Tell(*waiting, {number.status(), true});
    }
  }
  for (const auto& waiting : given_up) {
    if (waiting->number != 0) session_.Cancel(waiting->number);
  }
  return true;
}

Status ClientConnection::ReadAll() {
  thread_local std::string buffer(kPiece, '\0');
  for (;;) {
    size_t got = 0;
    const Wire::Progress progress = wire_.Read(buffer.data(), buffer.size(), got);
    if (progress == Wire::Progress::kBlocked) return Status::Ok();
    if (progress == Wire::Progress::kClosed) {
      const std::string& why = wire_.problem();
      return Unavailable("the connection to " + options_.address + " was closed" +
                         (why.empty() ? "" : ": " + why));
    }
    heard_ = Real::now();
    pinged_ = false;
    TRY(session_.Receive({buffer.data(), got}));
    if (wire_.tls() == nullptr && got < buffer.size()) return Status::Ok();
  }
}

Status ClientConnection::WriteAll() {
  for (;;) {
    if (sent_ == out_.size()) {
      out_.clear();
      sent_ = 0;
      blocked_ = false;
      if (!session_.Pull(out_, kPiece)) return Status::Ok();
    }
    size_t put = 0;
    const Wire::Progress progress = wire_.Write(out_.data() + sent_, out_.size() - sent_, put);
    if (progress == Wire::Progress::kBlocked) {
      blocked_ = true;
      return Status::Ok();
    }
    if (progress == Wire::Progress::kClosed) {
      // What the server said before it closed may say why.
      TRY(ReadAll());
      return Unavailable("the connection to " + options_.address + " was closed: " +
                         (wire_.problem().empty() ? Because(EPIPE) : wire_.problem()));
    }
    sent_ += put;
  }
}

Status ClientConnection::KeepAlive(Real::time_point now, int& wait_ms) {
  if (session_.calls() == 0) return Status::Ok();  // nobody would mind
  auto due = heard_ + kAskAfter + (pinged_ ? kAnswerWithin : std::chrono::seconds(0));
  if (now >= due) {
    if (pinged_) return Unavailable(options_.address + " has not answered a ping");
    pinged_ = true;
    session_.Ping();
    due += kAnswerWithin;
  }
  wait_ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(due - now).count());
  return Status::Ok();
}

Status ClientConnection::WaitFor(short events, Real::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Real::now());
    if (left.count() <= 0) return Unavailable("it took too long");
    pollfd fds[] = {{wire_.fd(), events, 0}, {wake_.fd(), POLLIN, 0}};
    ::poll(fds, std::size(fds), static_cast<int>(left.count()));
    if (fds[1].revents != 0) {
      // Orders are taken once there is a connection; only the end is of interest now.
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t taken = ::read(wake_.fd(), &count, sizeof count);
      const MutexLock lock(mutex_);
      if (stop_) return Cancelled("it is not wanted any more");
    }
    if (fds[0].revents != 0) return Status::Ok();
  }
}

Status ClientConnection::ConnectTo(int family, const void* address, size_t size,
                                   Real::time_point until) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return Unavailable(Because(errno));
  if (family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  const int begun =
      ::connect(socket.fd(), static_cast<const sockaddr*>(address), static_cast<socklen_t>(size));
  if (begun != 0 && errno != EINPROGRESS) return Unavailable(Because(errno));
  wire_ = Wire(std::move(socket), nullptr);
  if (begun == 0) return Status::Ok();
  TRY(WaitFor(POLLOUT, until));
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(wire_.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? Status::Ok() : Unavailable(Because(error));
}

Status ClientConnection::Connect() {
  const auto until = Real::now() + kConnectTime;
  if (IsUnixAddress(options_.address)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = UnixPath(options_.address);
    if (path.empty() || path.size() >= sizeof address.sun_path)
      return InvalidArgument("a socket's path has 1 to 107 characters");
    std::memcpy(address.sun_path, path.data(), path.size());
    TRY(ConnectTo(AF_UNIX, &address, sizeof address, until));
    return Secure(until);
  }
  const auto at = TRY(net::ParseHostPort(options_.address));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(at.port);
  const std::string host = at.host.empty() ? "localhost" : at.host;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); error != 0)
    return Unavailable(::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  size_t count = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) ++count;
  Status last = Unavailable("the name has no address");
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    // One that swallows everything leaves time for the others.
    const auto share = Real::now() + (until - Real::now()) / static_cast<int64_t>(count--);
    last = ConnectTo(one->ai_family, one->ai_addr, one->ai_addrlen, share);
    if (last.ok()) last = Secure(until);
    if (last.ok() || last.code() == Code::kCancelled) return last;
  }
  return last;
}

Status ClientConnection::Secure(Real::time_point until) {
  if (options_.material == nullptr) return Status::Ok();
  {
    const MutexLock lock(mutex_);
    refused_ = true;  // until all is well
  }
  Socket socket = wire_.Release();
  const int fd = socket.fd();
  wire_ = Wire(std::move(socket), TRY(NewClientTls(*options_.material, HostIn(options_), fd)));
  for (;;) {
    const Wire::Progress progress = wire_.Handshake();
    if (progress == Wire::Progress::kSome) return CheckProtocol(wire_.tls());
    if (progress == Wire::Progress::kClosed)
      return Unavailable("the TLS handshake failed: " +
                         HandshakeProblem(wire_.tls(), wire_.problem()));
    TRY(WaitFor(wire_.handshake_wants_to_write() ? POLLOUT : POLLIN, until)
            .Context("the TLS handshake"));
  }
}

}  // namespace coppice::grpc
