// A listening socket from "host:port", ":port" or "unix:/path". Internal to this module.

#pragma once

#include <string>

#include "base/status.h"

namespace coppice::grpc {

bool IsUnixAddress(const std::string& listen);

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }
  void Close();

 private:
  int fd_ = -1;
};

// Does not block on accept. A Unix socket that nobody serves any more is replaced.
Result<Socket> Listen(const std::string& listen);
int PortOf(const Socket& socket);  // 0 on a Unix socket
// Of the other end: "10.0.0.7:41234", "unix".
std::string PeerOf(int fd);

}  // namespace coppice::grpc
