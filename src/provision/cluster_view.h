// ClusterView: everything that a solve or a round of disruption reads, copied out of the World as
// values: objects are shared and never changed, so that it can be worked on elsewhere and later.
//
// Decision thread.

#pragma once

#include "provision/claim_store.h"
#include "provision/disruption/methods.h"
#include "provision/marks.h"
#include "provision/pool_keeper.h"

namespace coppice::provision {

struct ViewParts {
  Context& context;
  ClaimStore& store;
  PoolKeeper& pools;
  const Marks& marks;
};

struct ViewFor {
  // Pods that are not pending here and are about to be asked for, too. Instance types that are made
  // to measure are made for them as well.
  std::vector<PodPtr> also_asked = {};
  // Types are also made for what the machines of pools carry, each taken together.
  bool disruption = false;
  // Whose machines are no candidates for now, and why.
  std::map<std::string, std::string> waiting_pools = {};
  // Provider ids: of the command that is looked at once more.
  std::set<std::string> checked_again = {};
};
DisruptionWorld MakeView(const ViewParts& parts, TimePoint now, ViewFor purpose = {});

SolverOptions SolverOptionsOf(const Context& context);
DisruptionOptions DisruptionOptionsOf(const Context& context);
StorageRules StorageRulesOf(const Context& context);

}  // namespace coppice::provision
