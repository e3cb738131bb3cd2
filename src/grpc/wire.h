// Bytes over one socket, with TLS or without, never waiting: what the server's end of a connection
// and the client's have in common. Internal to this module; one thread at a time.

#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "grpc/listen_socket.h"
#include "grpc/openssl_parts.h"

namespace coppice::grpc {

// A peer that is gone is an error of the write and not the end of the process: OpenSSL writes
// without MSG_NOSIGNAL. For the calling thread alone, which then makes all writes; the program may
// want its own way with the signal.
void BlockBrokenPipe();

class Wire {
 public:
  enum class Progress { kSome, kBlocked, kClosed };

  Wire() = default;
  Wire(Socket socket, SslPtr tls) : socket_(std::move(socket)), tls_(std::move(tls)) {}

  Progress Handshake();  // kSome: it is done
  Progress Read(char* buffer, size_t size, size_t& got);
  Progress Write(const char* bytes, size_t size, size_t& put);

  // Gives the socket back; this has none afterwards.
  Socket Release() { return std::move(socket_); }
  int fd() const { return socket_.fd(); }
  const SSL* tls() const { return tls_.get(); }
  // A handshake is blocked because the socket is full, and not because it is empty.
  bool handshake_wants_to_write() const { return tls_ != nullptr && SSL_want_write(tls_.get()); }
  // Why it is closed; empty: the other side went in peace.
  const std::string& problem() const { return problem_; }

 private:
  Progress TlsOutcome(int result);

  Socket socket_;
  SslPtr tls_;
  std::string problem_;
};

}  // namespace coppice::grpc
