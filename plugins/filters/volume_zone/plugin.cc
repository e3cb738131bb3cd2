// VolumeZone: a volume that is labelled with zones or regions is used from nodes that are in them.
//
// Older than the node affinity of volumes, and still obeyed. Looks at bound claims only; nodes
// without any zone or region label count as a cluster of one zone and pass. Its PreFilter is where
// a bound claim whose volume is gone is found out.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "fit/filter.h"
#include "fit/volume_claims.h"

namespace coppice::filters::volume_zone {
namespace {

using model::Verdict;
using model::VerdictCode;

constexpr std::string_view kName = "VolumeZone";

// In the order in which they are looked at. The first two are the labels' names before
// Kubernetes 1.17; a volume that has those also accepts a node that has only their successors.
struct TopologyLabel {
  std::string_view key;
  std::string_view successor;
};
constexpr std::array<TopologyLabel, 4> kTopologyLabels = {{
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
}};

struct Demand {
  TopologyLabel label;
  std::vector<std::string> values;
};

// "a__b" is two zones. A list with an empty part is malformed, and ignored as a whole.
std::vector<std::string> ZonesIn(std::string_view text) {
  std::vector<std::string> zones;
  for (size_t start = 0; start != std::string_view::npos;) {
    const size_t end = text.find("__", start);
    const std::string_view zone =
        Trim(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (zone.empty()) return {};
    zones.emplace_back(zone);
    start = end == std::string_view::npos ? end : end + 2;
  }
  return zones;
}

class ZoneCheck final : public fit::NodeCheck {
 public:
  ZoneCheck(std::vector<Demand> demands, const cluster::Snapshot& snapshot)
      : demands_(std::move(demands)), snapshot_(snapshot) {}

  Verdict Check(cluster::NodeIndex node) const override {
    static const Verdict elsewhere = Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable,
                                                 "node(s) had no available volume zone");
    const model::Labels& labels = snapshot_.node(node).labels;
    const auto labelled = [&](const TopologyLabel& label) { return labels.contains(label.key); };
    if (std::ranges::none_of(kTopologyLabels, labelled)) return Verdict::Yes();
    const auto met = [&](const Demand& demand) {
      const std::string* value = labels.Find(demand.label.key);
      if (value == nullptr) value = labels.Find(demand.label.successor);
      return value != nullptr && std::ranges::find(demand.values, *value) != demand.values.end();
    };
    return std::ranges::all_of(demands_, met) ? Verdict::Yes() : elsewhere;
  }

 private:
  std::vector<Demand> demands_;
  const cluster::Snapshot& snapshot_;
};

class VolumeZone final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    std::vector<Demand> demands;
    for (const model::Volume& volume : pod.volumes.volumes) {
      if (!volume.claim_name) continue;  // ephemeral ones are left to VolumeBinding
      if (const auto problem = AddDemands(pod, *volume.claim_name, snapshot.facts(), demands)) {
        return fit::Preparation::Reject(
            Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable, *problem));
      }
    }
    if (demands.empty()) return fit::Preparation::Skip().ForSpec();
    return fit::Preparation::Ask(std::make_unique<ZoneCheck>(std::move(demands), snapshot));
  }

 private:
  // Adds what the claim's volume demands, or says why the pod cannot be placed at all.
  static std::optional<std::string> AddDemands(const cluster::PodView& pod,
                                               const std::string& claim_name,
                                               const cluster::Facts& facts,
                                               std::vector<Demand>& demands) {
    if (claim_name.empty()) return "PersistentVolumeClaim had no name";
    const model::PersistentVolumeClaim* claim = facts.claims.Find(pod.namespace_, claim_name);
    if (claim == nullptr) return fit::ClaimNotFound(claim_name);
    if (claim->spec.volume_name.empty()) return WhyUnbound(*claim, facts);

    const model::PersistentVolume* volume = facts.volumes.Find(claim->spec.volume_name);
    if (volume == nullptr) return fit::VolumeNotFound(claim->spec.volume_name);
    for (const TopologyLabel& label : kTopologyLabels) {
      const std::string* text = volume->metadata.labels.Find(label.key);
      if (text == nullptr) continue;
      std::vector<std::string> zones = ZonesIn(*text);
      if (!zones.empty()) demands.push_back({label, std::move(zones)});
    }
    return std::nullopt;
  }

  // Only a claim that waits for its first consumer may be without a volume.
  static std::optional<std::string> WhyUnbound(const model::PersistentVolumeClaim& claim,
                                               const cluster::Facts& facts) {
    const std::string_view class_name = fit::ClassOf(claim);
    if (class_name.empty()) return "PersistentVolumeClaim had no pv name and storageClass name";
    const model::StorageClass* storage_class = facts.storage_classes.Find(class_name);
    if (storage_class == nullptr) return fit::ClassNotFound(class_name);
    if (!storage_class->volume_binding_mode) return fit::BindingModeNotSet(class_name);
    if (*storage_class->volume_binding_mode == fit::kWaitForFirstConsumer) return std::nullopt;
    return "PersistentVolume had no name";
  }
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, [](const fit::SchedulerConfig&) -> Result<std::unique_ptr<fit::Filter>> {
    return std::make_unique<VolumeZone>();
  });
}

}  // namespace coppice::filters::volume_zone
