// The status ConfigMap's text: upstream's YAML, key for key, from what a pass reports.
//
// A condition carries when its status last changed, which no single pass knows: StatusMap remembers
// it from one pass to the next. Pure; decision thread.

#pragma once

#include <map>
#include <string>

#include "report/pass_report.h"

namespace coppice::autoscale {

inline constexpr char kLastUpdatedAnnotation[] = "cluster-autoscaler.kubernetes.io/last-updated";

// 2026-01-02 03:04:05.123456789 +0000 UTC: as Go prints it, without trailing zeros.
std::string FormatGoTime(TimePoint time);

class StatusMap {
 public:
  // `now` is the pass's time.
  std::string Render(const report::ClusterStatus& status, TimePoint now);
  // Before the first pass.
  static std::string RenderInitializing(TimePoint now);

 private:
  struct Condition {
    std::string status;
    TimePoint since;
  };
  // Since when the condition at this path has had this status.
  TimePoint Since(const std::string& path, const std::string& status, TimePoint now);
  std::map<std::string, Condition> conditions_;
};

}  // namespace coppice::autoscale
