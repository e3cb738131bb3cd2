#include "cloud/template.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "model/quantity.h"
#include "model/resources.h"

namespace coppice::cloud {

namespace {

using model::Quantity;

constexpr int64_t kGiB = 1LL << 30;

// evictionHard as the kubelet has it when nobody says otherwise. imagefs is assumed to be nodefs,
// as it is unless the runtime has a disk of its own; inodes and pids take nothing from allocatable.
const ReservedResources& DefaultEviction() {
  static const ReservedResources kDefault = {{"memory.available", "100Mi"},
                                             {"nodefs.available", "10%"}};
  return kDefault;
}

// In thousandths for cpu, in whole units else.
int64_t InUnits(const Quantity& quantity, bool millis) {
  return millis ? quantity.MilliValue() : quantity.Value();
}

// "500Mi", "100m", or "10%" of `capacity` (same unit as the answer). Never more than that: what is
// written may be larger than any number that we could compute with.
Result<int64_t> ReadAmount(std::string_view text, int64_t capacity, bool millis) {
  text = Trim(text);
  if (text.ends_with('%')) {
    const std::string_view number = text.substr(0, text.size() - 1);
    double percent = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), percent);
    if (error != std::errc() || end != number.data() + number.size() ||
        !(percent >= 0 && percent <= 100)) {
      return InvalidArgument("'" + std::string(text) + "' is not a percentage from 0% to 100%");
    }
    return static_cast<int64_t>(static_cast<double>(capacity) * percent / 100.0);
  }
  const Quantity quantity = TRY(Quantity::Parse(text));
  if (quantity.Sign() < 0) return InvalidArgument("'" + std::string(text) + "' is negative");
  const Quantity all = millis ? Quantity::FromMillis(capacity) : Quantity::FromUnits(capacity);
  return quantity.Compare(all) >= 0 ? capacity : InUnits(quantity, millis);
}

// One of the three maps of a group: its name in messages, its text, and which key of it speaks
// about a resource.
struct Source {
  const char* name;
  const ReservedResources* amounts;
  bool eviction;
};

std::vector<Source> SourcesOf(const GroupConfig& group) {
  std::vector<Source> sources;
  if (group.kube_reserved) sources.push_back({"kubeReserved", &*group.kube_reserved, false});
  if (group.system_reserved) sources.push_back({"systemReserved", &*group.system_reserved, false});
  // A map that is given replaces the defaults as a whole, as the kubelet does: a signal that it
  // does not name has no threshold then.
  sources.push_back(
      {"evictionHard", group.eviction_hard ? &*group.eviction_hard : &DefaultEviction(), true});
  return sources;
}

// The kubelet's signals; plain resource names are taken too, for they are what people write.
std::string_view ResourceOfSignal(std::string_view signal) {
  if (signal == "memory.available") return model::kMemory;
  if (signal == "nodefs.available") return model::kEphemeralStorage;
  return signal;
}

bool KnownKey(const Source& source, std::string_view key) {
  static constexpr std::string_view kSignals[] = {
      "memory.available",   "nodefs.available",      "nodefs.inodesFree", "imagefs.available",
      "imagefs.inodesFree", "containerfs.available", "pid.available",     "containerfs.inodesFree"};
  if (key == model::kMemory || key == model::kEphemeralStorage) return true;
  if (source.eviction) return std::ranges::find(kSignals, key) != std::end(kSignals);
  return key == model::kCpu || key == "pid";
}

Result<int64_t> Taken(const GroupConfig& group, std::string_view resource, int64_t capacity) {
  int64_t taken = 0;
  for (const Source& source : SourcesOf(group)) {
    for (const auto& [key, text] : *source.amounts) {
      if ((source.eviction ? ResourceOfSignal(key) : std::string_view(key)) != resource) continue;
      const int64_t more =
          TRY(ReadAmount(text, capacity, resource == model::kCpu)
                  .Context("group '" + group.name + "': " + source.name + "." + key));
      taken = more > capacity - taken ? capacity : taken + more;
    }
  }
  return taken;
}

int64_t DiskBytes(const GroupConfig& group, const Flavor& flavor) {
  return group.volume_size_gb > 0 ? group.volume_size_gb * kGiB : flavor.disk_bytes;
}

