#include "host/health_check.h"

#include <algorithm>

#include "base/go_duration.h"

namespace coppice::host {

void HealthCheck::StartMonitoring() {
  last_activity_ = last_success_ = Now();
  monitored_ = true;
}

void HealthCheck::Succeeded(TimePoint since, std::string_view of, bool started) {
  last_activity_ = Now();
  last_success_ = since.time_since_epoch().count();
  if (started) started_ = true;
  const MutexLock lock(mutex_);
  late_ = of;
}

std::string HealthCheck::Trouble() const {
  if (!monitored_) return "";
  const Duration active(Now() - last_activity_);
  const Duration success(Now() - last_success_);
  const Duration startup = std::max({limits_.startup, limits_.inactivity, limits_.failing});
  const Duration max_inactive = started_ ? limits_.inactivity : startup;
  const Duration max_failing = started_ ? limits_.failing : startup;
  if (active > max_inactive)
    return "Error: last activity more than " + FormatGoDuration(active) + " ago";
  if (success > max_failing) {
    const MutexLock lock(mutex_);
    return "Error: last successful loop " + (late_.empty() ? "" : "of " + late_ + " ") +
           "more than " + FormatGoDuration(success) + " ago";
  }
  const std::string stale = stale_kinds ? stale_kinds() : "";
  return stale.empty() ? "" : "Error: " + stale;
}

}  // namespace coppice::host
