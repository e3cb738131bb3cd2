#include "cloud/catalog.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "base/strings.h"
#include "base/yaml.h"

namespace coppice::cloud {
namespace {

using model::NodeRequirement;
using model::Quantity;

// A value under a key of either spelling: Price or price.
yaml::Node EitherKey(yaml::MapReader& map, const std::string& upper, std::string& used) {
  std::string lower = upper;
  lower[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(lower[0])));
  used = map.Has(upper) ? upper : lower;
  return map.Get(used);
}

model::RequirementSpec ReadRequirement(const yaml::Node& node, yaml::Problems& problems) {
  static constexpr std::array<std::string_view, 4> kOperators = {"In", "NotIn", "Exists",
                                                                 "DoesNotExist"};
  yaml::MapReader map(node, problems);
  model::RequirementSpec requirement;
  map.Require("key", requirement.key);
  map.Require("operator", requirement.operator_);
  map.Read("values", requirement.values);
  if (std::ranges::find(kOperators, requirement.operator_) == kOperators.end()) {
    map.Complain("operator", "is In, NotIn, Exists or DoesNotExist");
  }
  map.Finish();
  return requirement;
}

const model::RequirementSpec* OneValued(const CatalogOffering& offering, std::string_view key) {
  for (const auto& requirement : offering.requirements) {
    if (requirement.key == key && requirement.operator_ == "In" && requirement.values.size() == 1) {
      return &requirement;
    }
  }
  return nullptr;
}

CatalogOffering ReadOffering(const yaml::Node& node, yaml::Problems& problems) {
  yaml::MapReader map(node, problems);
  CatalogOffering offering;
  std::string key;
  EitherKey(map, "Price", key);
  map.Require(key, offering.price);
  if (!std::isfinite(offering.price) || offering.price < 0) map.Complain(key, "is no price");
  EitherKey(map, "Available", key);
  map.Read(key, offering.available);
  EitherKey(map, "ReservationCapacity", key);
  map.Read(key, offering.reservation_capacity);
  if (offering.reservation_capacity < 0) map.Complain(key, "must not be negative");
  EitherKey(map, "Requirements", key);
  map.EachItem(key, [&](const yaml::Node& item) {
    offering.requirements.push_back(ReadRequirement(item, problems));
  });
  for (const auto label : {model::kZoneLabel, model::kCapacityTypeLabel}) {
    if (OneValued(offering, label) == nullptr) {
      map.Complain(key, "must say one value of " + std::string(label));
    }
  }
  map.Finish();
  return offering;
}

void ReadResources(yaml::MapReader& map, CatalogType& type) {
  std::map<std::string, std::string> amounts;
  map.Read("resources", amounts);
  for (const auto& [resource, text] : amounts) {
    const auto amount = Quantity::Parse(text);
    if (amount.ok() && amount->Sign() >= 0) {
      type.resources[resource] = *amount;
    } else {
      map.Complain("resources", resource + ": '" + text + "' is not an amount such as 4 or 16Gi");
    }
  }
  for (const char* resource : {"cpu", "memory"}) {
    const Quantity* amount = type.resources.Find(resource);
    if (amount == nullptr || amount->Sign() <= 0) {
      map.Complain("resources", std::string("must have some ") + resource);
    }
  }
  if (!type.resources.contains("pods")) type.resources["pods"] = Quantity::FromUnits(110);
}

CatalogType ReadType(const yaml::Node& node, yaml::Problems& problems) {
  yaml::MapReader map(node, problems);
  CatalogType type;
  map.Require("name", type.name);
  map.Read("architecture", type.architecture);
  map.Read("operatingSystems", type.operating_systems);
  if (type.operating_systems.empty()) map.Complain("operatingSystems", "must name one at least");
  ReadResources(map, type);
  std::set<std::string> seen;
  map.EachItem("offerings", [&](const yaml::Node& item) {
    type.offerings.push_back(ReadOffering(item, problems));
    std::string identity;
    for (const auto& one : type.offerings.back().requirements) {
      identity += one.key + "\n" + one.operator_ + "\n" + Join(one.values, ",") + "\n";
    }
    if (!seen.insert(identity).second) {
      problems.Add(
          {.place = item.place(), .path = item.path(), .text = "the same offering is there twice"});
    }
  });
  if (type.offerings.empty()) map.Complain("offerings", "there must be one at least");
  map.Finish();
  return type;
}

// c5.2xlarge -> 2xlarge; c-4x-amd64-linux -> its cpus.
std::string SizeOf(const CatalogType& entry) {
  const size_t dot = entry.name.find('.');
  if (dot != std::string::npos && dot > 0 && entry.name.find('.', dot + 1) == std::string::npos &&
      dot + 1 < entry.name.size()) {
    return entry.name.substr(dot + 1);
  }
  return entry.resources.Find("cpu")->ToString();
}

std::string FamilyOf(const std::string& name) {
  const size_t end = name.find_first_of(".-");
  return end == std::string::npos || end == 0 ? name.substr(0, 1) : name.substr(0, end);
}

std::vector<std::string> ValuesOver(const CatalogType& entry, std::string_view key) {
  std::vector<std::string> values;
  for (const CatalogOffering& offering : entry.offerings) {
    if (const auto* one = OneValued(offering, key)) values.push_back(one->values.front());
  }
  return values;
}

Catalog MakeKwokCatalog() {
  static constexpr std::array<int64_t, 12> kSizes = {1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256};
  static constexpr std::array<std::pair<char, int64_t>, 3> kFamilies = {
      {{'c', 2}, {'s', 4}, {'m', 8}}};  // GiB per cpu
  Catalog catalog;
  for (const int64_t size : kSizes) {
    for (const auto& [family, ratio] : kFamilies) {
      for (const char* system : {"linux", "windows"}) {
        for (const char* architecture : {"amd64", "arm64"}) {
          const int64_t memory = size * ratio << 30;
          CatalogType type{.name = std::string(1, family) + "-" + std::to_string(size) + "x-" +
                                   architecture + "-" + system,
                           .architecture = architecture,
                           .operating_systems = {system}};
          constexpr auto kBinary = Quantity::Format::kBinarySI;
          type.resources["cpu"] = Quantity::FromUnits(size);
          type.resources["memory"] = Quantity::FromUnits(memory, kBinary);
          type.resources["ephemeral-storage"] = Quantity::FromUnits(20LL << 30, kBinary);
          type.resources["pods"] = Quantity::FromUnits(std::min<int64_t>(16 * size, 1024));
          const double price =
              0.025 * static_cast<double>(size) + 0.001 * static_cast<double>(memory) / 1e9;
          for (const char* zone : {"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"}) {
            for (const auto way : {model::kSpot, model::kOnDemand}) {
              type.offerings.push_back(
                  {.price = way == model::kSpot ? price * 0.7 : price,
                   .requirements = {
                       {std::string(model::kCapacityTypeLabel), "In", {std::string(way)}},
                       {std::string(model::kZoneLabel), "In", {zone}}}});
            }
          }
          catalog.push_back(std::move(type));
        }
      }
    }
  }
  return catalog;
}

}  // namespace

