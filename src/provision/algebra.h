// Algebra: requirements and sets of them as small numbers, with every question answered once.
//
// Pods of one kind share a set, and a claim's set changes only when a pod narrows it, so a solve
// sees few of them; what model::NodeRequirements would work out with text is remembered by pairs of
// numbers here. The hostname is no part of a set: it is different on every node and never narrowed,
// so whoever places a pod checks it apart (see Without).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/requirements.h"
#include "provision/pair_memo.h"

namespace coppice::provision {

using KeyId = uint32_t;
using ReqId = uint32_t;
using SetId = uint32_t;

inline constexpr uint32_t kNoId = ~uint32_t{0};

class Algebra {
 public:
  explicit Algebra(const model::LabelRules& rules);

  static constexpr SetId kEmptySet = 0;

  KeyId Key(std::string_view key);
  const std::string& key_name(KeyId key) const { return keys_[key]; }
  bool is_well_known(KeyId key) const { return well_known_[key]; }

  ReqId Intern(const model::NodeRequirement& requirement);
  // The hostname is left out.
  SetId Intern(const model::NodeRequirements& requirements);
  ReqId InOne(KeyId key, const std::string& value);

  const model::NodeRequirement& requirement(ReqId id) const { return requirements_[id].value; }
  KeyId key_of(ReqId id) const { return requirements_[id].key; }
  ReqId Find(SetId set, KeyId key) const;  // kNoId if it is not defined there
  const std::vector<ReqId>& members(SetId set) const { return sets_[set].members; }
  bool has_min_values(SetId set) const { return sets_[set].has_min_values; }

  ReqId Intersection(ReqId a, ReqId b);
  // As NodeRequirements::Intersects judges one label.
  bool Meet(ReqId a, ReqId b);
  bool Compatible(SetId offer, SetId demand, bool allow_well_known);
  SetId Add(SetId a, SetId b);
  SetId AddOne(SetId set, ReqId requirement);
  SetId Replace(SetId set, ReqId requirement);

  // A set has become another one by adding to it: can it now take demands that it refused?
  bool Loosened(SetId before, SetId after, bool allow_well_known) const;

  model::NodeRequirements Expand(SetId set) const;
  const model::LabelRules& rules() const { return rules_; }

 private:
  struct Requirement {
    KeyId key;
    model::NodeRequirement value;
    model::NodeRequirement::Operator op;
  };
  struct Set {
    std::vector<ReqId> members;  // by key id
    bool has_min_values = false;
  };

  SetId InternMembers(std::vector<ReqId> members);

  const model::LabelRules& rules_;
  std::unordered_map<std::string, KeyId> key_ids_;
  std::vector<std::string> keys_;
  std::vector<bool> well_known_;
  std::unordered_map<std::string, ReqId> requirement_ids_;
  std::vector<Requirement> requirements_;
  std::unordered_map<std::string, SetId> set_ids_;
  std::vector<Set> sets_;
  PairMemo intersections_;
  PairMemo meets_;
  PairMemo compatible_[2];
  PairMemo sums_;
  PairMemo additions_;
};

}  // namespace coppice::provision
