// TaintBook: lists of taints and of tolerations as numbers, and who tolerates what, asked once.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/node.h"
#include "model/pod.h"
#include "provision/pair_memo.h"

namespace coppice::provision {

using TaintsId = uint32_t;
using TolerationsId = uint32_t;

class TaintBook {
 public:
  TaintsId Taints(const std::vector<model::Taint>& taints);
  TolerationsId Tolerations(const std::vector<model::Toleration>& tolerations);

  bool Tolerates(TolerationsId tolerations, TaintsId taints);

  const std::vector<model::Taint>& taints(TaintsId id) const { return taints_[id]; }
  const std::vector<model::Toleration>& tolerations(TolerationsId id) const {
    return tolerations_[id];
  }

 private:
  std::unordered_map<std::string, TaintsId> taint_ids_;
  std::vector<std::vector<model::Taint>> taints_;
  std::unordered_map<std::string, TolerationsId> toleration_ids_;
  std::vector<std::vector<model::Toleration>> tolerations_;
  PairMemo tolerates_;
};

}  // namespace coppice::provision
