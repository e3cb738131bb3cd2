// What all connections of a server hold together, and what was refused because of it or cut off:
// counted by reason, and logged without letting a hostile client fill the log. Internal to this
// module.
//
// Bytes are taken and returned on the server's thread; refusals come from any.

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/status.h"

namespace coppice::grpc {

// The label `reason` of PREFIXgrpc_refused_total.
enum class Refusal {
  kBytes,        // more would be held than the server may
  kTooLarge,     // one message is larger than the limit
  kNotAllowed,   // the client's name is not on the list
  kNotReading,   // answers pile up
  kSlowRequest,  // a request that does not come to its end
  kFlood,        // frames that ask for nothing
  kExpired,      // its deadline had passed before it was started
  kCancelled,    // given up by its client before it was started
  kConnections,  // too many at once
};
inline constexpr size_t kRefusals = 9;

std::string_view ToString(Refusal reason);

struct ServerLoadOptions {
  size_t max_bytes = 192UL << 20;
  Metrics* metrics = nullptr;  // null: only counted here
  std::string metric_prefix;
};

class ServerLoad {
 public:
  ServerLoad(ServerLoadOptions options, const Clock& clock, const Log& log);

  // False, and nothing is taken, when it would be more than may be held.
  bool Take(size_t bytes) {
    if (bytes > left()) return false;
    held_ += bytes;
    return true;
  }
  void Return(size_t bytes) { held_ -= bytes; }
  size_t held() const { return held_; }
  size_t left() const { return options_.max_bytes - held_; }
  size_t max_bytes() const { return options_.max_bytes; }

  // Counts it, and logs it unless one of its kind was logged within the last seconds.
  void Refuse(Refusal reason, std::string_view who, std::string_view why);
  uint64_t refused(Refusal reason) const;

  // What is held and how many connections there are, as metrics.
  void Publish(size_t connections);

 private:
  struct Kind {
    uint64_t count = 0;
    uint64_t logged = 0;  // of count, when it was last logged
    TimePoint logged_at;
    Counter* counter = nullptr;
  };

  const ServerLoadOptions options_;
  const Clock& clock_;
  const Log& log_;
  size_t held_ = 0;
  Gauge* held_bytes_ = nullptr;
  Gauge* connections_ = nullptr;
  mutable Mutex mutex_;
  std::array<Kind, kRefusals> kinds_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::grpc
