// The autoscaler's metrics under upstream's names and labels, filled from what each pass reports,
// and ours beside them with the prefix coppice_.
//
// Decision thread; what /metrics renders is thread-safe by itself.

#pragma once

#include <map>
#include <set>
#include <string>

#include "autoscale/options.h"
#include "autoscale/templates.h"
#include "base/metrics.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class AutoscalerMetrics {
 public:
  AutoscalerMetrics(Metrics& metrics, MetricsOptions options);

  void PassBegan(TimePoint now);
  // What a pass's numbers are about beside its report.
  struct Around {
    const cluster::World& world;
    cloud::NodeGroups& groups;
    const Templates& templates;
  };
  void PassEnded(const report::PassReport& report, const Around& around, TimePoint began,
                 TimePoint ended);
  void Waited(Duration wait);
  void Evicted(bool succeeded);
  // Ours.
  void Leads(bool leads);

 private:
  void Activity(const char* activity, TimePoint now);
  void Function(std::string_view function, Duration took);
  void AddFamilies();
  void Nodes(const Around& around);
  void Pods(const cluster::World& world);
  void Clusterwide(const report::PassReport& report, const Around& around);
  void ScaleUp(const report::ScaleUp& scale_up, const Around& around, TimePoint now);
  void Failures(const report::PassReport& report, const Around& around);
  void ScaleDown(const report::ScaleDown& scale_down, const Around& around, TimePoint now);
  void Groups(const report::ClusterStatus& status);

  // Sets each series, and those that are not named any more to zero: upstream leaves some of them
  // at their last value, so that a reason that is long gone is still shown.
  void SetAll(const char* name, const char* help, const char* label,
              const std::map<std::string, int>& values);

  Metrics& metrics_;
  const MetricsOptions options_;
  std::map<std::string, std::set<std::string>> shown_;  // label values by name
  std::map<std::string, std::string> backoff_reasons_;  // by group, as shown
  std::map<std::string, MetricLabels> going_;           // nodes under deletion: labels
};

}  // namespace coppice::autoscale
