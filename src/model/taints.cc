#include "model/taints.h"

#include <algorithm>

namespace coppice::model {

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_.empty() || toleration.operator_ == "Equal")
    return toleration.value == taint.value;
  return toleration.operator_ == "Exists";
}

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const Toleration& t) { return Tolerates(t, taint); });
}

bool KeepsOut(const Taint& taint) {
  return taint.effect == kNoSchedule || taint.effect == kNoExecute;
}

const Taint* FirstUntolerated(const std::vector<Taint>& taints,
                              const std::vector<Toleration>& tolerations) {
  const auto it = std::ranges::find_if(taints, [&](const Taint& taint) {
    return KeepsOut(taint) && !Tolerates(tolerations, taint);
  });
  return it == taints.end() ? nullptr : &*it;
}

bool SameTaint(const Taint& a, const Taint& b) { return a.key == b.key && a.effect == b.effect; }

std::string ToString(const Taint& taint) {
  std::string out = taint.key;
  if (!taint.value.empty()) out += "=" + taint.value;
  if (!taint.effect.empty() || !taint.value.empty()) out += ":" + taint.effect;
  return out;
}

}  // namespace coppice::model
