#include "grpc/server_load.h"

#include <utility>

namespace coppice::grpc {
namespace {

constexpr Duration kLogPause = std::chrono::seconds(10);

}  // namespace

std::string_view ToString(Refusal reason) {
  switch (reason) {
    case Refusal::kBytes:
      return "server_full";
    case Refusal::kTooLarge:
      return "message_too_large";
    case Refusal::kNotAllowed:
      return "client_not_allowed";
    case Refusal::kNotReading:
      return "client_does_not_read";
    case Refusal::kSlowRequest:
      return "request_too_slow";
    case Refusal::kFlood:
      return "flood";
    case Refusal::kExpired:
      return "deadline_passed_before_start";
    case Refusal::kCancelled:
      return "cancelled_before_start";
    case Refusal::kConnections:
      return "too_many_connections";
  }
  return "unknown";
}

ServerLoad::ServerLoad(ServerLoadOptions options, const Clock& clock, const Log& log)
    : options_(std::move(options)), clock_(clock), log_(log) {
  if (options_.metrics == nullptr) return;
  const std::string& prefix = options_.metric_prefix;
  held_bytes_ = &options_.metrics->GetGauge(
      prefix + "grpc_held_bytes", "Bytes of requests and answers in progress, all connections.");
  connections_ = &options_.metrics->GetGauge(prefix + "grpc_connections", "Open connections.");
  // All from the start, so that a rate over them sees the first refusal.
  for (size_t i = 0; i < kRefusals; ++i) {
    kinds_[i].counter = &options_.metrics->GetCounter(
        prefix + "grpc_refused_total", "Calls and connections refused or cut off, by reason.",
        {{"reason", std::string(ToString(static_cast<Refusal>(i)))}});
  }
}

void ServerLoad::Refuse(Refusal reason, std::string_view who, std::string_view why) {
  const TimePoint now = clock_.Now();
  uint64_t since = 0;
  {
    const MutexLock lock(mutex_);
    Kind& kind = kinds_[static_cast<size_t>(reason)];
    ++kind.count;
    if (kind.counter != nullptr) kind.counter->Increment();
    if (kind.logged != 0 && now - kind.logged_at < kLogPause) return;
    since = kind.count - kind.logged;
    kind.logged = kind.count;
    kind.logged_at = now;
  }
  log_.Warning(
      "refused",
      {{"reason", ToString(reason)}, {"caller", who}, {"detail", why}, {"since_last_line", since}});
}

uint64_t ServerLoad::refused(Refusal reason) const {
  const MutexLock lock(mutex_);
  return kinds_[static_cast<size_t>(reason)].count;
}

void ServerLoad::Publish(size_t connections) {
  if (held_bytes_ == nullptr) return;
  held_bytes_->Set(static_cast<double>(held_));
  connections_->Set(static_cast<double>(connections));
}

}  // namespace coppice::grpc
