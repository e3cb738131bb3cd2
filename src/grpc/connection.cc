#include "grpc/connection.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace coppice::grpc {
namespace {

constexpr size_t kReadBytes = 64UL << 10;
constexpr size_t kWriteBytes = 64UL << 10;
constexpr int kReadsPerTurn = 16;  // then the others have theirs
constexpr Duration kHandshakeTime = std::chrono::seconds(10);
constexpr Duration kSilence = std::chrono::seconds(30);  // then we ask whether anybody is there
constexpr Duration kPingTime = std::chrono::seconds(10);
constexpr Duration kStuck = std::chrono::seconds(60);  // a client that reads nothing

}  // namespace

Connection::Connection(Socket socket, SslPtr tls, const Routes& routes, const Clock& clock,
                       Http2Session::StartWaiting start_waiting, SessionLimits limits)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      clock_(clock),
      address_(PeerOf(socket_.fd())),
      session_(routes, *this, clock, std::move(start_waiting), limits),
      handshaken_(tls_ == nullptr),
      heard_(clock.Now()),
      moved_(heard_) {}

Connection::Progress Connection::TlsOutcome(int result) {
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

bool Connection::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  if (result == 1) {
    handshaken_ = true;
    names_ = ClientNames(tls_.get());
    return true;
  }
  const Progress progress = TlsOutcome(result);
  // Our part of the handshake may be larger than the socket's buffer, if only in theory.
  blocked_ = progress == Progress::kBlocked && SSL_want_write(tls_.get());
  return progress == Progress::kBlocked;
}

Connection::Progress Connection::Read(char* buffer, size_t size, size_t& got) {
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

Connection::Progress Connection::Write(const char* bytes, size_t size, size_t& put) {
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

bool Connection::OnReadable() {
  if (!handshaken_ && (!Handshake() || !handshaken_)) return problem_.empty() && !handshaken_;
  thread_local std::string buffer(kReadBytes, '\0');
  has_more_ = false;
  for (int turn = 0;; ++turn) {
    if (turn == kReadsPerTurn) {
      has_more_ = true;
      break;
    }
    size_t got = 0;
    const Progress progress = Read(buffer.data(), buffer.size(), got);
    if (progress == Progress::kClosed) return false;
    if (progress == Progress::kBlocked) break;
    heard_ = clock_.Now();
    pinged_ = false;
    if (const Status taken = session_.Receive({buffer.data(), got}); !taken.ok()) {
      problem_ = taken.message();
      broken_ = true;
      break;
    }
    // What is read in one go is answered in one go: that is where the speed comes from.
    if (tls_ == nullptr && got < buffer.size()) break;
  }
  return Flush();
}

bool Connection::Flush() {
  if (!handshaken_) return true;
  for (;;) {
    if (sent_ == pending_) {
      out_.clear();
      sent_ = 0;
      session_.Pull(out_, kWriteBytes);
      pending_ = out_.size();
      if (pending_ == 0) {
        blocked_ = false;
        moved_ = clock_.Now();
        return !broken_ && !session_.done();
      }
    }
    size_t put = 0;
    const Progress progress = Write(out_.data() + sent_, pending_ - sent_, put);
    if (progress == Progress::kClosed) return false;
    if (progress == Progress::kBlocked) {
      blocked_ = true;
      return true;
    }
    moved_ = clock_.Now();
    sent_ += put;
  }
}

bool Connection::OnTick() {
  const TimePoint now = clock_.Now();
  if (!handshaken_) {
    if (now - heard_ < kHandshakeTime) return true;
    problem_ = "no TLS handshake within " +
               std::to_string(kHandshakeTime / std::chrono::seconds(1)) + " s";
    return false;
  }
  if (blocked_ && now - moved_ > kStuck) {
    problem_ = "the client does not read";
    return false;
  }
  if (now - heard_ < kSilence) return true;
  if (!pinged_) {
    pinged_ = true;
    session_.Ping();
    return Flush();
  }
  if (now - heard_ < kSilence + kPingTime) return true;
  problem_ = "the client has not answered a ping";
  return false;
}

}  // namespace coppice::grpc
