#include "cloud/claim_class.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include "base/go_duration.h"
#include "base/strings.h"
#include "cloud/cloud_node_claims.h"
#include "cloud/template.h"

namespace coppice::cloud {
namespace {

using model::NodeRequirement;

// Of nobody's price list: what matters is that twice the machine costs twice as much.
constexpr double kGuessPerCpu = 0.03;
constexpr double kGuessPerGiB = 0.004;
constexpr double kGuessPerGpu = 1.0;

std::string HashText(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  uint64_t bits = XXH3_64bits(text.data(), text.size());
  std::string digits(16, '0');
  for (size_t i = 16; i-- > 0; bits >>= 4) digits[i] = kDigits[bits & 15];
  return digits;
}

// Lengths make "ab","c" and "a","bc" differ.
void Put(std::string& text, std::string_view part) {
  text += std::to_string(part.size());
  text += ':';
  text += part;
}
void Put(std::string& text, const model::Labels& labels) {
  Put(text, std::to_string(labels.size()));
  for (const auto& [key, value] : labels) {
    Put(text, key);
    Put(text, value);
  }
}
void Put(std::string& text, const model::ResourceList& amounts) {
  Put(text, std::to_string(amounts.size()));
  for (const auto& [key, value] : amounts) {
    Put(text, key);
    Put(text, value.Canonical());
  }
}

ReservedResources TextsOf(const model::ResourceList& amounts) {
  ReservedResources texts;
  for (const auto& [key, value] : amounts) texts[std::string(key)] = value.ToString();
  return texts;
}

double GuessedPrice(const Flavor& flavor) {
  return kGuessPerCpu * static_cast<double>(flavor.cpu_millis) / 1000 +
         kGuessPerGiB * static_cast<double>(flavor.memory_bytes) / static_cast<double>(1LL << 30) +
         kGuessPerGpu * static_cast<double>(flavor.gpu_count);
}

std::vector<std::string> Parts(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& part : Split(text, ',')) {
    if (!Trim(part).empty()) parts.emplace_back(Trim(part));
  }
  return parts;
}

Status ReadExtra(const model::NodeClass& node_class, GroupConfig& group) {
  for (const auto& [key, value] : node_class.spec.extra) {
    if (key == "sshKeys") {
      group.ssh_keys = Parts(value);
    } else if (key == "serverGroups") {
      group.server_group_uuids = Parts(value);
    } else if (key == "subnet") {
      group.subnet_uuid = value;
    } else if (key == "volumeSizeGB") {
      const char* end = value.data() + value.size();
      const auto [at, error] = std::from_chars(value.data(), end, group.volume_size_gb);
      if (error != std::errc() || at != end || group.volume_size_gb <= 0 ||
          group.volume_size_gb > 1'000'000) {
        return InvalidArgument("extra.volumeSizeGB: '" + value +
                               "' is not a number of gigabytes from 1 to 1000000");
      }
    } else {
      group.extra[key] = value;
    }
  }
  return Status::Ok();
}

// Only where the zone's name tells it: a region that is not there may be any, a wrong one is wrong.
std::string ToldRegionOf(const std::string& zone) {
  std::string region = RegionOf(zone);
  return region == zone ? "" : region;
}
void AddRegion(const std::string& zone, model::NodeRequirements& requirements) {
  const std::string region = ToldRegionOf(zone);
  if (!region.empty()) requirements.Add(NodeRequirement::In(model::kRegionLabel, {region}));
}

void AddOfferings(const Flavor& flavor, const model::NodeClass& node_class,
                  const std::set<OfferingKey>& sold_out, InstanceType& type) {
  for (const FlavorOffering& sold : OfferingsOf(flavor)) {
    if (!InZones(node_class.spec.zones, sold.zone)) continue;
    const std::string zone = ZoneLabelOf(sold.zone);
    Offering offering{
        .price = sold.price_per_hour.value_or(GuessedPrice(flavor)),
        .available = sold.in_stock && !sold_out.contains({flavor.name, zone, sold.capacity_type})};
    offering.requirements.Add(NodeRequirement::In(model::kZoneLabel, {zone}));
    AddRegion(zone, offering.requirements);
    offering.requirements.Add(NodeRequirement::In(model::kCapacityTypeLabel, {sold.capacity_type}));
    const auto same = [&](const Offering& other) {
      return other.requirements == offering.requirements;
    };
    if (std::ranges::any_of(type.offerings, same)) continue;  // a cloud that lists a zone twice
    type.offerings.push_back(std::move(offering));
  }
}

void AddRequirements(const Flavor& flavor, std::string_view gpu_label, InstanceType& type) {
  const auto in = [&type](std::string_view key, std::vector<std::string> values) {
    type.requirements.Add(NodeRequirement::In(key, std::move(values)));
  };
  std::vector<std::string> zones, regions, ways;
  for (const Offering& offering : type.offerings) {
    zones.push_back(offering.Zone());
    if (const std::string region = ToldRegionOf(zones.back()); !region.empty()) {
      regions.push_back(region);
    }
    ways.push_back(offering.CapacityType());
  }
  in(model::kInstanceTypeLabel, {type.name});
  in(model::kArchLabel, {flavor.architecture});
  in(model::kOsLabel, {flavor.operating_system});
  in(model::kZoneLabel, std::move(zones));
  if (!regions.empty()) in(model::kRegionLabel, std::move(regions));
  in(model::kCapacityTypeLabel, std::move(ways));
  if (flavor.operating_system != "windows") {
    type.requirements.Add(NodeRequirement::DoesNotExist("node.kubernetes.io/windows-build"));
  }
  if (gpu_label.empty()) return;
  if (flavor.gpu_count > 0 && !flavor.gpu_type.empty()) {
    in(gpu_label, {AsLabelValue(flavor.gpu_type)});
  } else {
    type.requirements.Add(NodeRequirement::DoesNotExist(gpu_label));
  }
}

}  // namespace

