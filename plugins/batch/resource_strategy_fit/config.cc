#include "plugins/batch/resource_strategy_fit/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace coppice::batch::resource_strategy_fit {
namespace {

constexpr std::string_view kTypeKey = "volcano.sh/resource-strategy-scoring-type";
constexpr std::string_view kWeightKey = "volcano.sh/resource-strategy-weight";

Strategy StrategyOf(std::string_view name) {
  if (name == "LeastAllocated") return Strategy::kLeast;
  if (name == "MostAllocated") return Strategy::kMost;
  return Strategy::kNeither;
}

Status MustBe(const std::string& key, const char* what) {
  return InvalidArgument("resource-strategy-fit: " + key + " must be " + what);
}

// Upstream's reader: numbers of either kind, a bool is a bool, a text a text; keys in any case.
Status ReadInt(const ArgumentValue& value, const std::string& key, int64_t& out) {
  if (value.is_null()) return Status::Ok();
  if (value.AsInt()) {
    out = *value.AsInt();
  } else if (value.AsFloat() && *value.AsFloat() > -9e18 && *value.AsFloat() < 9e18) {
    out = static_cast<int64_t>(*value.AsFloat());
  } else {
    return MustBe(key, "a number");
  }
  return Status::Ok();
}

Status ReadFloat(const ArgumentValue& value, const std::string& key, double& out) {
  if (value.is_null()) return Status::Ok();
  if (value.AsInt()) {
    out = static_cast<double>(*value.AsInt());
  } else if (value.AsFloat()) {
    out = *value.AsFloat();
  } else {
    return MustBe(key, "a number");
  }
  return Status::Ok();
}

Status ReadText(const ArgumentValue& value, const std::string& key, std::string& out) {
  if (value.is_null()) return Status::Ok();
  if (!value.AsText()) return MustBe(key, "a text");
  out = *value.AsText();
  return Status::Ok();
}

Status ReadBool(const ArgumentValue& value, const std::string& key, bool& out) {
  if (value.is_null()) return Status::Ok();
  if (!value.AsBool()) return MustBe(key, "true or false");
  out = *value.AsBool();
  return Status::Ok();
}

// A section with its members by their names in lower case.
Result<std::map<std::string, const ArgumentValue*>> Section(const ArgumentValue& value,
                                                            const std::string& key) {
  std::map<std::string, const ArgumentValue*> members;
  if (value.is_null()) return members;
  if (!value.AsMap()) return MustBe(key, "a map");
  for (const auto& [name, member] : *value.AsMap()) members[Lower(name)] = &member;
  return members;
}

std::vector<std::string> Names(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& part : Split(list, ',')) {
    if (const std::string_view name = Trim(part); !name.empty()) names.emplace_back(name);
  }
  return names;
}

Status ReadResources(const ArgumentValue* value, Config& config) {
  std::map<std::string, Wish> all;
  if (value && !value->is_null()) {
    if (!value->AsMap()) return MustBe("resources", "a map");
    for (const auto& [name, about] : *value->AsMap()) {
      const std::string key = "resources." + name;
      const auto members = TRY(Section(about, key));
      Wish& wish = all[name];
      wish.weight = 0;
      std::string type;
      if (const auto own = members.find("type"); own != members.end())
        TRY(ReadText(*own->second, key + ".type", type));
      if (const auto own = members.find("weight"); own != members.end())
        TRY(ReadInt(*own->second, key + ".weight", wish.weight));
      if (wish.weight <= 0) wish.weight = 1;
      wish.strategy = StrategyOf(type);
      if (wish.strategy == Strategy::kNeither) wish.strategy = Strategy::kLeast;
    }
  }
  if (all.empty()) all = {{"cpu", {}}, {"memory", {}}};
  for (const auto& [name, wish] : all) {
    const size_t star = name.find('*');
    if (star == std::string::npos) {
      config.resources.emplace(name, wish);
    } else if (star > 0 && star + 1 == name.size()) {  // others are passed over
      config.families.emplace(name.substr(0, star), wish);
    }
  }
  return Status::Ok();
}

