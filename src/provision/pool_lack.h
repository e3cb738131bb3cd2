// What keeps a pool from taking a pod, of one kind: in words, in numbers, and what would have to be
// otherwise. Whether it is that is somebody else's finding (nearest_pool.h).

#pragma once

#include <string>
#include <vector>

#include "provision/disruption/world.h"
#include "provision/solver.h"
#include "report/provision_report.h"

namespace coppice::provision {

struct PoolLack {
  std::string text;           // "it does not tolerate a=b:NoSchedule"
  std::string would_take_if;  // "it tolerated a=b:NoSchedule"
  std::vector<model::Shortfall> shortfalls;
};

// `key`: of a requirement, the label; "": more than one. The pool's types are known.
PoolLack LackOf(report::PoolMiss::What what, const std::string& key, const PoolView& view,
                const model::Pod& pod, const SolverOptions& options);

}  // namespace coppice::provision
