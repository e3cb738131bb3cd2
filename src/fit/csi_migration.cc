#include "fit/csi_migration.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/strings.h"

namespace coppice::fit {
namespace {

using model::PersistentVolume;

constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

constexpr std::string_view kEbs = "kubernetes.io/aws-ebs";
constexpr std::string_view kGce = "kubernetes.io/gce-pd";
constexpr std::string_view kCinder = "kubernetes.io/cinder";
constexpr std::string_view kAzureDisk = "kubernetes.io/azure-disk";
constexpr std::string_view kPortworx = "kubernetes.io/portworx-volume";

struct Migration {
  std::string_view plugin;
  std::string_view driver;  // "": the driver exists, but kube-scheduler counts no volumes for it
  std::string_view zone_label;  // of the driver; "": it does not translate zones
};

constexpr std::array<Migration, 7> kMigrations = {{
    {kEbs, "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"},
    {kGce, "pd.csi.storage.gke.io", "topology.gke.io/zone"},
    {kCinder, "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"},
    {kAzureDisk, "disk.csi.azure.com", ""},
    {kPortworx, "pxd.portworx.com", ""},
    {"kubernetes.io/azure-file", "", ""},
    {"kubernetes.io/vsphere-volume", "", ""},
}};

const Migration* FindMigration(std::string_view plugin) {
  const auto it = std::ranges::find(kMigrations, plugin, &Migration::plugin);
  return it == kMigrations.end() ? nullptr : &*it;
}

// The volume's source or a pod's inline volume: both have these members.
template <class Source>
std::string_view PluginOf(const Source& source) {
  if (source.aws_elastic_block_store) return kEbs;
  if (source.gce_persistent_disk) return kGce;
  if (source.cinder) return kCinder;
  if (source.azure_disk) return kAzureDisk;
  if (source.portworx_volume) return kPortworx;
  return "";
}

// "vol-1", "aws://zone/vol-1" and "aws:///vol-1" name the same volume.
Result<std::string> EbsHandle(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!std::string_view(id).starts_with(kScheme)) return id;
  std::string_view path = std::string_view(id).substr(kScheme.size());
  path = path.substr(0, path.find_first_of("?#"));
  const size_t slash = path.find('/');
  path = slash == std::string_view::npos ? "" : path.substr(slash);
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with("vol-") || path.find('/') != std::string_view::npos) {
    return InvalidArgument("'" + id + "' is no EBS volume id");
  }
  return std::string(path);
}

