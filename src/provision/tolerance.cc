#include "provision/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "model/requirement.h"

namespace coppice::provision {
namespace {

// A plain decimal integer: no plus sign, no leading zeros.
std::optional<int64_t> PlainInteger(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.starts_with('+') || (digits.size() > 1 && digits.front() == '0') || text == "-0")
    return std::nullopt;
  return model::GoInteger(text);
}

bool IsTolerated(const model::Taint& taint, const std::vector<model::Toleration>& tolerations) {
  return std::ranges::any_of(
      tolerations, [&](const model::Toleration& one) { return ToleratesOne(one, taint); });
}

}  // namespace

bool ToleratesOne(const model::Toleration& toleration, const model::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  const std::string& op = toleration.operator_;
  if (op == "Exists") return true;
  if (op.empty() || op == "Equal") return toleration.value == taint.value;
  if (op != "Lt" && op != "Gt") return false;
  const auto bound = PlainInteger(toleration.value);
  const auto value = PlainInteger(taint.value);
  if (!bound || !value) return false;
  return op == "Lt" ? *value < *bound : *value > *bound;
}

bool ToleratesAll(const std::vector<model::Taint>& taints,
                  const std::vector<model::Toleration>& tolerations) {
  return std::ranges::all_of(
      taints, [&](const model::Taint& taint) { return IsTolerated(taint, tolerations); });
}

std::string WhyNotTolerated(const std::vector<model::Taint>& taints,
                            const std::vector<model::Toleration>& tolerations) {
  std::vector<std::string> why;
  for (const model::Taint& taint : taints) {
    if (IsTolerated(taint, tolerations)) continue;
    why.push_back(fmt::format("did not tolerate taint (taint={}{}{}:{})", taint.key,
                              taint.value.empty() ? "" : "=", taint.value, taint.effect));
  }
  return Join(why, "; ");
}

}  // namespace coppice::provision
