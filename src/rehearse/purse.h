// Purse: machines and money of a model cluster, told by its cloud as machines come and go.
//
// One thread, that of the model.

#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cloud/types.h"
#include "rehearse/outcome.h"
#include "sim/model.h"

namespace coppice::rehearse {

class Purse {
 public:
  // Both outlive it, and it the model's run. What is there now was not bought.
  Purse(sim::Model& model, Outcome& outcome);

  void Charge();  // until now
  double rate() const { return rate_; }
  int machines() const { return static_cast<int>(prices_.size()); }

 private:
  double PriceOf(const cloud::Machine& machine) const;
  void Came(const cloud::Machine& machine);
  void Went(const cloud::ProviderId& id);

  sim::Model& model_;
  Outcome& outcome_;
  std::vector<cloud::Flavor> flavors_;
  std::map<std::string, double> group_prices_;      // where the configuration has its own
  std::unordered_map<std::string, double> prices_;  // of machines, per hour
  double rate_ = 0;
  TimePoint last_;
};

}  // namespace coppice::rehearse
