// PlainSolve: the same question as the solver's, answered without interning, bits or memory: every
// pod asks every place, every place every type. Only to hold the fast one to it in a random test.
//
// Long because it is one thought from the first line to the last, and only a test reads it.
//
// Knows pools by weight, limits, requirements with wishes, taints, ports, topology in both
// directions, existing nodes and minValues (strict). Does not know daemon sets, volumes and
// reservations.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/go_sort.h"
#include "model/resources.h"
#include "model/selector.h"
#include "provision/host_ports.h"
#include "provision/pod_classes.h"
#include "provision/tolerance.h"

namespace coppice::provision {

class PlainSolve {
 public:
  PlainSolve(const SolverInput& input, const SolverOptions& options)
      : input_(input), options_(options) {}

  struct Place {
    size_t index = 0;  // of the pool or the state node
    bool is_claim = false;
    model::NodeRequirements requirements;
    model::ResourceList used;  // of a claim
    model::ResourceList room;  // of a node
    cloud::TypeList types;
    std::vector<model::Taint> taints;
    HostPorts ports;
    std::string host;
    std::vector<size_t> pods;
  };

  void Run(const std::vector<PodPtr>& pods) {
    MakeNodes();
    MakePools();
    std::vector<size_t> order(pods.size());
    for (size_t i = 0; i < pods.size(); ++i) order[i] = i;
    for (const StateNode& node : input_.nodes) {
      for (const PodPtr& pod : node.pods) {
        for (const std::string& rule : RulesOf(*pod, true)) {
          Group& group = groups_.at(rule);
          if (const std::string* domain = node.labels().Find(group.key)) ++group.counts[*domain];
        }
      }
    }
    for (const PodPtr& pod : pods) Register(*pod);
    std::ranges::sort(order, [&](size_t a, size_t b) {
      const auto left = RequestsOf(*pods[a]);
      const auto right = RequestsOf(*pods[b]);
      for (const std::string_view name : {model::kCpu, model::kMemory}) {
        const int compared = AmountIn(left, name).Compare(AmountIn(right, name));
        if (compared != 0) return compared > 0;
      }
      return pods[a]->metadata.uid < pods[b]->metadata.uid;
    });
    std::deque<size_t> queue(order.begin(), order.end());
    std::vector<size_t> pushed(pods.size(), 0);
    while (!queue.empty() && pushed[queue.front()] != queue.size()) {
      const size_t at = queue.front();
      queue.pop_front();
      model::Pod pod = *pods[at];
      bool placed = PlaceInTurns(at, pod);
      while (!placed && RelaxNext(pod, false)) {
        Register(pod);
        placed = PlaceInTurns(at, pod);
      }
      if (placed) continue;
      queue.push_back(at);
      pushed[at] = queue.size();
    }
    refused.assign(queue.begin(), queue.end());
    std::ranges::sort(refused);
  }

  std::vector<Place> nodes;
  std::vector<Place> claims;  // in the order in which they would be tried
  std::vector<size_t> refused;

 private:
  struct Group {
    TopologyKind kind;
    std::string key;
    std::set<std::string> namespaces;
    model::Selector selector = model::Selector::Nothing();
    int32_t max_skew = 0;
    std::vector<model::NodeRequirements> filter;  // any of them; none: all nodes count
    std::map<std::string, int32_t> counts;
    bool Selects(const model::Pod& pod) const {
      return namespaces.contains(pod.metadata.namespace_) && selector.Matches(pod.metadata.labels);
    }
    bool Counts(const model::NodeRequirements& node) const {
      return filter.empty() || std::ranges::any_of(filter, [&](const auto& one) {
               return node.Compatible(one, nullptr);
             });
    }
  };

  static model::Quantity AmountIn(const model::ResourceList& list, std::string_view name) {
    const model::Quantity* found = list.Find(name);
    return found == nullptr ? model::Quantity() : *found;
  }
  static model::ResourceList RequestsOf(const model::Pod& pod) {
    model::ResourceList list = model::PlacedRequestList(pod);
    list[model::kPods] = model::Quantity::FromUnits(1);
    return list;
  }

