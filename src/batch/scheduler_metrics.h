// SchedulerMetrics: what is told of sessions in numbers, under upstream's names.
//
// Upstream labels by a job's name, without its namespace, and so do we. Series of what is gone are
// taken away. Decision thread.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "batch/group_phases.h"
#include "batch/news.h"
#include "batch/outcome.h"
#include "batch/waiting_jobs.h"
#include "cluster/world.h"

namespace coppice::batch {

struct SessionTimes {
  Duration opened{};
  std::vector<std::pair<std::string, Duration>> actions;  // in their order
  Duration whole{};
};

class SchedulerMetrics {
 public:
  explicit SchedulerMetrics(Metrics& metrics) : metrics_(metrics) {}

  void SessionEnded(const Outcome& outcome, const SessionTimes& times,
                    const std::vector<WaitingJob>& waiting);
  // What plug-ins have worked out in a session, before that is gone: on its thread, while nobody calls
  // anything else here but BindingEnded and TaskReached.
  void Heard(const News& news);
  // What queues are and hold: as plug-ins have last worked it out, else as the World has it.
  void Queues(const cluster::World& world);
  // When jobs have begun to wait. Those that are gone are forgotten.
  void Groups(const cluster::World& world, const std::string& default_queue);
  // Some of its pods have been given nodes.
  void JobPlaced(const model::PodGroup& group, const std::string& default_queue, TimePoint now);
  // How many groups of each queue are in which phase, from whoever counts them.
  void GroupsOfQueues(const std::map<std::string, GroupPhases>& phases);
  void Prepared(Duration took);  // what comes before a binding
  void BindingEnded(const Status& status, Duration took);
  // From its creation to a stage: Watched, Assumed, PreBound, Bound.
  void TaskReached(std::string_view stage, const model::Pod& pod, TimePoint now);
  // From a job's creation to that of a pod of it.
  void PodMade(Duration after);

 private:
  void Milliseconds(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                    Duration took, const MetricLabels& labels = {});
  void Counted(const Outcome::Numbers& numbers);
  void Jobs(const std::vector<WaitingJob>& waiting);
  void Shares(const std::vector<News::OfJob>& jobs);
  void Breakers(const std::vector<report::SessionReport::Outside>& outside);

  // Of one queue: by metric and resource (none: empty).
  using QueueSeries = std::map<std::pair<std::string, std::string>, double>;
  struct WorkedOut {
    double share = 0;
    Resource deserved;
    Resource allocated;
    Resource request;
    Resource inqueue;
    Resource real_capability;
    bool overused = false;
    friend bool operator==(const WorkedOut&, const WorkedOut&) = default;
  };
  struct ShownQueue {
    std::optional<WorkedOut> worked_out;
    Resource allocated;  // as the World has it
    std::optional<Resource> deserved;
    std::optional<Resource> capacity;
    double weight = 0;
    friend bool operator==(const ShownQueue&, const ShownQueue&) = default;
  };
  struct KnownQueue {
    ShownQueue shown;
    QueueSeries series;
  };
  static QueueSeries SeriesOf(const ShownQueue& shown);
  void Show(const std::string& queue, const QueueSeries& before, const QueueSeries& now);

  Metrics& metrics_;
  std::set<std::string> waiting_jobs_;                                // that have a series
  std::map<std::pair<std::string, std::string>, double> job_shares_;  // by namespace and name
  std::set<std::string> extenders_;
  std::map<std::string, MetricLabels> groups_;  // that have series, by "namespace/name"
  uint64_t groups_version_ = 0;
  std::map<std::string, GroupPhases> phases_;    // by queue
  std::map<std::string, WorkedOut> worked_out_;  // by queue
  std::map<std::string, KnownQueue> queues_;
};

}  // namespace coppice::batch
