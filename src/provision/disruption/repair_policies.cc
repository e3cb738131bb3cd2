#include "provision/disruption/repair_policies.h"

#include <algorithm>
#include <tuple>

namespace coppice::provision {

namespace {

constexpr int kMostPriority = 100;
// So long a node waits to be worth as much as one of the next priority.
constexpr Duration kAging = std::chrono::minutes(30);

Status WrongWith(const cloud::RepairPolicy& policy) {
  const auto& status = policy.condition_status;
  if (policy.condition_type.empty()) return InvalidArgument("it names no condition");
  if (status != "True" && status != "False" && status != "Unknown")
    return InvalidArgument("'" + status + "' is no status of a condition");
  if (policy.toleration < Duration::zero())
    return InvalidArgument("it tolerates less than nothing");
  if (policy.termination_grace_period && *policy.termination_grace_period < Duration::zero())
    return InvalidArgument("its termination grace period is negative");
  if (policy.priority < 0 || policy.priority > kMostPriority)
    return InvalidArgument("its priority is not between 0 and 100");
  if (policy.action == cloud::RepairAction::kReboot)
    return Unimplemented("the action Reboot is not there yet: nodes are replaced only");
  return Status::Ok();
}

// Patterns come from a provider; the library's way to refuse one is an exception.
Result<std::regex> Pattern(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return InvalidArgument("'" + text + "' is no pattern: " + error.what());
  }
}

}  // namespace

Result<RepairPolicies> RepairPolicies::Create(const std::vector<cloud::RepairPolicy>& policies) {
  std::vector<int> priorities;
  for (const cloud::RepairPolicy& policy : policies) priorities.push_back(policy.priority);
  std::ranges::sort(priorities);
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  RepairPolicies made;
  int fallbacks = 0;
  for (const cloud::RepairPolicy& policy : policies) {
    const std::string about =
        "repair policy for " + policy.condition_type + "=" + policy.condition_status;
    TRY(WrongWith(policy).Context(about));
    Compiled compiled{.policy = policy};
    compiled.rank = static_cast<int>(std::ranges::lower_bound(priorities, policy.priority) -
                                     priorities.begin());
    Group& group = made.pairs_[{policy.condition_type, policy.condition_status}];
    if (policy.reason_regex.empty()) {
      ++fallbacks;
      if (!group.fallback) group.fallback = compiled;
      made.fallback_ = std::move(compiled);
    } else {
      compiled.reason = TRY(Pattern(policy.reason_regex).Context(about));
      group.specific.push_back(std::move(compiled));
    }
  }
  if (fallbacks != 1) made.fallback_.reset();
  return made;
}

std::vector<const RepairPolicies::Compiled*> RepairPolicies::Matching(
    const model::NodeCondition& condition) const {
  std::vector<const Compiled*> matching;
  const auto group = pairs_.find({condition.type, condition.status});
  if (group == pairs_.end()) return matching;
  for (const Compiled& one : group->second.specific) {
    if (std::regex_search(condition.reason, one.reason)) matching.push_back(&one);
  }
  if (!matching.empty()) return matching;
  const auto& fallback = group->second.fallback ? group->second.fallback : fallback_;
  if (fallback) matching.push_back(&*fallback);
  return matching;
}

bool RepairPolicies::IsSick(const model::Node& node) const {
  return std::ranges::any_of(node.status.conditions, [&](const model::NodeCondition& condition) {
    return pairs_.contains({condition.type, condition.status});
  });
}

std::optional<RepairDecision> RepairPolicies::Decide(const model::Node& node, TimePoint now) const {
  std::optional<RepairDecision> decision;
  // Among policies the more important decides, then the earlier, then the condition's name.
  std::tuple<int, TimePoint, std::string> chosen;
  for (const model::NodeCondition& condition : node.status.conditions) {
    TimePoint since =
        condition.last_transition_time ? condition.last_transition_time->at : TimePoint::min();
    // A condition is not older than its node.
    if (node.metadata.creation_timestamp)
      since = std::max(since, node.metadata.creation_timestamp->at);
    if (since == TimePoint::min()) continue;
    for (const Compiled* one : Matching(condition)) {
      const TimePoint eligible = Later(since, one->policy.toleration);
      if (eligible > now) continue;
      const double score = one->rank + std::chrono::duration<double>(now - eligible) /
                                           std::chrono::duration<double>(kAging);
      const std::tuple key(-one->policy.priority, eligible, condition.type);
      if (!decision) decision.emplace();
      const bool first = decision->condition.empty();
      decision->score = first ? score : std::max(decision->score, score);
      if (const auto& grace = one->policy.termination_grace_period;
          grace && (!decision->grace || *grace < *decision->grace))
        decision->grace = *grace;
      if (!first && key >= chosen) continue;
      chosen = key;
      decision->condition = condition.type;
      decision->reason = condition.reason;
      decision->eligible_at = eligible;
    }
  }
  return decision;
}

}  // namespace coppice::provision
