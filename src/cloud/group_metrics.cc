#include "cloud/group_metrics.h"

#include <utility>

namespace coppice::cloud {

namespace {

constexpr std::string_view kCurrent = "_node_group_current_size";
constexpr std::string_view kTarget = "_node_group_target_size";
constexpr std::string_view kMin = "_node_group_min_size";
constexpr std::string_view kMax = "_node_group_max_size";

}  // namespace

GroupMetrics::GroupMetrics(Metrics& metrics, std::string prefix)
    : metrics_(metrics), prefix_(std::move(prefix)) {}

Gauge& GroupMetrics::GroupGauge(std::string_view name, std::string_view help,
                                const std::string& group) {
  return metrics_.GetGauge(prefix_ + std::string(name), help, {{"node_group", group}});
}

void GroupMetrics::Show(const GroupView& view) {
  const std::string& group = view.info.id;
  auto it = gauges_.find(group);
  if (it == gauges_.end()) {
    const Gauges made{GroupGauge(kCurrent, "machines that exist and are not going", group),
                      GroupGauge(kTarget, "machines that exist or are ordered", group),
                      GroupGauge(kMin, "configured minimum", group),
                      GroupGauge(kMax, "configured maximum", group)};
    it = gauges_.emplace(group, made).first;
  }
  it->second.current.Set(view.current_size);
  it->second.target.Set(view.target_size);
  it->second.min.Set(view.info.min_size);
  it->second.max.Set(view.info.max_size);
}

void GroupMetrics::Forget(const std::string& group) {
  gauges_.erase(group);
  for (const std::string_view name : {kCurrent, kTarget, kMin, kMax}) {
    metrics_.RemoveGauge(prefix_ + std::string(name), {{"node_group", group}});
  }
}

void GroupMetrics::ShowTotals(size_t machines, size_t flavors, size_t orphans) {
  metrics_.GetGauge(prefix_ + "_cache_servers_total", "machines in the snapshot")
      .Set(static_cast<double>(machines));
  metrics_.GetGauge(prefix_ + "_cache_flavors_total", "flavors known")
      .Set(static_cast<double>(flavors));
  metrics_
      .GetGauge(prefix_ + "_orphan_machines",
                "machines tagged with this cluster and a group that is not configured")
      .Set(static_cast<double>(orphans));
}

void GroupMetrics::Count(Direction direction, std::string_view group, int64_t failed,
                         const Status& status) {
  const bool up = direction == Direction::kUp;
  const char* result = status.ok() ? "success" : failed > 0 ? "partial_failure" : "rejected";
  metrics_
      .GetCounter(
          prefix_ + (up ? "_node_group_scale_up_total" : "_node_group_scale_down_total"),
          up ? "requests to grow a group, by result" : "requests to shrink a group, by result",
          {{"node_group", std::string(group)}, {"result", result}})
      .Increment();
}

}  // namespace coppice::cloud