std::string ZoneLabelOf(std::string_view zone) {
  return zone.empty() ? std::string(kZoneOfNone) : AsLabelValue(zone);
}

bool InZones(const std::vector<std::string>& zones, std::string_view zone) {
  return zones.empty() || std::ranges::find(zones, zone) != zones.end() ||
         std::ranges::find(zones, ZoneLabelOf(zone)) != zones.end();
}

std::string MachineNameOf(const model::NodeClaim& claim, std::string_view prefix) {
  // A host name has 63 characters; the digits at the end are what counts.
  std::string name(prefix.substr(0, 16));
  if (const std::string* pool = claim.metadata.labels.Find(model::kNodePoolLabel)) {
    std::string part = Lower(AsLabelValue(pool->substr(0, 28)));
    std::ranges::replace(part, '_', '-');
    std::ranges::replace(part, '.', '-');
    if (!part.empty()) name += "-" + part;
  }
  return name + "-" + HashText(claim.metadata.uid);
}

std::string HashOfClass(const model::NodeClass& node_class) {
  const model::NodeClassSpec& spec = node_class.spec;
  std::string text;
  Put(text, spec.image);
  for (const std::string& network : spec.networks) Put(text, network);
  Put(text, "user data");
  if (const auto& secret = spec.user_data_secret) {
    Put(text, secret->namespace_);
    Put(text, secret->name);
    Put(text, secret->key);
  }
  Put(text, spec.tags);
  Put(text, "kubelet");
  if (const auto& kubelet = spec.kubelet) {
    Put(text, kubelet->kube_reserved);
    Put(text, kubelet->system_reserved);
    Put(text, kubelet->eviction_hard);
    Put(text, kubelet->max_pods ? std::to_string(*kubelet->max_pods) : "");
  }
  Put(text, spec.register_node ? "registers" : "");
  Put(text, spec.extra);
  return "v1-" + HashText(text);
}

Result<GroupConfig> GroupOfClass(const model::NodeClass& node_class) {
  const model::NodeClassSpec& spec = node_class.spec;
  GroupConfig group{.name = node_class.metadata.name, .image = spec.image};
  for (const auto& [key, value] : spec.tags) group.tags[std::string(key)] = value;
  TRY(ReadExtra(node_class, group));
  std::vector<std::string> networks;
  for (const std::string& network : spec.networks) {
    if (network == "public") {
      group.use_public_network = true;
    } else if (network == "private") {
      group.use_private_network = true;
    } else {
      networks.push_back(network);
    }
  }
  if (!networks.empty()) {
    group.network_uuid = networks.front();
    group.extra["networks"] = Join(networks, ",");
  }
  if (const auto& kubelet = spec.kubelet) {
    group.max_pods = kubelet->max_pods;
    if (!kubelet->kube_reserved.empty()) group.kube_reserved = TextsOf(kubelet->kube_reserved);
    if (!kubelet->system_reserved.empty()) {
      group.system_reserved = TextsOf(kubelet->system_reserved);
    }
    if (!kubelet->eviction_hard.empty()) {
      group.eviction_hard.emplace();
      for (const auto& [key, value] : kubelet->eviction_hard) {
        (*group.eviction_hard)[std::string(key)] = value;
      }
    }
  }
  return group;
}

