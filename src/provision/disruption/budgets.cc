#include "provision/disruption/budgets.h"

#include <algorithm>
#include <cmath>

#include "base/go_duration.h"
#include "model/requirement.h"
#include "provision/disruption/cron.h"

namespace coppice::provision {

namespace {

// "3" or "10%". Numbers are cut to 32 bits, as the peer's type has them.
Result<int64_t> BudgetNodes(const std::string& text, int64_t nodes) {
  if (const auto number = model::GoInteger(text)) {
    return static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(*number)));
  }
  if (!text.ends_with('%')) {
    return InvalidArgument("'" + text + "' is neither a number nor a percentage");
  }
  const auto percent = model::GoInteger(std::string_view(text).substr(0, text.size() - 1));
  if (!percent) return InvalidArgument("'" + text + "' is no percentage");
  const double scaled = std::ceil(static_cast<double>(*percent) * static_cast<double>(nodes) / 100);
  constexpr double kMost = 9e18;
  return static_cast<int64_t>(std::clamp(scaled, -kMost, kMost));
}

}  // namespace

Result<bool> IsActive(const model::DisruptionBudget& budget, TimePoint now) {
  if (!budget.schedule && !budget.duration) return true;
  const CronSchedule schedule =
      TRY(CronSchedule::Parse(budget.schedule.value_or("")).Context("schedule"));
  const Duration lasts =
      budget.duration ? TRY(ParseGoDuration(*budget.duration).Context("duration")) : Duration{};
  const auto hit = schedule.Next(now - lasts);
  return !hit || *hit <= now;
}

Result<int64_t> AllowedBy(const model::DisruptionBudget& budget, int64_t nodes, TimePoint now) {
  if (!TRY(IsActive(budget, now))) return kUnbounded;
  return BudgetNodes(budget.nodes, nodes).Context("nodes");
}

Result<int64_t> AllowedDisruptions(const model::NodePool& pool, std::string_view reason,
                                   int64_t nodes, TimePoint now) {
  int64_t allowed = kUnbounded;
  if (!pool.spec.disruption.budgets) return allowed;
  size_t index = 0;
  for (const model::DisruptionBudget& budget : *pool.spec.disruption.budgets) {
    const int64_t by_this =
        TRY(AllowedBy(budget, nodes, now)
                .Context("spec.disruption.budgets[" + std::to_string(index++) + "]"));
    if (!budget.reasons || std::ranges::find(*budget.reasons, reason) != budget.reasons->end()) {
      allowed = std::min(allowed, by_this);
    }
  }
  return allowed;
}

}  // namespace coppice::provision