Status ReadScarce(const ArgumentValue* value, Config& config) {
  if (!value) return Status::Ok();
  const auto members = TRY(Section(*value, "sra"));
  bool enable = false;
  std::string resources;
  int64_t weight = 0;
  std::map<std::string, int64_t> weights;
  for (const auto& [name, member] : members) {
    if (name == "enable") TRY(ReadBool(*member, "sra.enable", enable));
    if (name == "resources") TRY(ReadText(*member, "sra.resources", resources));
    if (name == "weight") TRY(ReadInt(*member, "sra.weight", weight));
    if (name != "resourceweight" || member->is_null()) continue;
    if (!member->AsMap()) return MustBe("sra.resourceWeight", "a map");
    for (const auto& [resource, own] : *member->AsMap()) {
      TRY(ReadInt(own, "sra.resourceWeight." + resource, weights[resource]));
    }
  }
  if (!enable) return Status::Ok();
  config.scarce_weight = weight;
  for (const std::string& name : Names(resources)) {
    const auto own = weights.find(name);
    int64_t of_this = own == weights.end() ? 1 : own->second;
    if (of_this < 0) of_this = 1;
    config.scarce[name] = of_this;
    config.scarce_sum += of_this;  // as often as it is named
  }
  return Status::Ok();
}

Status ReadProportional(const ArgumentValue* value, Config& config) {
  if (!value) return Status::Ok();
  const auto members = TRY(Section(*value, "proportional"));
  std::string resources;
  std::map<std::string, double> proportions;
  for (const auto& [name, member] : members) {
    if (name == "enable") TRY(ReadBool(*member, "proportional.enable", config.proportional));
    if (name == "resources") TRY(ReadText(*member, "proportional.resources", resources));
    if (name != "resourceproportion" || member->is_null()) continue;
    if (!member->AsMap()) return MustBe("proportional.resourceProportion", "a map");
    for (const auto& [key, own] : *member->AsMap()) {
      TRY(ReadFloat(own, "proportional.resourceProportion." + key, proportions[key]));
    }
  }
  if (!config.proportional) return Status::Ok();
  const auto rate = [&](const std::string& key) {
    const auto own = proportions.find(key);
    return own == proportions.end() || own->second < 0 ? 1.0 : own->second;
  };
  for (const std::string& name : Names(resources)) {
    config.reserves[name] = {.cpu = rate(name + ".cpu"), .memory = rate(name + ".memory")};
  }
  return Status::Ok();
}

}  // namespace

const Wish* Config::Find(const std::string& resource) const {
  if (const auto own = resources.find(resource); own != resources.end()) return &own->second;
  const Wish* best = nullptr;
  size_t longest = 0;
  for (const auto& [prefix, wish] : families) {
    if (prefix.size() <= longest || !resource.starts_with(prefix)) continue;
    longest = prefix.size();
    best = &wish;
  }
  return best;
}

Result<Config> ReadConfig(const Arguments& arguments) {
  Config config;
  constexpr const char* kWeight = "resourceStrategyFitWeight";
  if (const ArgumentValue* weight = arguments.Find(kWeight)) {
    config.weight = 0;
    TRY(ReadInt(*weight, kWeight, config.weight));
    if (config.weight < 0) config.weight = 10;
  }
  TRY(ReadResources(arguments.Find("resources"), config));
  TRY(ReadScarce(arguments.Find("sra"), config));
  TRY(ReadProportional(arguments.Find("proportional"), config));
  return config;
}

bool HasPodWish(const model::Labels& annotations) {
  const std::string* type = annotations.Find(kTypeKey);
  return type && !type->empty();
}

Result<std::optional<PodWish>> ReadPodWish(const model::Labels& annotations) {
  if (!HasPodWish(annotations)) return std::optional<PodWish>();
  PodWish wish{.strategy = StrategyOf(*annotations.Find(kTypeKey))};
  const std::string* text = annotations.Find(kWeightKey);
  if (!text || text->empty()) {
    return InvalidArgument(std::string(kTypeKey) + " needs " + std::string(kWeightKey));
  }
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const bool readable = !json.is_discarded() && (json.is_object() || json.is_null());
  if (!readable) return InvalidArgument(std::string(kWeightKey) + " must be a map of weights");
  for (const auto& [name, weight] : json.items()) {
    if (!weight.is_number_integer() && !weight.is_null()) {
      return InvalidArgument(std::string(kWeightKey) + ": " + name + " must be a whole number");
    }
    wish.weights[name] = weight.is_null() ? 0 : weight.get<int64_t>();
  }
  return std::optional(std::move(wish));
}

}  // namespace coppice::batch::resource_strategy_fit