Result<Catalog> ParseCatalog(std::string_view text, const std::string& file_name) {
  const yaml::Node root = TRY(yaml::Parse(text, file_name));
  if (root.kind() != yaml::Node::Kind::kList) {
    return InvalidArgument(file_name + ": a catalog is a list of instance types");
  }
  yaml::Problems problems;
  Catalog catalog;
  std::set<std::string> names;
  for (const yaml::Node& item : root.items()) {
    catalog.push_back(ReadType(item, problems));
    if (!names.insert(catalog.back().name).second) {
      problems.Add({.place = item.place(),
                    .path = item.path() + ".name",
                    .text = "'" + catalog.back().name + "' is there already"});
    }
  }
  if (problems.has_errors()) return problems.ToStatus();
  return catalog;
}

Result<Catalog> ReadCatalog(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound(path + " cannot be opened");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.size() > yaml::kMaxFileBytes) return InvalidArgument(path + " is too large");
  return ParseCatalog(text, path);
}

const Catalog& KwokCatalog() {
  static const Catalog kCatalog = MakeKwokCatalog();
  return kCatalog;
}

InstanceType TypeOfCatalog(const CatalogType& entry) {
  InstanceType type{.name = entry.name, .capacity = entry.resources};
  type.overhead.kube_reserved["cpu"] = Quantity::FromMillis(100);
  type.overhead.kube_reserved["memory"] =
      Quantity::FromUnits(10LL << 20, Quantity::Format::kBinarySI);
  const auto in = [&type](std::string_view key, std::vector<std::string> values) {
    type.requirements.Add(NodeRequirement::In(key, std::move(values)));
  };
  in(model::kInstanceTypeLabel, {entry.name});
  in(model::kArchLabel, {entry.architecture});
  in(model::kOsLabel, entry.operating_systems);
  in(model::kZoneLabel, ValuesOver(entry, model::kZoneLabel));
  in(model::kCapacityTypeLabel, ValuesOver(entry, model::kCapacityTypeLabel));
  in(kKwokSizeLabel, {SizeOf(entry)});
  in(kKwokFamilyLabel, {FamilyOf(entry.name)});
  in(kKwokCpuLabel, {entry.resources.Find("cpu")->ToString()});
  in(kKwokMemoryLabel, {entry.resources.Find("memory")->ToString()});
  for (const CatalogOffering& sold : entry.offerings) {
    type.offerings.push_back({.requirements = model::NodeRequirements::From(
                                  sold.requirements, model::LabelRules::Default()),
                              .price = sold.price,
                              .available = sold.available,
                              .reservation_capacity = sold.reservation_capacity});
  }
  return type;
}

Flavor FlavorOfCatalog(const CatalogType& entry) {
  Flavor flavor{.name = entry.name, .architecture = entry.architecture};
  flavor.operating_system = entry.operating_systems.front();
  for (const auto& [resource, amount] : entry.resources) {
    if (resource == "cpu") {
      flavor.cpu_millis = amount.MilliValue();
    } else if (resource == "memory") {
      flavor.memory_bytes = amount.Value();
    } else if (resource == "ephemeral-storage") {
      flavor.disk_bytes = amount.Value();
    } else if (resource == "pods") {
      flavor.max_pods = amount.Value();
    } else {
      flavor.resources[resource] = amount.Value();
    }
  }
  for (const CatalogOffering& sold : entry.offerings) {
    const auto* zone = OneValued(sold, model::kZoneLabel);
    const auto* way = OneValued(sold, model::kCapacityTypeLabel);
    if (zone == nullptr || way == nullptr || way->values.front() == model::kReserved) continue;
    flavor.offerings.push_back(
        {zone->values.front(), way->values.front(), sold.price, sold.available});
    if (std::ranges::find(flavor.zones, zone->values.front()) == flavor.zones.end()) {
      flavor.zones.push_back(zone->values.front());
    }
    if (way->values.front() == model::kOnDemand && !flavor.price_per_hour) {
      flavor.price_per_hour = sold.price;
    }
  }
  return flavor;
}

}  // namespace coppice::cloud
