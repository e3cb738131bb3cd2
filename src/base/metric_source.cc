#include "base/metric_source.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"

namespace coppice {

namespace {

class Page final : public MetricPage {
 public:
  void AddGauge(std::string_view name, std::string_view help, MetricLabels labels,
                double value) override {
    auto found = families_.find(name);
    if (found == families_.end()) {
      found = families_.emplace(std::string(name), prometheus::MetricFamily()).first;
      found->second.name = found->first;
      found->second.help = help;
      found->second.type = prometheus::MetricType::Gauge;
    }
    prometheus::ClientMetric& metric = found->second.metric.emplace_back();
    metric.gauge.value = value;
    for (const auto& [label, text] : labels) metric.label.push_back({label, ValidUtf8(text)});
  }

  std::string Text() {
    std::vector<prometheus::MetricFamily> families;
    for (auto& [name, family] : families_) {
      std::ranges::sort(family.metric,
                        [](const auto& a, const auto& b) { return a.label < b.label; });
      families.push_back(std::move(family));
    }
    return prometheus::TextSerializer().Serialize(families);
  }

 private:
  std::map<std::string, prometheus::MetricFamily, std::less<>> families_;
};

}  // namespace

void MetricSources::Add(std::weak_ptr<const MetricSource> source) {
  const MutexLock lock(mutex_);
  std::erase_if(sources_, [](const auto& known) { return known.expired(); });
  sources_.push_back(std::move(source));
}

std::string MetricSources::Render() const {
  std::vector<std::weak_ptr<const MetricSource>> sources;
  {
    const MutexLock lock(mutex_);
    sources = sources_;
  }
  Page page;
  for (const auto& known : sources) {
    if (const auto source = known.lock()) source->Write(page);
  }
  return page.Text();
}

}  // namespace coppice