  void MakeNodes() {
    std::vector<size_t> order(input_.nodes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return input_.nodes[i].name(); });
    for (const size_t at : order) {
      const StateNode& node = input_.nodes[at];
      Place& place = nodes.emplace_back();
      place.index = at;
      place.requirements = model::NodeRequirements::FromLabels(node.labels(), options_.labels);
      place.host = node.hostname();
      place.requirements.Add(model::NodeRequirement::In(model::kHostnameLabel, {place.host}));
      place.taints = node.taints();
      place.room = node.allocatable();
      for (const PodPtr& pod : node.pods) {
        for (const auto& [name, amount] : RequestsOf(*pod)) {
          if (place.room.contains(name)) place.room[name].Sub(amount);
        }
        const HostPorts ports = HostPortsOf(*pod);
        place.ports.insert(place.ports.end(), ports.begin(), ports.end());
      }
    }
  }

  void MakePools() {
    for (size_t i = 0; i < input_.pools.size(); ++i) pool_order_.push_back(i);
    std::ranges::sort(pool_order_, [&](size_t a, size_t b) {
      const Pool& left = input_.pools[a];
      const Pool& right = input_.pools[b];
      return left.weight != right.weight ? left.weight > right.weight : left.name > right.name;
    });
    for (const Pool& pool : input_.pools) {
      limits_.push_back(pool.limits);
      for (const StateNode& node : input_.nodes) {
        const std::string* of = node.labels().Find(model::kNodePoolLabel);
        if (of == nullptr || *of != pool.name) continue;
        const model::ResourceList capacity = node.capacity();
        for (auto& [name, left] : limits_.back()) left.Sub(AmountIn(capacity, name));
      }
    }
  }

  model::NodeRequirements TemplateOf(const Pool& pool) const {
    auto made = model::NodeRequirements::From(pool.requirements, options_.labels);
    model::Labels labels = pool.labels;
    labels[model::kNodePoolLabel] = pool.name;
    labels[pool.node_class_label] = pool.node_class_name;
    made.Add(model::NodeRequirements::FromLabels(labels, options_.labels));
    made.Add(model::NodeRequirement::In(model::kRegisteredLabel, {"true"}));
    made.Add(model::NodeRequirement::In(model::kInitializedLabel, {"true"}));
    return made;
  }

  // Groups by all that tells rules apart.
  Group& GroupOf(Group made, const std::string& text, bool inverse) {
    const std::string identity = fmt::format("{}{}", inverse ? "i" : "r", text);
    const auto [it, is_new] = groups_.try_emplace(identity, std::move(made));
    if (!is_new) return it->second;
    Group& group = it->second;
    for (const Pool& pool : input_.pools) {
      if (pool.types == nullptr) continue;
      const auto own = model::NodeRequirements::From(pool.requirements, options_.labels);
      for (const cloud::InstanceType& type : *pool.types) {
        auto both = own;
        both.Add(type.requirements);
        if (const auto* domains = both.Find(group.key)) {
          for (const std::string& domain : domains->values()) group.counts.try_emplace(domain, 0);
        }
      }
    }
    if (inverse) return group;
    for (const StateNode& node : input_.nodes) {
      const auto own = model::NodeRequirements::FromLabels(node.labels(), options_.labels);
      const std::string* domain = node.labels().Find(group.key);
      if (domain == nullptr || !group.Counts(own)) continue;
      group.counts.try_emplace(*domain, 0);
      for (const PodPtr& pod : node.pods) {
        if (group.Selects(*pod)) ++group.counts[*domain];
      }
    }
    return group;
  }

  std::vector<std::string> RulesOf(const model::Pod& pod, bool inverse) {
    std::vector<std::string> rules;
    const auto add = [&](Group group, const std::string& text) {
      GroupOf(std::move(group), text, inverse);
      rules.push_back((inverse ? "i" : "r") + text);
    };
    if (!inverse) {
      for (const auto& spread : pod.spec.topology_spread_constraints) {
        Group group{.kind = TopologyKind::kSpread,
                    .key = spread.topology_key,
                    .namespaces = {pod.metadata.namespace_},
                    .max_skew = spread.max_skew};
        group.selector = *model::Selector::From(spread.label_selector);
        group.filter.push_back(
            model::RequirementsOf(pod, model::PodDemands::kRequired, options_.labels));
        add(group, fmt::format("spread {} {} {} {}", spread.topology_key, spread.max_skew,
                               group.selector.Canonical(), group.filter.front().ToString()));
      }
    }
    if (!pod.spec.affinity) return rules;
    const auto terms = [&](const std::optional<model::PodAffinity>& of, TopologyKind kind) {
      if (!of) return;
      std::vector<model::PodAffinityTerm> all = of->required;
      if (!inverse) {
        for (const auto& wish : of->preferred) all.push_back(wish.pod_affinity_term);
      }
      for (const auto& term : all) {
        Group group{.kind = kind,
                    .key = term.topology_key,
                    .namespaces = {pod.metadata.namespace_},
                    .max_skew = 0};
        group.selector = *model::Selector::From(term.label_selector);
        add(group, fmt::format("{} {} {}", kind == TopologyKind::kAffinity ? "with" : "apart",
                               term.topology_key, group.selector.Canonical()));
      }
    };
    if (!inverse) terms(pod.spec.affinity->pod_affinity, TopologyKind::kAffinity);
    terms(pod.spec.affinity->pod_anti_affinity, TopologyKind::kAntiAffinity);
    return rules;
  }

