#include "autoscale/scale_up_outcome.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace coppice::autoscale {

namespace {

using report::GroupResize;
using report::ScaleUpResult;

constexpr char kExecutionFailed[] = "scale-up execution failed";

model::Verdict Rejection(std::string_view text) {
  return model::Verdict::No("", model::VerdictCode::kUnschedulable, std::string(text));
}

report::Unhelped Describe(const ScaleUpPlan& plan, const ScaleUpPlan::Kind& kind) {
  report::Unhelped unhelped{{}, kind.rejected, plan.skipped};
  for (const auto& pending : kind.pods) unhelped.pods.push_back(pending.pod);
  if (plan.skipped_asked) {
    SkipReasons left = *plan.skipped;
    for (const auto& [group, verdict] : kind.skipped_rejects) {
      unhelped.rejected.insert_or_assign(group, verdict);
      left.erase(group);
    }
    unhelped.skipped = std::make_shared<const SkipReasons>(std::move(left));
  }
  return unhelped;
}

// The kinds that some group can help, or those that none can.
std::vector<report::Unhelped> DescribeAll(const ScaleUpPlan& plan, bool schedulable) {
  std::vector<report::Unhelped> all;
  for (const auto& kind : plan.kinds) {
    if (kind.schedulable == schedulable) all.push_back(Describe(plan, kind));
  }
  return all;
}

std::vector<report::Unhelped> UnhelpedOf(const ScaleUpPlan& plan) {
  return DescribeAll(plan, false);
}

}  // namespace

void GiveUpAll(std::vector<ScaleUpPlan::Kind>& kinds, std::string_view reason) {
  for (auto& kind : kinds) {
    if (!kind.schedulable) continue;
    for (const std::string& group : kind.schedulable_groups) {
      kind.rejected.insert_or_assign(group, Rejection(reason));
    }
    kind.schedulable = false;
  }
}

std::vector<report::Unhelped> UnservedOf(const ScaleUpPlan& plan) {
  return DescribeAll(plan, true);
}

void EndWithout(ScaleUpPlan& plan, ScaleUpResult result) {
  plan.report.result = result;
  plan.report.unhelped = UnhelpedOf(plan);
}

void EndWithError(ScaleUpPlan& plan, std::string error, std::string type) {
  GiveUpAll(plan.kinds, kExecutionFailed);
  plan.report.error = std::move(error);
  plan.report.error_type = std::move(type);
  plan.report.considered_groups.clear();
  EndWithout(plan, ScaleUpResult::kError);
}

report::ScaleUp ScaleUpPlanner::Succeeded(ScaleUpPlan plan) {
  plan.report.result = ScaleUpResult::kSuccessful;
  plan.report.resizes = plan.resizes;
  plan.report.unhelped = UnhelpedOf(plan);
  for (const auto& kind : plan.kinds) {
    if (!kind.schedulable || !kind.rejected.contains(plan.chosen)) continue;
    for (const auto& pending : kind.pods) plan.report.awaiting.push_back(pending.pod);
  }
  return std::move(plan.report);
}

report::ScaleUp ScaleUpPlanner::Failed(ScaleUpPlan plan, const std::vector<std::string>& failed,
                                       std::string error, bool parallel) {
  std::set<std::string> lost(failed.begin(), failed.end());
  if (!parallel && failed.size() == 1) {  // what would have come after it was not tried either
    const auto at = std::ranges::find(plan.resizes, failed.front(), &GroupResize::group);
    for (auto it = at; it != plan.resizes.end(); ++it) lost.insert(it->group);
  }
  for (auto& kind : plan.kinds) {
    if (!kind.schedulable || kind.schedulable_groups.empty()) continue;
    bool all_failed = true;
    for (const std::string& group : kind.schedulable_groups) {
      if (lost.contains(group)) {
        kind.rejected.insert_or_assign(group, Rejection(kExecutionFailed));
      } else {
        all_failed = false;
      }
    }
    if (all_failed) kind.schedulable = false;
  }
  plan.report.result = ScaleUpResult::kError;
  plan.report.error = std::move(error);
  plan.report.error_type = "cloudProviderError";
  plan.report.failed_groups = failed;
  plan.report.considered_groups.clear();
  plan.report.unhelped = UnhelpedOf(plan);
  return std::move(plan.report);
}

}  // namespace coppice::autoscale
