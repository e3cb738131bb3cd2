// PoolsAccount: what `coppice run --node-pools` tells of a model cluster: a line per machine that is
// bought or goes, with its reason, what the cloud takes back, a table of the pools now and then, and
// what it all came to.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "report/provision_report.h"
#include "sim/model.h"

namespace coppice::whatif {

class PoolsAccount {
 public:
  using Print = std::function<void(const std::string& line)>;

  PoolsAccount(sim::Model& model, Print print);

  // After each pass of the engine.
  void Tell(const report::ProvisionReport& report);
  void Line(char mark, const std::string& what, const std::string& why);
  void Table();
  // `groups`: what node groups would have cost with the same load; below zero: not known.
  void Summary(double real_seconds, double groups);
  double spent() const;

 private:
  struct Known {
    std::string name;
    std::string pool;
    std::string what;  // flavor, zone, capacity type
    double price = 0;
  };

  void Charge();
  void TellBought(const report::Provisioning& provisioning);
  void TellCommands(const report::ProvisionReport& report);
  void TellWaiting(const report::Provisioning& provisioning);
  double PriceOf(const cloud::Machine& machine) const;

  sim::Model& model_;
  const Print print_;
  const TimePoint start_;
  std::vector<cloud::Flavor> flavors_;
  std::map<cloud::ProviderId, Known> machines_;
  std::set<cloud::ProviderId> ended_by_us_;
  std::map<std::string, double> spent_;  // by pool
  TimePoint charged_until_;
  double peak_rate_ = 0;
  size_t peak_machines_ = 0;
  TimePoint told_provisioning_;
  std::set<std::string> told_commands_;
  std::map<std::string, std::string> said_;
  report::ProvisionReport last_;
  int bought_ = 0;
  int reclaimed_ = 0;
  std::map<std::string, int> gone_;  // by reason
  double saved_rate_ = 0;
  int abandoned_ = 0;
};

}  // namespace coppice::whatif
