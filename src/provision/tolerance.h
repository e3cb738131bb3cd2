// Taints and tolerations as node pools read them: every effect keeps a pod out, also
// PreferNoSchedule (that wish is dropped by relaxing), and the comparing operators count.
//
// That is stricter than kube-scheduler (model/taints.h), on purpose: the peer buys no machine that
// would only be tolerated.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/node.h"
#include "model/pod.h"

namespace coppice::provision {

bool ToleratesOne(const model::Toleration& toleration, const model::Taint& taint);
bool ToleratesAll(const std::vector<model::Taint>& taints,
                  const std::vector<model::Toleration>& tolerations);
// A sentence per taint that is not tolerated, "; " between them.
std::string WhyNotTolerated(const std::vector<model::Taint>& taints,
                            const std::vector<model::Toleration>& tolerations);

// Taints that go away by themselves while a node comes up, beside those that everybody has.
struct EphemeralTaints {
  std::vector<model::Taint> taints;
  std::vector<std::string> prefixes;  // of keys
};
// `more` may be null.
bool IsEphemeral(const model::Taint& taint, const EphemeralTaints* more);

}  // namespace coppice::provision