  void Register(const model::Pod& pod) {
    RulesOf(pod, false);
    RulesOf(pod, true);
  }

  std::vector<std::string> Domains(const Group& group, const model::Pod& pod,
                                   const model::NodeRequirements& strict,
                                   const model::NodeRequirements& place) {
    const auto wanted = strict.Get(group.key);
    const auto offered = place.Get(group.key);
    const bool self = group.Selects(pod);
    const bool is_host = group.key == model::kHostnameLabel;
    std::map<std::string, int32_t> counts = group.counts;
    if (is_host) {  // only this host is in question, and it may be new
      const std::string& host = offered.values().front();
      counts = {{host, group.counts.contains(host) ? group.counts.at(host) : 0}};
    }
    std::vector<std::string> found;
    if (group.kind == TopologyKind::kSpread) {
      int32_t least = is_host ? 0 : std::numeric_limits<int32_t>::max();
      for (const auto& [domain, count] : counts) {
        if (!is_host && wanted.Has(domain)) least = std::min(least, count);
      }
      std::optional<int32_t> best;
      for (const auto& [domain, count] : counts) {
        const int32_t with = count + (self ? 1 : 0);
        if (!offered.Has(domain) || with - least > group.max_skew || (best && with > *best))
          continue;
        if (best && with < *best) found.clear();
        best = with;
        found.push_back(domain);
      }
      return OneOf(found);
    }
    const bool is_affinity = group.kind == TopologyKind::kAffinity;
    for (const auto& [domain, count] : counts) {
      if ((count > 0) == is_affinity && offered.Has(domain) && wanted.Has(domain))
        found.push_back(domain);
    }
    const bool any = std::ranges::any_of(group.counts, [&](const auto& entry) {
      return entry.second > 0 && wanted.Has(entry.first);
    });
    if (!is_affinity || !found.empty() || !self || any) return found;
    for (const auto& [domain, count] : counts) {
      if (offered.Has(domain) && wanted.Has(domain)) found.push_back(domain);
    }
    return OneOf(found);
  }
  // The first, or the one whose turn it is.
  std::vector<std::string> OneOf(const std::vector<std::string>& equal) {
    most_equal_ = std::max(most_equal_, equal.size());
    return equal.empty() ? equal : std::vector{equal[turn_ % equal.size()]};
  }

  bool Narrow(const model::Pod& pod, model::NodeRequirements& place, bool is_claim) {
    const auto strict = model::RequirementsOf(pod, model::PodDemands::kRequired, options_.labels);
    std::set<std::string> rules;
    for (const std::string& rule : RulesOf(pod, false)) rules.insert(rule);
    for (const auto& [identity, group] : groups_) {
      if (identity.front() == 'i' && group.Selects(pod)) rules.insert(identity);
    }
    model::NodeRequirements narrowed = place;
    for (const std::string& rule : rules) {
      const Group& group = groups_.at(rule);
      auto domains = Domains(group, pod, strict, place);
      if (domains.empty()) return false;
      narrowed.Add(model::NodeRequirement::In(group.key, std::move(domains)));
    }
    if (!place.Compatible(narrowed, is_claim ? &options_.labels : nullptr)) return false;
    place.Add(narrowed);
    return true;
  }

  void Record(const model::Pod& pod, const Place& place) {
    for (auto& [identity, group] : groups_) {
      if (identity.front() == 'i' || !group.Selects(pod) || !group.Counts(place.requirements))
        continue;
      const auto domains = place.requirements.Get(group.key);
      if (group.kind == TopologyKind::kAntiAffinity || domains.Length() == 1) {
        for (const std::string& domain : domains.values()) ++group.counts[domain];
      }
    }
    for (const std::string& rule : RulesOf(pod, true)) {
      Group& group = groups_.at(rule);
      const auto domains = place.requirements.Get(group.key);
      for (const std::string& domain : domains.values()) ++group.counts[domain];
    }
  }

