// Jobs that may only be within one stretch of the network, when machines are bought for them.

#pragma once

#include <string>
#include <vector>

#include "batch/session.h"
#include "batch/waiting_jobs.h"
#include "market/want.h"

namespace coppice::batch {

// The widest HyperNodes that the job may be in, of which it is known by a label where a new machine
// would be. By name.
struct Domains {
  std::vector<const HyperNode*> hyper_nodes;
  std::string why_not;  // no machine would help it, or nobody knows which; empty: some would
};
Domains DomainsOf(const Session& session, const Job& job);

WaitingJob::Place PlaceOf(const HyperNode& domain);

// All of it in that place. Sellers know of one value of a label; where several will do, the pods ask
// for them themselves, as for any label of a node.
market::Want Within(market::Want want, const WaitingJob::Place& place);

}  // namespace coppice::batch
