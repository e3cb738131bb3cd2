#include "test/e2e/cutting_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace coppice::test {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

void Pump(int from, int to) {
  char buffer[16384];
  for (ssize_t n = 0; (n = recv(from, buffer, sizeof buffer, 0)) > 0;) {
    for (ssize_t sent = 0; sent < n;) {
      const ssize_t part = send(to, buffer + sent, static_cast<size_t>(n - sent), MSG_NOSIGNAL);
      if (part <= 0) {
        shutdown(from, SHUT_RDWR);
        return;
      }
      sent += part;
    }
  }
  shutdown(to, SHUT_RDWR);
}

}  // namespace

CuttingProxy::CuttingProxy(int to_port) : to_port_(to_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port for the proxy");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

CuttingProxy::~CuttingProxy() {
  open_ = false;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  Cut();
  for (Pair& pair : pairs_) {
    pair.there.join();
    pair.back.join();
    close(pair.near);
    close(pair.far);
  }
  close(listener_);
}

void CuttingProxy::Accept() {
  for (;;) {
    const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return;
    ++accepted_;
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(to_port_);
    if (!open_ || connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(near);
      close(far);
      continue;
    }
    const std::lock_guard lock(mutex_);
    Pair& pair = pairs_.emplace_back();
    pair.near = near;
    pair.far = far;
    pair.there = std::thread([near, far] { Pump(near, far); });
    pair.back = std::thread([near, far] { Pump(far, near); });
  }
}

void CuttingProxy::Cut() {
  const std::lock_guard lock(mutex_);
  for (const Pair& pair : pairs_) {
    shutdown(pair.near, SHUT_RDWR);
    shutdown(pair.far, SHUT_RDWR);
  }
}

void CuttingProxy::Close() {
  open_ = false;
  Cut();
}

}  // namespace coppice::test
