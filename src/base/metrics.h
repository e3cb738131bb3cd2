// Metrics in Prometheus' text format, behind a face of our own so that no header of that library is
// included everywhere.
//
// Looking a metric up costs a map search (about 300 ns): keep the reference. References stay valid
// as long as the Metrics object lives. All calls are thread-safe.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coppice {

using MetricLabels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(double amount) = 0;
  virtual double value() const = 0;
  void Increment() { Add(1); }
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
  virtual void Add(double amount) = 0;
  virtual double value() const = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same name and labels give the same metric. `help` of the first call counts.
  Counter& GetCounter(std::string_view name, std::string_view help,
                      const MetricLabels& labels = {});
  Gauge& GetGauge(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Histogram& GetHistogram(std::string_view name, std::string_view help,
                          const std::vector<double>& upper_bounds, const MetricLabels& labels = {});
  // Only the sum and the count are shown: a quantile of one process says little, and costs memory.
  Histogram& GetSummary(std::string_view name, std::string_view help,
                        const MetricLabels& labels = {});
  // Takes series away, for example those of a group that is gone. References to it are then
  // invalid.
  void RemoveGauge(std::string_view name, const MetricLabels& labels);

  // The exposition text that /metrics serves.
  std::string Render() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coppice
