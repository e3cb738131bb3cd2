// Kinds that engines read beside those that every process reads, by engine: one list for who reads
// them and for whoever has to know them all. VolcanoJob is not among them, for it is no more than
// what batch makes of its text.

#pragma once

#include "model/batch.h"
#include "model/kinds.h"
#include "model/node_claim.h"
#include "model/node_class.h"
#include "model/node_pool.h"

namespace coppice::model {

using PoolKinds = KindList<NodePool, NodeClaim, NodeClass>;
// Classes of a provider that has some of its own.
using ProviderKinds = KindList<KwokNodeClass>;
using BatchKinds = KindList<PodGroup, Queue, HyperNode, PriorityClass, ResourceQuota>;

}  // namespace coppice::model
