#include "grpc/wire.h"

#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace coppice::grpc {

void BlockBrokenPipe() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

Wire::Progress Wire::TlsOutcome(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Progress::kBlocked;
    case SSL_ERROR_ZERO_RETURN:
      return Progress::kClosed;
    default:
      if (problem_.empty()) problem_ = TlsError();
      return Progress::kClosed;
  }
}

Wire::Progress Wire::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  return result == 1 ? Progress::kSome : TlsOutcome(result);
}

Wire::Progress Wire::Read(char* buffer, size_t size, size_t& got) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_read_ex(tls_.get(), buffer, size, &got);
    return result == 1 ? Progress::kSome : TlsOutcome(result);
  }
  const ssize_t n = ::recv(socket_.fd(), buffer, size, 0);
  if (n > 0) {
    got = static_cast<size_t>(n);
    return Progress::kSome;
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? Progress::kBlocked : Progress::kClosed;
}

Wire::Progress Wire::Write(const char* bytes, size_t size, size_t& put) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_write_ex(tls_.get(), bytes, size, &put);
    return result == 1 ? Progress::kSome : TlsOutcome(result);
  }
  const ssize_t n = ::send(socket_.fd(), bytes, size, MSG_NOSIGNAL);
  if (n >= 0) {
    put = static_cast<size_t>(n);
    return Progress::kSome;
  }
  return errno == EAGAIN || errno == EINTR ? Progress::kBlocked : Progress::kClosed;
}

}  // namespace coppice::grpc
