#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/summary.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/check.h"
#include "base/mutex.h"
#include "base/strings.h"

namespace coppice {

namespace {

class PrometheusCounter final : public Counter {
 public:
  explicit PrometheusCounter(prometheus::Counter& metric) : metric_(metric) {}
  void Add(double amount) override { metric_.Increment(amount); }
  double value() const override { return metric_.Value(); }

 private:
  prometheus::Counter& metric_;
};

class PrometheusGauge final : public Gauge {
 public:
  explicit PrometheusGauge(prometheus::Gauge& metric) : metric_(metric) {}
  void Set(double value) override { metric_.Set(value); }
  void Add(double amount) override { metric_.Increment(amount); }
  double value() const override { return metric_.Value(); }
  prometheus::Gauge& metric() { return metric_; }

 private:
  prometheus::Gauge& metric_;
};

class PrometheusHistogram final : public Histogram {
 public:
  explicit PrometheusHistogram(prometheus::Histogram& metric) : metric_(metric) {}
  void Observe(double value) override { metric_.Observe(value); }

 private:
  prometheus::Histogram& metric_;
};

class PrometheusSummary final : public Histogram {
 public:
  explicit PrometheusSummary(prometheus::Summary& metric) : metric_(metric) {}
  void Observe(double value) override { metric_.Observe(value); }

 private:
  prometheus::Summary& metric_;
};

// One name: the family in the library and our faces on its series.
template <class Theirs, class Ours>
struct Series {
  prometheus::Family<Theirs>* family = nullptr;
  std::map<MetricLabels, std::unique_ptr<Ours>> by_labels;
};

template <class Theirs, class Ours>
using SeriesByName = std::map<std::string, Series<Theirs, Ours>, std::less<>>;

// Label values may come from outside; one stray byte would make Prometheus refuse the whole page.
MetricLabels Clean(const MetricLabels& labels) {
  MetricLabels clean;
  for (const auto& [name, value] : labels) clean.emplace(name, ValidUtf8(value));
  return clean;
}

}  // namespace

struct Metrics::State {
  mutable Mutex mutex;
  prometheus::Registry registry;  // has a lock of its own
  SeriesByName<prometheus::Counter, PrometheusCounter> counters COPPICE_GUARDED_BY(mutex);
  SeriesByName<prometheus::Gauge, PrometheusGauge> gauges COPPICE_GUARDED_BY(mutex);
  SeriesByName<prometheus::Histogram, PrometheusHistogram> histograms COPPICE_GUARDED_BY(mutex);
  SeriesByName<prometheus::Summary, PrometheusSummary> summaries COPPICE_GUARDED_BY(mutex);

  // `build` starts the library's builder for the type, `arguments` go to a new series. The library
  // throws on a malformed name and on a name that is in use for another type: bugs of ours, and
  // CHECKed.
  template <class Theirs, class Ours, class Build, class... Arguments>
  Ours& Get(SeriesByName<Theirs, Ours> State::* kind, Build build, std::string_view name,
            std::string_view help, const MetricLabels& labels, const Arguments&... arguments) {
    const MetricLabels clean = Clean(labels);
    const MutexLock lock(mutex);
    SeriesByName<Theirs, Ours>& all = this->*kind;
    auto found = all.find(name);
    if (found == all.end()) found = all.emplace(std::string(name), Series<Theirs, Ours>{}).first;
    Series<Theirs, Ours>& series = found->second;
    std::unique_ptr<Ours>& face = series.by_labels[clean];
    if (face) return *face;
    bool accepted = true;
    try {
      if (series.family == nullptr) {
        series.family = &build().Name(found->first).Help(std::string(help)).Register(registry);
      }
      face = std::make_unique<Ours>(series.family->Add(clean, arguments...));
    } catch (const std::exception&) {
      accepted = false;
    }
    CHECK(accepted && "a metric's name and label names must be well-formed and of one type");
    return *face;
  }
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::GetCounter(std::string_view name, std::string_view help,
                             const MetricLabels& labels) {
  return state_->Get(&State::counters, prometheus::BuildCounter, name, help, labels);
}

Gauge& Metrics::GetGauge(std::string_view name, std::string_view help, const MetricLabels& labels) {
  return state_->Get(&State::gauges, prometheus::BuildGauge, name, help, labels);
}

Histogram& Metrics::GetHistogram(std::string_view name, std::string_view help,
                                 const std::vector<double>& upper_bounds,
                                 const MetricLabels& labels) {
  CHECK(std::ranges::is_sorted(upper_bounds));
  return state_->Get(&State::histograms, prometheus::BuildHistogram, name, help, labels,
                     upper_bounds);
}

Histogram& Metrics::GetSummary(std::string_view name, std::string_view help,
                               const MetricLabels& labels) {
  return state_->Get(&State::summaries, prometheus::BuildSummary, name, help, labels,
                     prometheus::Summary::Quantiles{});
}

void Metrics::RemoveGauge(std::string_view name, const MetricLabels& labels) {
  const MutexLock lock(state_->mutex);
  const auto series = state_->gauges.find(name);
  if (series == state_->gauges.end()) return;
  const auto face = series->second.by_labels.find(Clean(labels));
  if (face == series->second.by_labels.end()) return;
  series->second.family->Remove(&face->second->metric());
  series->second.by_labels.erase(face);
}

std::string Metrics::Render() const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  // The library keeps hash maps; a page in a stable order can be compared by eye and by test.
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric,
                      [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace coppice
