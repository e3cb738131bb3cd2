#include "grpc/connection.h"

#include <algorithm>
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
    : wire_(std::move(socket), std::move(tls)),
      clock_(parts.clock),
      load_(parts.load),
      terms_(terms),
      address_(PeerOf(wire_.fd())),
      session_({.routes = parts.routes,
                .caller = *this,
                .clock = parts.clock,
                .load = parts.load,
                .start_waiting = std::move(parts.start_waiting)},
               limits),
      handshaken_(wire_.tls() == nullptr),
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

bool Connection::Handshake() {
  const Wire::Progress progress = wire_.Handshake();
  if (progress == Wire::Progress::kSome) {
    handshaken_ = true;
    names_ = ClientNames(wire_.tls());
    blocked_ = false;
    CheckName();
    return true;
  }
  NoteProblem();
  // Our part of the handshake may be larger than the socket's buffer, if only in theory.
  blocked_ = progress == Wire::Progress::kBlocked && wire_.handshake_wants_to_write();
  return progress == Wire::Progress::kBlocked;
}

void Connection::NoteProblem() {
  if (problem_.empty()) problem_ = wire_.problem();
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
    const Wire::Progress progress = wire_.Read(buffer.data(), buffer.size(), got);
    if (progress == Wire::Progress::kClosed) {
      NoteProblem();
      return false;
    }
    if (progress == Wire::Progress::kBlocked) break;
    heard_ = clock_.Now();
    pinged_ = false;
    if (const Status taken = session_.Receive({buffer.data(), got}); !taken.ok()) {
      problem_ = taken.message();
      broken_ = true;
      break;
    }
    // What is read in one go is answered in one go: that is where the speed comes from.
    if (wire_.tls() == nullptr && got < buffer.size()) break;
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
    const Wire::Progress progress = wire_.Write(out_.data() + sent_, pending_ - sent_, put);
    if (progress == Wire::Progress::kClosed) {
      NoteProblem();
      return false;
    }
    if (progress == Wire::Progress::kBlocked) {
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
    load_.Refuse(Refusal::kNotReading, Describe(this), problem_);
    return false;
  }
  // Who does not read is not read either: that a request has not come to its end, or that nothing
  // is heard, is our doing then. It grows old all the same, or a few bytes a minute would keep it.
  if (!blocked_) session_.Tick();
  if (TooOld(now)) return false;
  if (blocked_) return true;
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