std::vector<std::string> SplitZones(std::string_view label) {  // "a__b"
  std::vector<std::string> zones;
  for (size_t start = 0;;) {
    const size_t end = label.find("__", start);
    zones.emplace_back(label.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return zones;
    start = end + 2;
  }
}

std::string GceHandle(std::string_view kind, std::string_view place, const std::string& disk) {
  return "projects/UNSPECIFIED/" + std::string(kind) + "/" + std::string(place) + "/disks/" + disk;
}

// A disk with one zone is zonal; with several it is regional, and the zones have to agree on the
// region.
Result<std::string> GceHandle(const PersistentVolume& volume) {
  const std::string& disk = volume.spec.gce_persistent_disk->pd_name;
  const std::string* label = volume.metadata.labels.Find(kBetaZone);
  if (label == nullptr || label->empty()) label = volume.metadata.labels.Find(kZone);
  const std::vector<std::string> zones = SplitZones(label == nullptr ? "" : *label);
  if (zones.size() == 1)
    return GceHandle("zones", zones[0].empty() ? "UNSPECIFIED" : zones[0], disk);
  std::string region;
  for (const std::string& zone : zones) {
    const std::vector<std::string> parts = Split(zone, '-');
    if (parts.size() != 3) return InvalidArgument("'" + zone + "' is no GCE zone");
    const std::string of_zone = parts[0] + "-" + parts[1];
    if (!region.empty() && region != of_zone)
      return InvalidArgument("zones of several regions: " + *label);
    region = of_zone;
  }
  return GceHandle("regions", region, disk);
}

Result<std::string> AzureHandle(const model::AzureDisk& disk) {
  if (disk.kind && Lower(*disk.kind) != "managed") {
    return InvalidArgument("azure disks of kind '" + *disk.kind + "' are not served by CSI");
  }
  return disk.disk_uri;
}

bool HasKey(const std::optional<model::NodeSelector>& affinity, std::string_view key) {
  if (!affinity) return false;
  for (const auto& term : affinity->node_selector_terms) {
    if (std::ranges::find(term.match_expressions, key, &model::NodeSelectorRequirement::key) !=
        term.match_expressions.end()) {
      return true;
    }
  }
  return false;
}

// Whether some requirement on `key` names a value: one without any does not count as a zone.
bool HasValues(const model::NodeSelector& affinity, std::string_view key) {
  for (const auto& term : affinity.node_selector_terms) {
    for (const auto& requirement : term.match_expressions) {
      if (requirement.key == key && !requirement.values.empty()) return true;
    }
  }
  return false;
}

void Rename(model::NodeSelector& affinity, std::string_view from, std::string_view to) {
  if (!HasValues(affinity, from)) return;
  for (auto& term : affinity.node_selector_terms) {
    for (auto& requirement : term.match_expressions) {
      if (requirement.key == from) requirement.key = to;
    }
  }
}

void DemandZones(std::optional<model::NodeSelector>& affinity, std::string_view key,
                 std::string_view label) {
  std::vector<std::string> zones;
  for (const std::string& zone : SplitZones(label)) {
    if (const std::string_view trimmed = Trim(zone); !trimmed.empty()) zones.emplace_back(trimmed);
  }
  std::ranges::sort(zones);
  zones.erase(std::unique(zones.begin(), zones.end()), zones.end());
  if (zones.empty()) return;
  if (!affinity) affinity.emplace();
  if (affinity->node_selector_terms.empty()) affinity->node_selector_terms.emplace_back();
  for (auto& term : affinity->node_selector_terms) {
    term.match_expressions.push_back({.key = std::string(key), .operator_ = "In", .values = zones});
  }
}

template <class Source>
Result<CsiVolume> HandleOf(const Source& source, std::string_view plugin,
                           const PersistentVolume* volume) {
  CsiVolume csi{.driver = std::string(MigratedDriver(plugin))};
  if (plugin == kEbs) csi.handle = TRY(EbsHandle(source.aws_elastic_block_store->volume_id));
  if (plugin == kGce) {
    csi.handle = volume == nullptr
                     ? GceHandle("zones", "UNSPECIFIED", source.gce_persistent_disk->pd_name)
                     : TRY(GceHandle(*volume));
  }
  if (plugin == kCinder) csi.handle = source.cinder->volume_id;
  if (plugin == kAzureDisk) csi.handle = TRY(AzureHandle(*source.azure_disk));
  if (plugin == kPortworx) csi.handle = source.portworx_volume->volume_id;
  return csi;
}

}  // namespace

bool IsInTree(std::string_view provisioner) { return FindMigration(provisioner) != nullptr; }

std::string_view MigratedDriver(std::string_view provisioner) {
  const Migration* migration = FindMigration(provisioner);
  return migration == nullptr ? "" : migration->driver;
}

std::string_view InTreePlugin(const PersistentVolume& volume) { return PluginOf(volume.spec); }
std::string_view InTreePlugin(const model::Volume& volume) { return PluginOf(volume); }

Result<CsiVolume> ToCsi(const PersistentVolume& volume) {
  return HandleOf(volume.spec, InTreePlugin(volume), &volume);
}

Result<CsiVolume> ToCsi(const model::Volume& volume) {
  return HandleOf(volume, InTreePlugin(volume), nullptr);
}

std::optional<model::NodeSelector> MigratedAffinity(const PersistentVolume& volume) {
  std::optional<model::NodeSelector> affinity = volume.spec.node_affinity;
  const Migration* migration = FindMigration(InTreePlugin(volume));
  if (migration == nullptr || migration->zone_label.empty()) return affinity;

  // The affinity decides which generation of labels the volume speaks; its own labels only if it
  // has none.
  const model::Labels& labels = volume.metadata.labels;
  const bool beta =
      !HasKey(affinity, kZone) &&
      (HasKey(affinity, kBetaZone) || (!labels.contains(kZone) && labels.contains(kBetaZone)));
  const std::string_view zone = beta ? kBetaZone : kZone;
  if (affinity && HasValues(*affinity, zone)) {
    Rename(*affinity, zone, migration->zone_label);
  } else if (const std::string* label = labels.Find(zone)) {
    DemandZones(affinity, migration->zone_label, *label);
  }
  if (beta && affinity) Rename(*affinity, kBetaRegion, kRegion);
  return affinity;
}

bool MigratedOn(const model::CsiNode* node, std::string_view plugin) {
  if (node == nullptr) return false;
  const std::string* plugins = node->metadata.annotations.Find(kMigratedPlugins);
  if (plugins == nullptr || plugins->empty()) return false;
  const std::vector<std::string> names = Split(*plugins, ',');
  return std::ranges::find(names, plugin) != names.end();
}

}  // namespace coppice::fit
