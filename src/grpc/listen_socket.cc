#include "grpc/listen_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace coppice::grpc {
namespace {

constexpr int kBacklog = 512;

Status CannotListen(const std::string& listen, int error) {
  return Unavailable("cannot listen on " + listen + ": " + std::strerror(error) +
                     (error == EADDRINUSE ? "; is another process using it?" : ""));
}

Result<Socket> ListenOnUnix(const std::string& listen) {
  const std::string path = listen.substr(5);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return InvalidArgument("listen: " + listen + " is not a path that a Unix socket can have");
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return CannotListen(listen, errno);
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) {
    // Left behind by a process that is gone, unless somebody answers.
    const Socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(probe.fd(), any, sizeof address) == 0) return CannotListen(listen, EADDRINUSE);
    ::unlink(path.c_str());
  }
  if (::bind(socket.fd(), any, sizeof address) != 0 || ::listen(socket.fd(), kBacklog) != 0)
    return CannotListen(listen, errno);
  return socket;
}

Result<Socket> ListenAt(const addrinfo& address, const std::string& listen) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return CannotListen(listen, errno);
  const int on = 1;
  const int off = 0;
  // Not SO_REUSEPORT: two providers on one port would each answer half of the calls.
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6)
    ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket.fd(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.fd(), kBacklog) != 0)
    return CannotListen(listen, errno);
  return socket;
}

}  // namespace

bool IsUnixAddress(const std::string& listen) { return listen.rfind("unix:", 0) == 0; }

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Socket> Listen(const std::string& listen) {
  if (IsUnixAddress(listen)) return ListenOnUnix(listen);
  const size_t colon = listen.rfind(':');
  std::string host = listen.substr(0, colon);
  const std::string port = listen.substr(colon + 1);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (host.empty()) {
    wanted.ai_family = AF_INET6;  // ":8086" is Go's way of saying every interface, of both kinds
    host = "::";
  }
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); error != 0)
    return InvalidArgument("cannot listen on " + listen + ": " + ::gai_strerror(error));
  auto socket = ListenAt(*found, listen);
  ::freeaddrinfo(found);
  // A machine without IPv6.
  if (!socket.ok() && host == "::" && socket.status().message().find("in use") == std::string::npos)
    return Listen("0.0.0.0:" + port);
  return socket;
}

int PortOf(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
  if (address.ss_family == AF_UNIX) return "unix";
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host) + ":" + port;
}

}  // namespace coppice::grpc
