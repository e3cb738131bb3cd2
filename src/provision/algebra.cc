#include "provision/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace coppice::provision {
namespace {

std::string TextOf(KeyId key, const model::NodeRequirement& requirement) {
  std::string text = fmt::format("{}{}", key, requirement.complement() ? "!" : "=");
  for (const std::string& value : requirement.values())
    text += fmt::format("{}:{}", value.size(), value);
  const auto append = [&text](char name, const std::optional<int64_t>& number) {
    if (number) text += fmt::format("{}{}", name, *number);
  };
  append('>', requirement.gte());
  append('<', requirement.lte());
  append('#', requirement.min_values());
  return text;
}

}  // namespace

Algebra::Algebra(const model::LabelRules& rules) : rules_(rules) { InternMembers({}); }

KeyId Algebra::Key(std::string_view key) {
  const auto [it, is_new] =
      key_ids_.try_emplace(std::string(key), static_cast<KeyId>(keys_.size()));
  if (is_new) {
    keys_.emplace_back(key);
    well_known_.push_back(rules_.IsWellKnown(key));
  }
  return it->second;
}

ReqId Algebra::Intern(const model::NodeRequirement& requirement) {
  const KeyId key = Key(requirement.key());
  const auto [it, is_new] = requirement_ids_.try_emplace(TextOf(key, requirement),
                                                         static_cast<ReqId>(requirements_.size()));
  if (is_new) requirements_.push_back({key, requirement, requirement.op()});
  return it->second;
}

SetId Algebra::Intern(const model::NodeRequirements& requirements) {
  std::vector<ReqId> members;
  for (const model::NodeRequirement& requirement : requirements) {
    if (requirement.key() != model::kHostnameLabel) members.push_back(Intern(requirement));
  }
  return InternMembers(std::move(members));
}

ReqId Algebra::InOne(KeyId key, const std::string& value) {
  return Intern(model::NodeRequirement::In(keys_[key], {value}));
}

SetId Algebra::InternMembers(std::vector<ReqId> members) {
  std::ranges::sort(members, {}, [this](ReqId id) { return requirements_[id].key; });
  const auto* bytes = reinterpret_cast<const char*>(members.data());
  std::string text(bytes, members.size() * sizeof(ReqId));
  const auto [it, is_new] = set_ids_.try_emplace(std::move(text), static_cast<SetId>(sets_.size()));
  if (is_new) {
    const bool wishes = std::ranges::any_of(
        members, [this](ReqId id) { return requirements_[id].value.min_values().has_value(); });
    sets_.push_back({std::move(members), wishes});
  }
  return it->second;
}

ReqId Algebra::Find(SetId set, KeyId key) const {
  for (const ReqId id : sets_[set].members) {
    if (requirements_[id].key == key) return id;
  }
  return kNoId;
}

ReqId Algebra::Intersection(ReqId a, ReqId b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);  // it is commutative
  if (const uint32_t* known = intersections_.Find(a, b)) return *known;
  const ReqId both = Intern(requirements_[a].value.Intersection(requirements_[b].value));
  intersections_.Put(a, b, both);
  return both;
}

bool Algebra::Meet(ReqId a, ReqId b) {
  if (a > b) std::swap(a, b);
  if (const uint32_t* known = meets_.Find(a, b)) return *known != 0;
  const bool meet =
      (model::AcceptsAbsence(requirements_[a].op) && model::AcceptsAbsence(requirements_[b].op)) ||
      requirements_[a].value.HasIntersection(requirements_[b].value);
  meets_.Put(a, b, meet ? 1 : 0);
  return meet;
}

bool Algebra::Compatible(SetId offer, SetId demand, bool allow_well_known) {
  if (demand == kEmptySet) return true;
  PairMemo& memo = compatible_[allow_well_known ? 1 : 0];
  if (const uint32_t* known = memo.Find(offer, demand)) return *known != 0;
  const bool compatible = std::ranges::all_of(sets_[demand].members, [&](ReqId asked) {
    const KeyId key = requirements_[asked].key;
    const ReqId offered = Find(offer, key);
    if (offered != kNoId) return Meet(offered, asked);
    return (allow_well_known && well_known_[key]) || model::AcceptsAbsence(requirements_[asked].op);
  });
  memo.Put(offer, demand, compatible ? 1 : 0);
  return compatible;
}

SetId Algebra::Add(SetId a, SetId b) {
  if (b == kEmptySet || a == b) return a;
  if (const uint32_t* known = sums_.Find(a, b)) return *known;
  std::vector<ReqId> members = sets_[a].members;
  for (const ReqId added : std::vector<ReqId>(sets_[b].members)) {
    const auto there = std::ranges::find_if(
        members, [&](ReqId id) { return requirements_[id].key == requirements_[added].key; });
    if (there == members.end()) {
      members.push_back(added);
    } else {
      *there = Intersection(*there, added);
    }
  }
  const SetId sum = InternMembers(std::move(members));
  sums_.Put(a, b, sum);
  return sum;
}

SetId Algebra::AddOne(SetId set, ReqId requirement) {
  if (const uint32_t* known = additions_.Find(set, requirement)) return *known;
  const ReqId there = Find(set, requirements_[requirement].key);
  const SetId sum = Replace(set, there == kNoId ? requirement : Intersection(there, requirement));
  additions_.Put(set, requirement, sum);
  return sum;
}

SetId Algebra::Replace(SetId set, ReqId requirement) {
  std::vector<ReqId> members = sets_[set].members;
  const auto there = std::ranges::find_if(
      members, [&](ReqId id) { return requirements_[id].key == requirements_[requirement].key; });
  if (there == members.end()) {
    members.push_back(requirement);
  } else {
    *there = requirement;
  }
  return InternMembers(std::move(members));
}

bool Algebra::Loosened(SetId before, SetId after, bool allow_well_known) const {
  if (before == after) return false;
  return std::ranges::any_of(sets_[after].members, [&](ReqId now) {
    const KeyId key = requirements_[now].key;
    const ReqId then = Find(before, key);
    // A label that was unknown is known now; or one that could be anything may be absent now.
    if (then == kNoId) {
      return !(allow_well_known && well_known_[key]) ||
             model::AcceptsAbsence(requirements_[now].op);
    }
    // What insisted on the label now accepts its absence.
    return !model::AcceptsAbsence(requirements_[then].op) &&
           model::AcceptsAbsence(requirements_[now].op);
  });
}

model::NodeRequirements Algebra::Expand(SetId set) const {
  model::NodeRequirements made;
  for (const ReqId id : sets_[set].members) made.Add(requirements_[id].value);
  return made;
}

}  // namespace coppice::provision
