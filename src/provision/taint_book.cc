#include "provision/taint_book.h"

#include "provision/spec_key.h"
#include "provision/tolerance.h"

namespace coppice::provision {

TaintsId TaintBook::Taints(const std::vector<model::Taint>& taints) {
  SpecKey key;
  for (const model::Taint& taint : taints) key.Text(taint.key).Text(taint.value).Text(taint.effect);
  const auto [it, is_new] =
      taint_ids_.try_emplace(std::move(key).Take(), static_cast<TaintsId>(taints_.size()));
  if (is_new) taints_.push_back(taints);
  return it->second;
}

TolerationsId TaintBook::Tolerations(const std::vector<model::Toleration>& tolerations) {
  SpecKey key;
  key.Add(tolerations);
  const auto [it, is_new] = toleration_ids_.try_emplace(
      std::move(key).Take(), static_cast<TolerationsId>(tolerations_.size()));
  if (is_new) tolerations_.push_back(tolerations);
  return it->second;
}

bool TaintBook::Tolerates(TolerationsId tolerations, TaintsId taints) {
  if (taints_[taints].empty()) return true;
  if (const uint32_t* known = tolerates_.Find(tolerations, taints)) return *known != 0;
  const bool tolerated = ToleratesAll(taints_[taints], tolerations_[tolerations]);
  tolerates_.Put(tolerations, taints, tolerated ? 1 : 0);
  return tolerated;
}

}  // namespace coppice::provision
