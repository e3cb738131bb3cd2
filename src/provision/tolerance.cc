#include "provision/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"
#include "model/requirement.h"
#include "model/taints.h"

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

struct TaintName {
  std::string_view key;
  std::string_view effect;
};
constexpr std::array kEphemeralTaints = {
    TaintName{"node.kubernetes.io/not-ready", model::kNoSchedule},
    TaintName{"node.kubernetes.io/not-ready", model::kNoExecute},
    TaintName{"node.kubernetes.io/unreachable", model::kNoSchedule},
    TaintName{"node.cloudprovider.kubernetes.io/uninitialized", model::kNoSchedule},
    TaintName{"karpenter.sh/unregistered", model::kNoExecute},
};
// Of a family: the rest of the key names the rule that set it.
constexpr std::string_view kReadinessPrefix = "readiness.k8s.io/";

}  // namespace

bool IsEphemeral(const model::Taint& taint, const EphemeralTaints* more) {
  const auto is_named = [&](const TaintName& name) {
    return taint.key == name.key && taint.effect == name.effect;
  };
  if (taint.key.starts_with(kReadinessPrefix) || std::ranges::any_of(kEphemeralTaints, is_named))
    return true;
  if (more == nullptr) return false;
  return std::ranges::any_of(
             more->taints, [&](const model::Taint& one) { return model::SameTaint(one, taint); }) ||
         std::ranges::any_of(more->prefixes, [&](const std::string& prefix) {
           return taint.key.starts_with(prefix);
         });
}

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
