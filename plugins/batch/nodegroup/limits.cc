#include "plugins/batch/nodegroup/limits.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace coppice::batch::nodegroup {
namespace {

constexpr std::string_view kLimitsKey = "volcano.sh/nodegroup-resource-limits";
using Json = nlohmann::json;

// An amount is a text or a number; null is zero, as in the API.
bool ReadAmount(const Json& json, model::Quantity& amount) {
  if (json.is_null()) return true;
  if (!json.is_string() && !json.is_number()) return false;
  const auto parsed =
      model::Quantity::Parse(json.is_string() ? json.get<std::string>() : json.dump());
  if (parsed.ok()) amount = *parsed;
  return parsed.ok();
}

}  // namespace

Limits Limits::Of(const model::Queue& queue) {
  const std::string* text = queue.metadata.annotations.Find(kLimitsKey);
  return text && !text->empty() ? Parse(*text) : Limits();
}

Limits Limits::Parse(const std::string& text) {
  Limits limits;
  const Json json = Json::parse(text, nullptr, false);
  limits.invalid_ = json.is_discarded() || !(json.is_object() || json.is_null());
  if (limits.invalid_ || json.is_null()) return limits;
  for (const auto& [group, amounts] : json.items()) {
    Limit& limit = limits.groups_[group];
    if (amounts.is_null()) continue;
    if (!amounts.is_object()) {
      limits.invalid_ = true;
      return limits;
    }
    model::ResourceList list;
    for (const auto& [name, amount] : amounts.items()) {
      if (!ReadAmount(amount, list[name])) {
        limits.invalid_ = true;
        return limits;
      }
      limit.names.push_back(name);
    }
    limit.resource = Resource::From(list);
  }
  return limits;
}

bool Limits::Exceeded(const std::string& group, const Resource& used) const {
  const auto limit = groups_.find(group);
  if (limit == groups_.end()) return false;
  return std::ranges::any_of(limit->second.names, [&](const std::string& name) {
    const double have = used.Get(name);
    const double most = limit->second.resource.Get(name);
    return have > most && have - most >= kEpsilon;
  });
}

}  // namespace coppice::batch::nodegroup
