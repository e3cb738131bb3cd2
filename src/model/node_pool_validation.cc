#include "model/node_pool_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "model/label_names.h"

namespace coppice::model {

namespace {

using Complaints = std::vector<std::string>;

// "90m", "1h30m"; what Go also takes ("1.5h", "-1s", "3ms") a pool may not say.
bool IsPoolDuration(std::string_view text, std::string_view units, bool never_will_do) {
  if (never_will_do && text == "Never") return true;
  if (text.empty()) return false;
  size_t digits = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
    } else if (digits > 0 && units.find(c) != std::string_view::npos) {
      digits = 0;
    } else {
      return false;
    }
  }
  return digits == 0;
}

void CheckDuration(const std::optional<std::string>& text, const char* field, bool never_will_do,
                   Complaints& wrong) {
  if (text && !IsPoolDuration(*text, "smh", never_will_do)) {
    wrong.push_back(fmt::format("{}: \"{}\" is no duration of hours, minutes and seconds{}", field,
                                *text, never_will_do ? ", nor Never" : ""));
  }
}

void CheckLabels(const Labels& labels, const LabelRules& rules, Complaints& wrong) {
  for (const auto& [key, value] : labels) {
    const auto complain = [&](std::string_view why) {
      wrong.push_back(fmt::format(
          "spec.template.metadata.labels: invalid key name \"{}\" in labels, {}", key, why));
    };
    if (key == kNodePoolLabel) complain("restricted");
    if (const std::string why = WrongWithLabelKey(key); !why.empty()) complain(why);
    if (const std::string why = WrongWithLabelValue(value); !why.empty()) {
      wrong.push_back(fmt::format(
          "spec.template.metadata.labels: invalid value: {} for label[{}], {}", value, key, why));
    }
    if (const std::string why = WhyRestricted(key, rules); !why.empty()) complain(why);
  }
}

void CheckTaints(const std::vector<Taint>& taints, const char* field,
                 std::set<std::pair<std::string, std::string>>& seen, Complaints& wrong) {
  for (const Taint& taint : taints) {
    const auto complain = [&](const std::string& why) {
      wrong.push_back(fmt::format("spec.template.spec.{}: {}", field, why));
    };
    if (const std::string why = WrongWithLabelKey(taint.key); !why.empty()) {
      complain(fmt::format("key \"{}\" {}", taint.key, why));
    }
    // The value of a taint is as narrow as a key, with the peer.
    if (const std::string why = WrongWithLabelKey(taint.value);
        !taint.value.empty() && !why.empty()) {
      complain(fmt::format("value \"{}\" {}", taint.value, why));
    }
    static const std::set<std::string> kEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute",
                                                   ""};
    if (!kEffects.contains(taint.effect)) {
      complain(fmt::format("\"{}\" is no effect of a taint", taint.effect));
    }
    if (!seen.emplace(taint.key, taint.effect).second) {
      complain(fmt::format("duplicate taint Key/Effect pair {}={}", taint.key, taint.effect));
    }
  }
}

bool IsBudgetNodes(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  return !percent || text.size() <= 2 || text == "100";
}

void CheckBudgets(const std::vector<DisruptionBudget>& budgets, Complaints& wrong) {
  static const std::set<std::string> kReasons = {"Underutilized", "Empty", "Drifted", "Unhealthy"};
  size_t index = 0;
  for (const DisruptionBudget& budget : budgets) {
    const auto complain = [&](const std::string& why) {
      wrong.push_back(fmt::format("spec.disruption.budgets[{}]: {}", index, why));
    };
    if (!IsBudgetNodes(budget.nodes)) {
      complain(fmt::format("nodes: \"{}\" is neither a number nor 0% to 100%", budget.nodes));
    }
    if (budget.schedule.has_value() != budget.duration.has_value()) {
      complain("'schedule' must be set with 'duration'");
    }
    if (budget.duration && !IsPoolDuration(*budget.duration, "smh", false)) {
      complain(fmt::format("duration: \"{}\" is none of hours and minutes", *budget.duration));
    }
    for (const std::string& reason : budget.reasons.value_or(std::vector<std::string>{})) {
      if (!kReasons.contains(reason)) complain(fmt::format("\"{}\" is no reason", reason));
    }
    ++index;
  }
}

void CheckSpec(const NodePoolSpec& spec, Complaints& wrong) {
  const auto& reference = spec.template_.spec.node_class_ref;
  if (!reference || reference->group.empty() || reference->kind.empty() ||
      reference->name.empty()) {
    wrong.push_back("spec.template.spec.nodeClassRef: group, kind and name are required");
  }
  if (spec.weight && (*spec.weight < 1 || *spec.weight > 100)) {
    wrong.push_back("spec.weight: is to be between 1 and 100");
  }
  if (spec.replicas) {
    const bool only_nodes =
        spec.limits.empty() || (spec.limits.size() == 1 && spec.limits.contains("nodes"));
    if (*spec.replicas < 0) wrong.push_back("spec.replicas: is to be 0 or more");
    if (!only_nodes) wrong.push_back("spec: only 'limits.nodes' is supported on static NodePools");
    if (spec.weight) wrong.push_back("spec: 'weight' is not supported on static NodePools");
  }
  static const std::set<std::string> kPolicies = {"", "WhenEmpty", "WhenEmptyOrUnderutilized",
                                                  "Balanced"};
  if (!kPolicies.contains(spec.disruption.consolidation_policy)) {
    wrong.push_back(fmt::format("spec.disruption.consolidationPolicy: \"{}\" is unknown",
                                spec.disruption.consolidation_policy));
  }
}

}  // namespace

std::vector<std::string> WrongWith(const NodePool& pool, const LabelRules& rules) {
  Complaints wrong;
  const NodePoolSpec& spec = pool.spec;
  const NodeClaimTemplateSpec& claim = spec.template_.spec;
  CheckLabels(spec.template_.labels, rules, wrong);
  std::set<std::pair<std::string, std::string>> seen;
  CheckTaints(claim.taints, "taints", seen, wrong);
  CheckTaints(claim.startup_taints, "startupTaints", seen, wrong);
  for (const RequirementSpec& requirement : claim.requirements) {
    if (const std::string why = WrongWithRequirement(requirement, rules); !why.empty()) {
      wrong.push_back(fmt::format("spec.template.spec.requirements: {}", why));
    }
    if (requirement.key == kNodePoolLabel) {
      wrong.push_back(fmt::format(
          "spec.template.spec.requirements: invalid key: \"{}\" in requirements, restricted",
          requirement.key));
    }
  }
  CheckSpec(spec, wrong);
  CheckDuration(claim.termination_grace_period, "spec.template.spec.terminationGracePeriod", false,
                wrong);
  CheckDuration(claim.expire_after, "spec.template.spec.expireAfter", true, wrong);
  CheckDuration(spec.disruption.consolidate_after, "spec.disruption.consolidateAfter", true, wrong);
  if (spec.disruption.budgets) CheckBudgets(*spec.disruption.budgets, wrong);
  return wrong;
}

}  // namespace coppice::model
