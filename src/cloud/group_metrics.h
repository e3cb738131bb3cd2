// The gauges and counters of node groups, under the names of the Go provider for cloudscale.ch
// behind the cloud's own prefix (with that cloud its dashboards go on working), with two
// corrections: current_size is what exists and not the target, and a request that was refused is
// counted, as such.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/status.h"
#include "cloud/groups_picture.h"

namespace coppice::cloud {

// Show, Forget and ShowTotals: one caller at a time. Count: any thread.
class GroupMetrics {
 public:
  GroupMetrics(Metrics& metrics, std::string prefix);

  void Show(const GroupView& view);
  void Forget(const std::string& group);
  void ShowTotals(size_t machines, size_t flavors, size_t orphans);

  // `failed`: pieces of the request that did; `status` is the answer that the client got.
  enum class Direction { kUp, kDown };
  void Count(Direction direction, std::string_view group, int64_t failed, const Status& status);

 private:
  struct Gauges {
    Gauge& current;
    Gauge& target;
    Gauge& min;
    Gauge& max;
  };
  Gauge& GroupGauge(std::string_view name, std::string_view help, const std::string& group);

  Metrics& metrics_;
  std::string prefix_;
  std::map<std::string, Gauges>
      gauges_;  // looking them up by label costs more than the rest of Show
};

}  // namespace coppice::cloud
