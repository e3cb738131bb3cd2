// The autoscaler's metrics under upstream's names and labels, filled from what each pass reports,
// and ours beside them with the prefix coppice_.
//
// Decision thread; what /metrics renders is thread-safe by itself.

#pragma once

#include <string>

#include "autoscale/flags.h"
#include "base/metrics.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "report/pass_report.h"

namespace coppice::app {

class AutoscalerMetrics {
 public:
  AutoscalerMetrics(Metrics& metrics, const autoscale::FlagValues& flags);

  void PassBegan(TimePoint now);
  void PassEnded(const report::PassReport& report, const cluster::World& world,
                 cloud::NodeGroups& groups, TimePoint began, TimePoint ended);
  void Waited(Duration wait);
  void Evicted(bool succeeded);
  // Ours.
  void ViewAge(Duration age);
  void Leads(bool leads);
  void Lists(const std::string& kind, uint64_t lists, uint64_t watches, size_t objects);

 private:
  void Activity(const char* activity, TimePoint now);
  void Function(const char* function, Duration took);
  void Clusterwide(const report::PassReport& report, const cluster::World& world,
                   cloud::NodeGroups& groups);
  void ScaleUps(const report::ScaleUp& scale_up, TimePoint now);
  void ScaleDowns(const report::ScaleDown& scale_down, TimePoint now);
  void Groups(const report::ClusterStatus& status);

  Metrics& metrics_;
  const autoscale::Options options_;
  const bool per_group_;
};

}  // namespace coppice::app
