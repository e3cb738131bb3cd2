// MetricSource: gauges that are worked out when /metrics is asked for: one per node or per pod, say,
// which would cost memory if they were kept, and time to be taken away one by one.
//
// All calls of MetricSources are thread-safe.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"

namespace coppice {

// A page in the making.
class MetricPage {
 public:
  virtual ~MetricPage() = default;
  virtual void AddGauge(std::string_view name, std::string_view help, MetricLabels labels,
                        double value) = 0;
};

class MetricSource {
 public:
  virtual ~MetricSource() = default;
  // On the thread of Render(), maybe on several at the same time. Its names are nobody else's.
  virtual void Write(MetricPage& page) const = 0;
};

class MetricSources {
 public:
  // Asked at every Render() as long as it lives.
  void Add(std::weak_ptr<const MetricSource> source);
  // Text as that of Metrics::Render(), to stand behind it.
  std::string Render() const;

 private:
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<const MetricSource>> sources_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice
