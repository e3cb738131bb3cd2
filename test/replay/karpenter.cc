#include "test/replay/karpenter.h"

#include <zlib.h>

#include <filesystem>
#include <map>
#include <stdexcept>

namespace coppice::replay {
namespace {

model::Quantity ReadQuantity(const Json& text) {
  auto quantity = model::Quantity::Parse(text.get<std::string>());
  if (!quantity.ok()) throw std::runtime_error(quantity.status().ToString());
  return std::move(quantity).value();
}

cloud::InstanceTypeOverhead ReadOverhead(const Json& overhead) {
  return {.kube_reserved = ReadResources(overhead, "kubeReserved"),
          .system_reserved = ReadResources(overhead, "systemReserved"),
          .eviction_threshold = ReadResources(overhead, "evictionThreshold")};
}

cloud::Offering ReadOffering(const Json& offering) {
  cloud::Offering made{.requirements = ReadRequirements(offering, "requirements"),
                       .price = offering.at("price"),
                       .available = offering.at("available"),
                       .reservation_capacity = offering.value("reservationCapacity", int64_t{0}),
                       .capacity_override = ReadResources(offering, "capacityOverride")};
  const auto overhead = offering.find("overheadOverride");
  if (overhead != offering.end() && !overhead->is_null())
    made.overhead_override = ReadOverhead(*overhead);
  return made;
}

std::string ReadWhole(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + " cannot be opened");
  std::string text;
  std::string chunk(1 << 16, '\0');
  int got = 0;
  while ((got = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0)
    text.append(chunk, 0, static_cast<size_t>(got));
  gzclose(file);
  return text;
}

}  // namespace

const model::LabelRules& RecordedLabels() {
  static const model::LabelRules kRules = [] {
    model::LabelRules rules = model::LabelRules::Default();
    for (const char* label : {"size", "family", "cpu", "memory"})
      rules.well_known.insert(std::string("karpenter.kwok.sh/instance-") + label);
    rules.well_known.insert(kReservationLabel);
    return rules;
  }();
  return kRules;
}

model::RequirementSpec ReadRequirement(const Json& requirement) {
  model::RequirementSpec spec{.key = requirement.at("key"),
                              .operator_ = requirement.at("operator"),
                              .values = requirement.value("values", std::vector<std::string>())};
  if (requirement.contains("minValues")) spec.min_values = requirement.at("minValues");
  return spec;
}

model::NodeRequirements ReadRequirements(const Json& parent, const char* key) {
  model::NodeRequirements made;
  const auto list = parent.find(key);
  if (list == parent.end() || list->is_null()) return made;
  for (const Json& one : *list)
    made.Add(model::NodeRequirement::From(ReadRequirement(one), RecordedLabels()));
  return made;
}

model::ResourceList ReadResources(const Json& parent, const char* key) {
  model::ResourceList made;
  const auto list = parent.find(key);
  if (list == parent.end() || list->is_null()) return made;
  for (const auto& [name, amount] : list->items()) made[name] = ReadQuantity(amount);
  return made;
}

cloud::InstanceType ReadInstanceType(const Json& type) {
  cloud::InstanceType made{.name = type.at("name"),
                           .requirements = ReadRequirements(type, "requirements"),
                           .capacity = ReadResources(type, "capacity"),
                           .overhead = ReadOverhead(type.value("overhead", Json::object()))};
  for (const Json& offering : type.value("offerings", Json::array()))
    made.offerings.push_back(ReadOffering(offering));
  const Json limits = type.value("volumeAttachmentLimits", Json::object());
  for (const auto& [driver, limit] : limits.items())
    made.volume_attachment_limits[driver] = limit.get<int64_t>();
  return made;
}

Json Canonical(const model::NodeRequirement& requirement) {
  Json made{{"key", requirement.key()}, {"operator", model::ToString(requirement.op())}};
  if (!requirement.values().empty()) made["values"] = requirement.values();
  if (requirement.gte()) made["gte"] = *requirement.gte();
  if (requirement.lte()) made["lte"] = *requirement.lte();
  if (requirement.min_values()) made["minValues"] = *requirement.min_values();
  return made;
}

Json Canonical(const model::NodeRequirements& requirements) {
  Json made = Json::array();
  for (const model::NodeRequirement& requirement : requirements)
    made.push_back(Canonical(requirement));
  return made;
}

Json Canonical(const model::ResourceList& resources) {
  Json made = Json::object();
  for (const auto& [name, amount] : resources) {
    const auto canonical = model::Quantity::Parse(amount.ToString());
    made[name] = canonical.ok() ? canonical->Canonical() : amount.ToString();
  }
  return made;
}

std::shared_ptr<const cloud::InstanceTypes> Catalog(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const cloud::InstanceTypes>> read;
  if (read.empty()) {
    const std::string beside = CaseFolder() + "/catalogs.json.gz";
    const Json all = Json::parse(ReadWhole(
        std::filesystem::exists(beside) ? beside : "test/data/karpenter/catalogs.json.gz"));
    for (const auto& [key, types] : all.items()) {
      auto list = std::make_shared<cloud::InstanceTypes>();
      for (const Json& type : types) list->push_back(ReadInstanceType(type));
      read[key] = std::move(list);
    }
  }
  const auto it = read.find(name);
  if (it == read.end()) throw std::runtime_error("no catalog " + name);
  return it->second;
}

}  // namespace coppice::replay
