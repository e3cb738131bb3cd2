// SchedulerMetrics: what is told of sessions in numbers, under upstream's names.
//
// Upstream labels by a job's name, without its namespace, and so do we. Series of what is gone are
// taken away. Decision thread.

#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "batch/outcome.h"
#include "batch/waiting_jobs.h"
#include "cluster/world.h"

namespace coppice::batch {

struct SessionTimes {
  Duration opened{};
  std::vector<std::pair<std::string, Duration>> actions;  // in their order
  std::vector<std::pair<std::string, Duration>> plugins;  // opening each
  Duration whole{};
};

class SchedulerMetrics {
 public:
  explicit SchedulerMetrics(Metrics& metrics) : metrics_(metrics) {}

  void SessionEnded(const Outcome& outcome, const SessionTimes& times,
                    const std::vector<WaitingJob>& waiting);
  // What queues are and hold, from the World as it is.
  void Queues(const cluster::World& world);
  void BindingEnded(const Status& status, Duration took);
  // From its creation to a stage: Assumed, Bound.
  void TaskReached(std::string_view stage, const model::Pod& pod, TimePoint now);

 private:
  void Milliseconds(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                    Duration took, const MetricLabels& labels = {});
  void Jobs(const std::vector<WaitingJob>& waiting);
  void Amounts(const std::string& what, const std::string& queue,
               const model::ResourceList& amounts);

  Metrics& metrics_;
  std::set<std::string> waiting_jobs_;  // that have a series
  std::set<std::string> queues_;
};

}  // namespace coppice::batch
