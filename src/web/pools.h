// Node pools in the dashboard: a report of the provision engine as rows, machines, decisions and
// answers.
//
// Pure functions; PoolTeller remembers what it has told, on the board's thread.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "report/json_out.h"
#include "report/provision_report.h"
#include "web/decisions.h"
#include "web/seen.h"

namespace coppice::web {

class PoolTeller {
 public:
  // What is new in it: a report repeats its last solve and its commands until others come.
  std::vector<Decision> Tell(const report::ProvisionReport& report);

 private:
  void TellSolve(const report::ProvisionReport& report, std::vector<Decision>& made);
  void TellCommands(const report::ProvisionReport& report, std::vector<Decision>& made);

  TimePoint solved_at_{};
  std::set<std::string> commands_;           // that have been told
  std::map<std::string, std::string> held_;  // by pool: why machines were not asked for
  std::string error_;
};

// What was seen, with pools as rows and claims without a node as machines.
std::shared_ptr<const Seen> WithPools(const Seen& seen, const report::ProvisionReport& report);

// "pool spot has ordered one of 14 types, from 0.12 an hour"
std::string BoughtText(const report::PlannedMachine& machine);
// "pool spot would take it if its limit of 64 cpu were 68"; "": no change that is known of helps.
std::string NearestPool(const report::UnplacedPod& pod);

// Parts of answers, into an object that is open.
void WritePoolMisses(report::JsonOut& out, const report::UnplacedPod& pod);  // items of a list
void WriteMachine(report::JsonOut& out, const report::PlannedMachine& machine);
void WritePool(report::JsonOut& out, const report::ProvisionReport& report, std::string_view name);
Result<std::string> ClaimJson(const report::ProvisionReport& report, std::string_view name,
                              const std::vector<const Decision*>& about);

}  // namespace coppice::web
