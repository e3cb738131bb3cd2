#include "grpc/connection.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/strings.h"

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

Connection::Connection(Socket socket, SslPtr tls, Parts parts, SessionLimits limits,
                       ConnectionTerms terms)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      clock_(parts.clock),
      load_(parts.load),
      terms_(terms),
      address_(PeerOf(socket_.fd())),
      session_({.routes = parts.routes,
                .caller = *this,
                .clock = parts.clock,
                .load = parts.load,
                .start_waiting = std::move(parts.start_waiting)},
               limits),
      handshaken_(tls_ == nullptr),
      born_(clock_.Now()),
      heard_(born_),
      moved_(born_) {
  if (handshaken_) CheckName();
}

void Connection::CheckName() {
  if (terms_.allowed_clients == nullptr || terms_.allowed_clients->empty()) return;
  const auto known = [&](const auto& name) { return terms_.allowed_clients->contains(name); };
  if (std::ranges::any_of(names_, known)) return;
  session_.Forbid(PermissionDenied(
      "client certificate " + (names_.empty() ? "without a name" : "'" + Join(names_, ", ") + "'") +
      " is not in tls.allowedClientNames; add its name there or use another certificate"));
}

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
    blocked_ = false;
    CheckName();
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
  // Answers would pile up here instead of there.
  if (blocked_) {
    if (!Flush()) return false;
    if (blocked_) return true;
  }
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
  if (!handshaken_) return !blocked_ || OnReadable();
  for (;;) {
    if (sent_ == pending_) {
      out_.clear();
      sent_ = 0;
      session_.Pull(out_, kWriteBytes);
      pending_ = out_.size();
      if (pending_ == 0) {
        blocked_ = false;
        moved_ = clock_.Now();
        if (broken_) return false;
        if (!session_.done()) return true;
        if (problem_.empty()) problem_ = session_.complaint();
        return false;
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
  if (blocked_) {  // and so it is not read either
    if (now - moved_ <= kStuck) return true;
    problem_ = "the client does not read";
    load_.Refuse(Refusal::kNotReading, Describe(this), problem_);
    return false;
  }
  session_.Tick();
  if (TooOld(now)) return false;
  if (now - heard_ < kSilence) return Flush();
  if (!pinged_) {
    pinged_ = true;
    session_.Ping();
    return Flush();
  }
  if (now - heard_ < kSilence + kPingTime) return true;
  problem_ = "the client has not answered a ping";
  return false;
}

// Tells it to go when its time has come, and says whether it has stayed too long after that.
bool Connection::TooOld(TimePoint now) {
  if (terms_.max_age <= Duration::zero() || now - born_ < terms_.max_age) return false;
  if (!told_to_go_) {
    told_to_go_ = true;
    session_.GoAway();
    return false;
  }
  if (now - born_ - terms_.max_age < terms_.age_grace) return false;
  problem_ = "older than a connection may be, and its calls do not end";
  return true;
}

}  // namespace coppice::grpc
