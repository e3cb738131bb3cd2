#include "provision/pool_quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace coppice::provision {

namespace {

void AddValues(const model::NodeRequirement& requirement, std::set<std::string>& values) {
  if (requirement.complement()) return;
  for (const std::string& value : requirement.values()) values.insert(value);
}

}  // namespace

GangTasks TasksOf(const market::Want& want, const std::string& domain) {
  GangTasks tasks;
  for (size_t of = 0; of < want.classes.size(); ++of) {
    for (int number = 0; number < want.classes[of].count; ++number) {
      auto pod = std::make_shared<model::Pod>(*want.classes[of].pod);
      const std::string suffix = fmt::format("{}-{}", of, number);
      pod->metadata.name = "quoted-" + pod->metadata.name + "-" + suffix;
      pod->metadata.uid = "quoted/" + want.gang + "/" + suffix;
      pod->spec.node_name.clear();
      pod->status = {};
      if (!want.topology.key.empty() && !domain.empty())
        pod->spec.node_selector[want.topology.key] = domain;
      tasks.pods.push_back(std::move(pod));
      tasks.class_of.push_back(of);
    }
  }
  return tasks;
}

std::vector<std::string> DomainsOf(const market::TopologyWish& wish, const DisruptionWorld& world,
                                   const model::LabelRules& labels) {
  if (wish.key.empty()) return {""};
  if (!wish.value.empty()) return {wish.value};
  std::set<std::string> values;
  for (const Pool& pool : world.solver.pools) {
    if (const std::string* label = pool.labels.Find(wish.key)) values.insert(*label);
    for (const model::RequirementSpec& spec : pool.requirements) {
      if (spec.key == wish.key) AddValues(model::NodeRequirement::From(spec, labels), values);
    }
    if (pool.types == nullptr) continue;
    for (const cloud::InstanceType& type : *pool.types) {
      if (type.requirements.Has(wish.key)) AddValues(type.requirements.Get(wish.key), values);
      for (const cloud::Offering& offering : type.offerings) {
        if (offering.requirements.Has(wish.key))
          AddValues(offering.requirements.Get(wish.key), values);
      }
    }
  }
  return {values.begin(), values.end()};
}

void ShowPlaced(const std::vector<market::PlacedPod>& placed, DisruptionWorld& world) {
  if (placed.empty()) return;
  std::map<std::string_view, size_t> nodes;
  for (size_t i = 0; i < world.solver.nodes.size(); ++i) {
    if (const NodePtr& node = world.solver.nodes[i].node) nodes[node->metadata.name] = i;
  }
  for (const market::PlacedPod& one : placed) {
    auto pod = std::make_shared<model::Pod>(*one.pod);
    pod->spec.node_name = one.node;
    if (pod->status.phase.empty()) pod->status.phase = "Pending";
    const auto node = nodes.find(one.node);
    if (node == nodes.end()) {
      world.solver.other_pods.push_back(std::move(pod));
    } else {
      world.solver.nodes[node->second].pods.push_back(std::move(pod));
    }
  }
}

std::vector<size_t> PoolQuote::Unplaced() const {
  std::set<size_t> unplaced(outcome.left_out.begin(), outcome.left_out.end());
  for (const PodError& error : outcome.errors) unplaced.insert(error.pod);
  return {unplaced.begin(), unplaced.end()};
}

int PoolQuote::Placed() const {
  size_t placed = 0;
  for (const PlannedClaim& claim : outcome.claims) placed += claim.pods.size();
  return static_cast<int>(placed);
}

PoolQuote QuoteIn(Solver& solver, const market::Want& want, std::string domain) {
  PoolQuote quote{.domain = std::move(domain)};
  quote.tasks = TasksOf(want, quote.domain);
  SolveRequest request;
  request.pods = quote.tasks.pods;
  request.only_new = true;
  quote.outcome = solver.Solve(request);
  return quote;
}

std::string MachineName(const std::string& prefix, size_t claim) {
  return fmt::format("{}-{}", prefix, claim);
}

market::Offer OfferOf(const PoolQuote& quote, const market::Want& want,
                      const DisruptionWorld& world, const model::LabelRules& labels,
                      const std::string& prefix) {
  market::Offer offer;
  offer.gang = want.gang;
  std::map<std::string, market::Lot> lots;  // by pool
  for (size_t i = 0; i < quote.outcome.claims.size(); ++i) {
    const PlannedClaim& claim = quote.outcome.claims[i];
    if (claim.pods.empty() || claim.types.empty()) continue;
    const std::string& pool = world.solver.pools[claim.pool].name;
    const auto [it, is_new] = lots.try_emplace(pool);
    market::Lot& lot = it->second;
    if (is_new) {
      lot.source = pool;
      lot.price_per_hour = 0;
    }
    ++lot.machines;
    const double price = cloud::CheapestPrice(*claim.types[0], claim.requirements, labels);
    if (price == cloud::kNoPrice) {
      lot.price_per_hour.reset();
    } else if (lot.price_per_hour) {
      *lot.price_per_hour += price;
    }
    std::map<size_t, int> seats;  // by class of tasks
    for (const size_t pod : claim.pods) ++seats[quote.tasks.class_of[pod]];
    for (const auto& [of, count] : seats) {
      offer.seats.push_back(
          {.task_class = of, .source = pool, .machine = MachineName(prefix, i), .count = count});
    }
  }
  for (auto& [pool, lot] : lots) {
    offer.why.push_back(fmt::format("nodepool {}: {} machine(s){}", pool, lot.machines,
                                    lot.price_per_hour
                                        ? fmt::format(", {:.4g} an hour", *lot.price_per_hour)
                                        : ", at an unknown price"));
    offer.lots.push_back(std::move(lot));
  }
  offer.served = quote.Placed();
  offer.whole = offer.served == want.count();
  return offer;
}

}  // namespace coppice::provision
