#include "host/sight.h"

namespace coppice::host {
namespace {

double InSeconds(Duration age) { return std::chrono::duration<double>(age).count(); }

}  // namespace

Sight::Sources SightOf(const kube::ClusterFeed& feed) {
  return {.unreadable = [&feed] { return feed.Unreadable(); },
          .view_age = [&feed] { return feed.view_age(); },
          .ages = [&feed] { return feed.Ages(); },
          .reads =
              [&feed] {
                std::vector<Sight::Sources::Reads> reads;
                for (const auto& r : feed.reflectors())
                  reads.push_back({r->kind(), r->lists(), r->watches(), r->size()});
                return reads;
              }};
}

void Sight::Look() {
  metrics_.GetGauge("coppice_view_age_seconds", "How old the view of nodes and pods may be")
      .Set(InSeconds(sources_.view_age()));
  for (const Sources::Reads& of : sources_.reads()) {
    const MetricLabels labels = {{"kind", of.kind}};
    metrics_.GetGauge("coppice_objects", "Objects in the view", labels)
        .Set(static_cast<double>(of.objects));
    metrics_.GetGauge("coppice_lists", "How often a kind has been read whole", labels)
        .Set(static_cast<double>(of.lists));
    metrics_.GetGauge("coppice_watches", "How often a kind's watch has been opened", labels)
        .Set(static_cast<double>(of.watches));
  }
  TellUnreadable();
}

void Sight::TellUnreadable() {
  constexpr const char* kName = "coppice_unreadable_objects";
  constexpr const char* kHelp = "Objects that are there and cannot be read";
  std::map<std::pair<std::string, std::string>, int> counts;
  std::map<std::pair<std::string, std::string>, std::string> unreadable;
  for (const auto& [kind, name, why] : sources_.unreadable()) {
    ++counts[{kind, why.reason}];
    // Of what has no namespace the name begins with the slash.
    unreadable[{kind, name.starts_with('/') ? name.substr(1) : name}] = why.what;
  }
  for (const auto& before : shown_) {
    if (!counts.contains(before))
      metrics_.GetGauge(kName, kHelp, {{"kind", before.first}, {"reason", before.second}}).Set(0);
  }
  for (const auto& [what, count] : counts) {
    metrics_.GetGauge(kName, kHelp, {{"kind", what.first}, {"reason", what.second}}).Set(count);
    shown_.insert(what);
  }
  const MutexLock lock(mutex_);
  unreadable_ = std::move(unreadable);
}

void Sight::BeforeMetrics() {
  for (const auto& of : sources_.ages()) {
    metrics_
        .GetGauge("coppice_kind_age_seconds", "How long ago a kind was last known to be up to date",
                  {{"kind", of.kind}})
        .Set(InSeconds(of.age));
  }
}

std::string Sight::Explain(const net::ServerRequest& request) const {
  const MutexLock lock(mutex_);
  if (const std::string* pod = request.Query("pod"); pod != nullptr) {
    if (const auto found = unreadable_.find({"Pod", *pod}); found != unreadable_.end()) {
      return "cannot be read, so it is not placed and nothing is bought for it, and the node that "
             "it is on stays: " +
             found->second + "\n";
    }
  }
  if (const std::string* node = request.Query("node"); node != nullptr) {
    if (const auto found = unreadable_.find({"Node", *node}); found != unreadable_.end()) {
      return "cannot be read, so no pod is planned onto it and it stays: " + found->second + "\n";
    }
  }
  return "";
}

}  // namespace coppice::host