Status SetAmounts(const GroupConfig& group, const Flavor& flavor, model::NodeStatus& status) {
  const auto left = [&](std::string_view resource, int64_t capacity) -> Result<int64_t> {
    return std::max<int64_t>(0, capacity - TRY(Taken(group, resource, capacity)));
  };
  constexpr auto kBinary = Quantity::Format::kBinarySI;
  const int64_t disk = DiskBytes(group, flavor);
  const int64_t pods = group.max_pods.value_or(kDefaultMaxPods);

  status.capacity["cpu"] = Quantity::FromMillis(flavor.cpu_millis);
  status.capacity["ephemeral-storage"] = Quantity::FromUnits(disk, kBinary);
  status.capacity["memory"] = Quantity::FromUnits(flavor.memory_bytes, kBinary);
  status.capacity["pods"] = Quantity::FromUnits(pods);
  status.allocatable["cpu"] = Quantity::FromMillis(TRY(left("cpu", flavor.cpu_millis)));
  status.allocatable["ephemeral-storage"] =
      Quantity::FromUnits(TRY(left("ephemeral-storage", disk)), kBinary);
  status.allocatable["memory"] =
      Quantity::FromUnits(TRY(left("memory", flavor.memory_bytes)), kBinary);
  status.allocatable["pods"] = Quantity::FromUnits(pods);
  if (flavor.gpu_count > 0) {
    status.capacity[kGpuResource] = Quantity::FromUnits(flavor.gpu_count);
    status.allocatable[kGpuResource] = Quantity::FromUnits(flavor.gpu_count);
  }
  return Status::Ok();
}

void SetLabels(const GroupConfig& group, const Flavor& flavor, std::string_view gpu_label,
               model::Node& node) {
  model::Labels& labels = node.metadata.labels;
  // Both spellings, as kubelet and cloud-controller-manager set them to this day: pods select by
  // either.
  const auto set = [&labels](std::string_view stable, std::string_view beta,
                             std::string_view value) {
    if (value.empty()) return;
    labels[stable] = AsLabelValue(value);
    if (!beta.empty()) labels[beta] = AsLabelValue(value);
  };
  set("kubernetes.io/os", "beta.kubernetes.io/os", "linux");
  set("kubernetes.io/arch", "beta.kubernetes.io/arch", flavor.architecture);
  set("kubernetes.io/hostname", "", node.metadata.name);
  set("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", flavor.name);
  set("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", group.zone);
  set("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region",
      RegionOf(group.zone));
  if (flavor.gpu_count > 0 && !gpu_label.empty()) set(gpu_label, "", flavor.gpu_type);
  // Last: what the operator says about the node overrides what we guess.
  for (const auto& [key, value] : group.labels) labels[key] = value;
}

}  // namespace

std::string RegionOf(std::string_view zone) {
  while (!zone.empty() && std::isdigit(static_cast<unsigned char>(zone.back()))) {
    zone.remove_suffix(1);
  }
  return std::string(zone);
}

std::string AsLabelValue(std::string_view text) {
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string value;
  for (const char c : text.substr(0, 63)) {
    value += alphanumeric(c) || c == '-' || c == '_' || c == '.' ? c : '-';
  }
  while (!value.empty() && !alphanumeric(value.back())) value.pop_back();
  const auto first = std::ranges::find_if(value, alphanumeric);
  value.erase(value.begin(), first);
  return value;
}

Status CheckReserved(const GroupConfig& group) {
  for (const Source& source : SourcesOf(group)) {
    for (const auto& [key, text] : *source.amounts) {
      if (!KnownKey(source, key)) {
        return InvalidArgument("group '" + group.name + "': " + source.name + " has no '" + key +
                               "'; " +
                               (source.eviction ? "write memory.available or nodefs.available"
                                                : "write cpu, memory or ephemeral-storage"));
      }
      TRY(ReadAmount(text, kGiB, key == model::kCpu)
              .Context("group '" + group.name + "': " + source.name + "." + key));
    }
  }
  if (group.max_pods && *group.max_pods <= 0) {
    return InvalidArgument("group '" + group.name + "': maxPods must be positive");
  }
  return Status::Ok();
}

Result<model::Node> MakeTemplate(const GroupConfig& group, const Flavor& flavor,
                                 std::string_view gpu_label) {
  model::Node node;
  node.metadata.name = "template-" + group.name;
  SetLabels(group, flavor, gpu_label, node);
  for (const GroupTaint& taint : group.taints) {
    node.spec.taints.push_back({.key = taint.key, .value = taint.value, .effect = taint.effect});
  }
  TRY(SetAmounts(group, flavor, node.status));
  node.status.conditions.push_back({.type = "Ready",
                                    .status = "True",
                                    .reason = "KubeletReady",
                                    .message = "stands for a machine that is not there yet"});
  node.status.node_info.operating_system = "linux";
  node.status.node_info.architecture = flavor.architecture;
  return node;
}

}  // namespace coppice::cloud
