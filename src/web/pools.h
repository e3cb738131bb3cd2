// Node pools in the dashboard's own terms: a report of the provision engine as rows, machines and
// the kind of pass report that everything else here reads, so that a pool's pods, nodes and
// decisions are explained by the same sentences as a group's.
//
// The board's thread only.

#pragma once

#include <memory>
#include <set>
#include <string>

#include "report/provision_report.h"
#include "web/seen.h"

namespace coppice::web {

class PoolTeller {
 public:
  // What is new in it: a report repeats its last solve and its commands until others come.
  std::shared_ptr<const report::PassReport> Tell(const report::ProvisionReport& report);

 private:
  TimePoint solved_at_{};
  std::set<std::string> commands_;  // that have been told
};

// What was seen, with pools as rows and claims without a node as machines.
std::shared_ptr<const Seen> WithPools(const Seen& seen, const report::ProvisionReport& report);

}  // namespace coppice::web
