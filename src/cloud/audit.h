// One entry per mutation that somebody asked for: who, what was asked, what was done.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"

namespace coppice::cloud {

struct AuditEntry {
  TimePoint at;        // when it was asked
  std::string caller;  // certificate name; "" when nobody said
  std::string action;  // "increase", "delete", "decrease_target"
  std::string group;
  int64_t asked = 0;               // how many machines
  int64_t done = 0;                // how many of them the cloud or we have confirmed
  int64_t pending = 0;             // how many go on in the background
  std::vector<std::string> names;  // what was asked for: ids to delete, names that were ordered
  Status status;
};

using AuditSink = std::function<void(const AuditEntry&)>;

// A log line per entry, at info, with the key "audit".
AuditSink AuditToLog(const Log& log);

// Who asks, for the mutations that this thread makes while the object lives. A server sets it
// around a call from the client's certificate, so that the contract itself need not carry it.
class CallerScope {
 public:
  explicit CallerScope(std::string_view caller);
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

  static std::string_view Current();  // "" outside any scope

 private:
  std::string_view before_;
};

}  // namespace coppice::cloud
