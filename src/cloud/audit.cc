#include "cloud/audit.h"

#include "base/strings.h"

namespace coppice::cloud {

namespace {
thread_local std::string_view current_caller;
// A line names this many; the rest is counted. A thousand names in a line help nobody.
constexpr size_t kMaxNames = 50;
}  // namespace

CallerScope::CallerScope(std::string_view caller) : before_(current_caller) {
  current_caller = caller;
}
CallerScope::~CallerScope() { current_caller = before_; }
std::string_view CallerScope::Current() { return current_caller; }

AuditSink AuditToLog(const Log& log) {
  return [&log](const AuditEntry& entry) {
    std::vector<std::string> names = entry.names;
    if (names.size() > kMaxNames) {
      names.resize(kMaxNames);
      names.push_back("and " + std::to_string(entry.names.size() - kMaxNames) + " more");
    }
    log.Info("mutation", {{"audit", entry.action},
                          {"caller", entry.caller},
                          {"group", entry.group},
                          {"asked", entry.asked},
                          {"done", entry.done},
                          {"pending", entry.pending},
                          {"machines", Join(names, ",")},
                          {"result", entry.status}});
  };
}

}  // namespace coppice::cloud
