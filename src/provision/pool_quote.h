// PoolQuote: which machines of which pools the tasks of a gang would need, all of them together.
//
// As good as the world that it is given: pools as they may buy, and what is placed already for the
// rules of spread and affinity. Machines that exist take nothing here: whoever asks has looked for
// room there first, and machines on their way were bought for pods that wait.
//
// Pure; any thread.

#pragma once

#include <string>
#include <vector>

#include "market/offer.h"
#include "market/want.h"
#include "provision/disruption/world.h"

namespace coppice::provision {

// A pod for each task: of its own name, and with the value of the topology wish as a demand.
struct GangTasks {
  std::vector<PodPtr> pods;
  std::vector<size_t> class_of;  // by pod: of Want::classes
};
GangTasks TasksOf(const market::Want& want, const std::string& domain);

// The values of the wished label that something of the pools can have, each to be tried for itself;
// {""}: anywhere.
std::vector<std::string> DomainsOf(const market::TopologyWish& wish, const DisruptionWorld& world,
                                   const model::LabelRules& labels);

// What has been placed and the world does not show yet counts where it was placed.
void ShowPlaced(const std::vector<market::PlacedPod>& placed, DisruptionWorld& world);

struct PoolQuote {
  std::string domain;
  GangTasks tasks;
  SolveOutcome outcome;

  // Tasks that nothing can be bought for, by number.
  std::vector<size_t> Unplaced() const;
  int Placed() const;
};
PoolQuote QuoteIn(Solver& solver, const market::Want& want, std::string domain);

// Lots per pool with their prices, and who goes where; machines are called `prefix` and a number.
market::Offer OfferOf(const PoolQuote& quote, const market::Want& want,
                      const DisruptionWorld& world, const model::LabelRules& labels,
                      const std::string& prefix);
std::string MachineName(const std::string& prefix, size_t claim);

}  // namespace coppice::provision