  bool Filter(Place& place, const model::Pod& pod) const {
    model::ResourceList requests = place.used;
    AddResources(requests, RequestsOf(pod));
    cloud::TypeList kept;
    for (const cloud::InstanceType* type : place.types) {
      if (!type->requirements.Intersects(place.requirements)) continue;
      for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(*type)) {
        const bool offered = std::ranges::any_of(group.offerings, [&](const auto* offering) {
          return place.requirements.Compatible(offering->requirements, &options_.labels);
        });
        if (!offered || !cloud::Fits(requests, group.allocatable)) continue;
        kept.push_back(type);
        break;
      }
    }
    place.types = kept;
    return !kept.empty() && cloud::SatisfiesMinValues(kept, place.requirements).met();
  }

  // Adds the pod if it can be: `place` is changed only then.
  bool Add(size_t at, const model::Pod& pod, Place& place) {
    Place tried = place;
    if (!ToleratesAll(tried.taints, pod.spec.tolerations)) return false;
    const HostPorts ports = HostPortsOf(pod);
    if (Clash(ports, tried.ports)) return false;
    const auto demands = model::RequirementsOf(pod, model::PodDemands::kPreferred, options_.labels);
    const auto requests = RequestsOf(pod);
    if (!tried.is_claim && !cloud::Fits(requests, tried.room)) return false;
    if (!tried.requirements.Compatible(demands, tried.is_claim ? &options_.labels : nullptr))
      return false;
    tried.requirements.Add(demands);
    if (!Narrow(pod, tried.requirements, tried.is_claim)) return false;
    if (tried.is_claim) {
      if (!Filter(tried, pod)) return false;
      AddResources(tried.used, requests);
    } else {
      for (const auto& [name, amount] : requests) tried.room[name].Sub(amount);
    }
    tried.ports.insert(tried.ports.end(), ports.begin(), ports.end());
    tried.pods.push_back(at);
    place = std::move(tried);
    Record(pod, place);
    return true;
  }

  bool PlaceInTurns(size_t at, const model::Pod& pod) {
    turn_ = most_equal_ = 0;
    if (PlaceOne(at, pod)) return true;
    const size_t turns = most_equal_;
    for (turn_ = 1; turn_ < turns; ++turn_) {
      if (PlaceOne(at, pod)) return true;
    }
    return false;
  }

  bool PlaceOne(size_t at, const model::Pod& pod) {
    for (Place& node : nodes) {
      if (Add(at, pod, node)) return true;
    }
    GoSort(claims, [](const Place& a, const Place& b) { return a.pods.size() < b.pods.size(); });
    for (Place& claim : claims) {
      if (Add(at, pod, claim)) return true;
    }
    for (const size_t index : pool_order_) {
      const Pool& pool = input_.pools[index];
      Place claim{.index = index, .is_claim = true, .requirements = TemplateOf(pool)};
      claim.taints = pool.taints;
      claim.host = fmt::format("planned-{:06}", ++hosts_);
      claim.requirements.Add(model::NodeRequirement::In(model::kHostnameLabel, {claim.host}));
      for (const cloud::InstanceType& type : *pool.types) {
        const bool exceeds = std::ranges::any_of(limits_[index], [&](const auto& limit) {
          return AmountIn(type.capacity, limit.first).Compare(limit.second) > 0;
        });
        if (!exceeds) claim.types.push_back(&type);
      }
      if (claim.types.empty() || !Add(at, pod, claim)) continue;
      for (auto& [name, left] : limits_[index]) {
        model::Quantity largest;
        for (const cloud::InstanceType* type : claim.types) {
          const model::Quantity amount = AmountIn(type->capacity, name);
          if (amount.Compare(largest) > 0) largest = amount;
        }
        left.Sub(largest);
      }
      claims.push_back(std::move(claim));
      return true;
    }
    return false;
  }

  const SolverInput& input_;
  const SolverOptions& options_;
  std::vector<size_t> pool_order_;
  std::vector<model::ResourceList> limits_;
  std::map<std::string, Group> groups_;
  int hosts_ = 0;
  size_t turn_ = 0;
  size_t most_equal_ = 0;
};

}  // namespace coppice::provision