std::vector<std::string> WrongWithClass(const model::NodeClass& node_class) {
  std::vector<std::string> wrong;
  for (const auto& [key, value] : node_class.spec.tags) {
    if (key == kClusterTag || key == kGroupTag || std::string_view(key).starts_with("coppice")) {
      wrong.push_back("tags: '" + std::string(key) + "' is ours; remove it");
    }
  }
  if (const auto& delay = node_class.spec.node_registration_delay) {
    const auto parsed = ParseGoDuration(*delay);
    if (!parsed.ok()) {
      wrong.push_back("nodeRegistrationDelay: " + parsed.status().message());
    } else if (*parsed < Duration::zero()) {
      wrong.push_back("nodeRegistrationDelay: '" + *delay + "' is negative");
    }
  }
  const auto group = GroupOfClass(node_class);
  const Status status = group.ok() ? CheckReserved(*group) : group.status();
  if (!status.ok()) wrong.push_back(status.message());
  return wrong;
}

std::vector<FlavorOffering> OfferingsOf(const Flavor& flavor) {
  if (!flavor.offerings.empty()) {
    std::vector<FlavorOffering> offerings = flavor.offerings;
    for (FlavorOffering& offering : offerings) {
      if (offering.capacity_type.empty()) offering.capacity_type = kOnDemandCapacity;
      if (!flavor.in_stock) offering.in_stock = false;
    }
    return offerings;
  }
  std::vector<FlavorOffering> offerings;
  for (const std::string& zone : flavor.zones) {
    offerings.push_back({zone, kOnDemandCapacity, flavor.price_per_hour, flavor.in_stock});
  }
  if (offerings.empty()) {
    offerings.push_back({"", kOnDemandCapacity, flavor.price_per_hour, flavor.in_stock});
  }
  return offerings;
}

Result<InstanceType> TypeOf(const Flavor& flavor, const model::NodeClass& node_class,
                            std::string_view gpu_label, const std::set<OfferingKey>& sold_out) {
  GroupConfig group = TRY(GroupOfClass(node_class));
  if (!group.max_pods && flavor.max_pods > 0) group.max_pods = flavor.max_pods;
  const model::Node node = TRY(MakeTemplate(group, flavor, gpu_label));
  InstanceType type{.name = AsLabelValue(flavor.name), .capacity = node.status.capacity};
  for (const auto& [resource, amount] : flavor.resources) {
    type.capacity[resource] = model::Quantity::FromUnits(amount);
  }
  // All that is kept back stands under one heading: only the sum is ever asked for.
  for (const auto& [resource, amount] : node.status.capacity) {
    const model::Quantity* left = node.status.allocatable.Find(resource);
    if (left == nullptr) continue;
    model::Quantity kept = amount;
    kept.Sub(*left);
    if (kept.Sign() > 0) type.overhead.kube_reserved[resource] = kept;
  }
  AddOfferings(flavor, node_class, sold_out, type);
  if (type.offerings.empty()) {
    return NotFound("flavor '" + flavor.name + "' is not sold in the zones of class '" +
                    node_class.metadata.name + "'");
  }
  AddRequirements(flavor, gpu_label, type);
  return type;
}

std::string CapacityTypeOf(const Machine& machine) {
  if (!machine.capacity_type.empty()) return machine.capacity_type;
  const auto tag = machine.tags.find(kCapacityTypeTag);
  return tag == machine.tags.end() ? std::string(kOnDemandCapacity) : tag->second;
}

model::NodeClaim ClaimOf(const Machine& machine, const InstanceType* type) {
  model::NodeClaim claim;
  const auto tag = [&machine](const char* key) {
    const auto it = machine.tags.find(key);
    return it == machine.tags.end() ? std::string() : it->second;
  };
  claim.metadata.name = tag(kClaimTag);
  claim.metadata.creation_timestamp = model::Time{machine.created_at};
  model::Labels& labels = claim.metadata.labels;
  if (type != nullptr) {
    for (const NodeRequirement& requirement : type->requirements) {
      if (requirement.op() == NodeRequirement::Operator::kIn && requirement.values().size() == 1) {
        labels[requirement.key()] = requirement.values().front();
      }
    }
    claim.status.capacity = type->capacity;
    claim.status.allocatable = AllocatableGroups(*type)[0].allocatable;
  }
  const std::string zone = ZoneLabelOf(machine.zone);
  labels[model::kInstanceTypeLabel] = AsLabelValue(machine.flavor);
  labels[model::kZoneLabel] = zone;
  const std::string region = ToldRegionOf(zone);
  if (!region.empty()) labels[model::kRegionLabel] = region;
  labels[model::kCapacityTypeLabel] = CapacityTypeOf(machine);
  const std::string pool = tag(kPoolTag);
  if (!pool.empty() && pool != kNoPool) labels[model::kNodePoolLabel] = pool;
  claim.status.provider_id = machine.id;
  claim.status.image_id = machine.image;
  return claim;
}

}  // namespace coppice::cloud
