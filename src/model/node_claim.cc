#include "model/node_claim.h"

#include <algorithm>

#include "base/go_duration.h"

namespace coppice::model {

std::optional<Duration> LastingOf(const std::optional<std::string>& text) {
  if (!text || *text == "Never") return std::nullopt;
  const auto parsed = ParseGoDuration(*text);
  if (!parsed.ok()) return std::nullopt;
  return *parsed;
}

void FillDefaults(NodeClaimTemplateSpec& spec) {
  if (!spec.expire_after) spec.expire_after = "720h";
}

const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto it = std::ranges::find(conditions, type, &Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

bool IsTrue(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition != nullptr && condition->status == "True";
}

void SetCondition(std::vector<Condition>& conditions, Condition condition, TimePoint now) {
  condition.last_transition_time = Time{now};
  const auto it = std::ranges::find(conditions, condition.type, &Condition::type);
  if (it == conditions.end()) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (it->status == condition.status) condition.last_transition_time = it->last_transition_time;
  *it = std::move(condition);
}

bool ClearCondition(std::vector<Condition>& conditions, std::string_view type) {
  return std::erase_if(conditions, [&](const Condition& c) { return c.type == type; }) > 0;
}

}  // namespace coppice::model
