#include "provision/world.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "model/resources.h"
#include "model/taints.h"
#include "provision/pod_selection.h"
#include "provision/tolerance.h"

namespace coppice::provision {

struct SolverWorld::Daemon {
  const model::Pod* pod;
  std::vector<HostedSet> terms;  // alternatives; one, if it has no required node affinity
  TolerationsId tolerations = 0;
  TolerationsId node_tolerations = 0;
  size_t first_term = 0;  // the peer forgets terms that once did not match anything
  model::ResourceList requests;
};

namespace {

std::vector<HostedSet> DaemonTerms(const model::Pod& pod, Algebra& algebra) {
  const auto own = model::NodeRequirements::FromLabels(pod.spec.node_selector, algebra.rules());
  std::vector<HostedSet> terms;
  const auto add = [&](const model::NodeRequirements& all) {
    const model::NodeRequirement* host = all.Find(model::kHostnameLabel);
    terms.push_back({algebra.Intern(all), host == nullptr ? std::nullopt : std::optional(*host)});
  };
  if (pod.spec.affinity && pod.spec.affinity->node_affinity &&
      pod.spec.affinity->node_affinity->required) {
    for (const auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms) {
      model::NodeRequirements both = own;
      both.Add(model::NodeRequirements::From(term.match_expressions, algebra.rules()));
      add(both);
    }
  }
  if (terms.empty()) add(own);
  return terms;
}

model::ResourceList RequestsOf(const std::vector<const model::ResourceList*>& lists) {
  model::ResourceList sum;
  for (const model::ResourceList* list : lists) AddResources(sum, *list);
  sum[model::kPods] = model::Quantity::FromUnits(static_cast<int64_t>(lists.size()),
                                                 model::Quantity::Format::kDecimalExponent);
  return sum;
}

}  // namespace

SolverWorld::SolverWorld(const SolverInput& of, SolverOptions with)
    : input(of), options(std::move(with)), algebra(options.labels), storage(of.storage) {
  topology = std::make_unique<TopologyFacts>(input, options, algebra, taints);
  const bool tolerate_preferences = std::ranges::any_of(input.pools, [](const Pool& pool) {
    return std::ranges::any_of(pool.taints, [](const model::Taint& taint) {
      return taint.effect == model::kPreferNoSchedule;
    });
  });
  classes = std::make_unique<PodClasses>(PodClasses::Parts{options, algebra, columns, taints,
                                                           *topology, storage, tolerate_preferences,
                                                           input.default_spread.get()});
  for (const Pool& pool : input.pools) limits_left.push_back(columns.Sparse(pool.limits));
  MakeTemplates();
  NoteHosts();
  std::vector<Daemon> daemons;
  JudgeDaemons(daemons);
  MakeNodes(daemons);
}

void SolverWorld::MakeTemplates() {
  std::vector<size_t> order(input.pools.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [this](size_t a, size_t b) {
    const Pool& left = input.pools[a];
    const Pool& right = input.pools[b];
    return left.weight != right.weight ? left.weight > right.weight : left.name > right.name;
  });
  for (const size_t at : order) {
    const Pool& pool = input.pools[at];
    auto requirements = model::NodeRequirements::From(pool.requirements, options.labels);
    model::Labels labels = pool.labels;
    labels[model::kNodePoolLabel] = pool.name;
    if (!pool.node_class_label.empty()) labels[pool.node_class_label] = pool.node_class_name;
    requirements.Add(model::NodeRequirements::FromLabels(labels, options.labels));
    requirements.Add(model::NodeRequirement::In(model::kRegisteredLabel, {"true"}));
    requirements.Add(model::NodeRequirement::In(model::kInitializedLabel, {"true"}));
    ClaimTemplate made{
        .pool = at, .set = algebra.Intern(requirements), .taints = taints.Taints(pool.taints)};
    if (pool.types != nullptr && !pool.types->empty()) {
      auto& catalog = catalogs[pool.types.get()];
      if (catalog == nullptr) {
        catalog = std::make_unique<CatalogIndex>(*pool.types, options.reservation_label, algebra,
                                                 columns);
        for (const auto& [id, capacity] : catalog->reservation_capacities()) {
          const auto [it, is_new] = reservations.try_emplace(id, capacity);
          if (!is_new) it->second = std::min(it->second, capacity);
        }
      }
      made.catalog = catalog.get();
      Bits slots;
      catalog->Fitting({}, slots);
      KeepOnly(slots, catalog->Offered(made.set));
      catalog->TypesOf(slots, made.types);
      KeepOnly(made.types, catalog->Matching(made.set));
      if (AnyBit(made.types)) {
        const auto wished =
            cloud::SatisfiesMinValues(catalog->List(made.types), algebra.Expand(made.set));
        if (wished.met() || options.min_values == MinValuesPolicy::kBestEffort) {
          templates.push_back(std::move(made));
          continue;
        }
        pool_problems.push_back({at, true});
        continue;
      }
    }
    pool_problems.push_back({at, false});
  }
}

void SolverWorld::JudgeDaemons(std::vector<Daemon>& daemons) {
  for (const PodPtr& pod : input.daemon_pods) {
    if (options.ignore_dra_requests && HasDeviceClaims(*pod)) continue;
    Daemon& daemon = daemons.emplace_back();
    daemon.pod = pod.get();
    daemon.terms = DaemonTerms(*pod, algebra);
    std::vector<model::Toleration> tolerations = pod->spec.tolerations;
    daemon.node_tolerations = taints.Tolerations(tolerations);
    tolerations.push_back({.operator_ = "Exists", .effect = std::string(model::kPreferNoSchedule)});
    daemon.tolerations = taints.Tolerations(tolerations);
    // The peer adds that toleration when it looks at the first type of a pool, and then keeps it.
    if (!options.upstream_exact || !templates.empty()) daemon.node_tolerations = daemon.tolerations;
    AddResources(daemon.requests, model::PlacedRequestList(*pod));
  }
  for (ClaimTemplate& made : templates) GroupTypes(made, daemons);
}

bool SolverWorld::Runs(Daemon& daemon, const ClaimTemplate& on, size_t type) {
  if (!taints.Tolerates(daemon.tolerations, on.taints)) return false;
  for (size_t at = options.upstream_exact ? daemon.first_term : 0; at < daemon.terms.size(); ++at) {
    const HostedSet& term = daemon.terms[at];
    if (options.upstream_exact) daemon.first_term = at;
    if (algebra.Compatible(on.set, term.set, true) && HostMeets(nullptr, term.host) &&
        HasBit(on.catalog->Matching(term.set), type)) {
      return true;
    }
  }
  return false;
}

void SolverWorld::GroupTypes(ClaimTemplate& made, std::vector<Daemon>& daemons) {
  // In the order in which their first types come.
  std::vector<std::pair<std::vector<size_t>, Bits>> by_daemons;
  ForEachBit(made.types, [&](size_t type) {
    std::vector<size_t> running;
    for (size_t at = 0; at < daemons.size(); ++at) {
      if (Runs(daemons[at], made, type)) running.push_back(at);
    }
    auto group = std::ranges::find(by_daemons, running, [](const auto& one) { return one.first; });
    if (group == by_daemons.end())
      group = by_daemons.insert(group, {running, NoBits(made.catalog->size())});
    SetBit(group->second, type);
  });
  for (auto& [running, types] : by_daemons) {
    DaemonGroup& group = made.daemons.emplace_back();
    group.types = std::move(types);
    group.has_daemons = !running.empty();
    if (!group.has_daemons) continue;
    std::vector<const model::ResourceList*> requests;
    for (const size_t at : running) {
      requests.push_back(&daemons[at].requests);
      const HostPorts ports = HostPortsOf(*daemons[at].pod);
      group.ports.insert(group.ports.end(), ports.begin(), ports.end());
    }
    group.overhead = RequestsOf(requests);
    group.amounts = columns.Sparse(group.overhead);
  }
}

void SolverWorld::NoteHosts() {
  std::set<std::string> names;
  const auto note = [&names](const model::Node& node) {
    const std::string* label = node.metadata.labels.Find(model::kHostnameLabel);
    names.insert(label == nullptr ? node.metadata.name : *label);
  };
  for (const NodePtr& node : input.node_objects) note(*node);
  for (const StateNode& node : input.nodes) {
    if (node.node != nullptr) note(*node.node);
    names.insert(node.hostname());
  }
  host_names.assign(names.begin(), names.end());
}

bool SolverWorld::Runs(const Daemon& daemon, const NodeRecord& on, const model::Labels& labels) {
  if (!taints.Tolerates(daemon.node_tolerations, on.taints)) return false;
  const std::string* host = labels.Find(model::kHostnameLabel);
  const auto fits = [&](const HostedSet& term) {
    return algebra.Compatible(on.set, term.set, false) && HostMeets(host, term.host);
  };
  if (options.upstream_exact) return fits(daemon.terms[daemon.first_term]);
  return std::ranges::any_of(daemon.terms, fits);
}

void SolverWorld::MakeNodes(const std::vector<Daemon>& daemons) {
  for (const StateNode& node : input.nodes) nodes.push_back(MakeNode(node, daemons));
  for (size_t at = 0; at < input.nodes.size(); ++at) {
    if (input.nodes[at].marked_for_deletion) {
      leaving.insert(input.nodes[at].name());
    } else {
      node_order.push_back(at);
    }
  }
  std::ranges::sort(node_order, [this](size_t a, size_t b) {
    const StateNode& left = input.nodes[a];
    const StateNode& right = input.nodes[b];
    if (left.initialized() != right.initialized()) return left.initialized();
    return left.name() != right.name() ? left.name() < right.name() : a < b;
  });
  rank_of.assign(input.nodes.size(), kNoId);
  for (size_t rank = 0; rank < node_order.size(); ++rank) {
    const NodeRecord& node = nodes[node_order[rank]];
    rank_of[node_order[rank]] = static_cast<uint32_t>(rank);
    if (node.pool >= limits_left.size()) continue;
    for (auto& [column, left] : limits_left[node.pool]) left -= AmountOf(node.capacity, column);
  }
}

NodeRecord SolverWorld::MakeNode(const StateNode& node, const std::vector<Daemon>& daemons) {
  const model::Labels& labels = node.labels();
  NodeRecord made;
  made.set = algebra.Intern(model::NodeRequirements::FromLabels(labels, options.labels));
  made.taints = taints.Taints(node.taints());
  made.host = node.hostname();
  made.host_id =
      static_cast<HostId>(std::ranges::lower_bound(host_names, made.host) - host_names.begin());
  made.capacity = columns.Sparse(node.capacity());
  const std::string* pool = labels.Find(model::kNodePoolLabel);
  made.pool = static_cast<size_t>(
      pool == nullptr ? input.pools.end() - input.pools.begin()
                      : std::ranges::find(input.pools, *pool, &Pool::name) - input.pools.begin());
  // Room: what is there, less what runs, less what daemon sets still have to start.
  std::vector<const model::ResourceList*> expected;
  for (const Daemon& daemon : daemons) {
    if (Runs(daemon, made, labels)) expected.push_back(&daemon.requests);
  }
  model::ResourceList reserve = RequestsOf(expected);
  model::ResourceList room = node.allocatable();
  for (const PodPtr& pod : node.pods) {
    if (IsTerminal(*pod)) continue;
    model::ResourceList requests = model::PlacedRequestList(*pod);
    requests[model::kPods] = model::Quantity::FromUnits(1);
    const bool is_daemon = IsOwnedBy(*pod, "apps/v1", "DaemonSet");
    for (const auto& [name, amount] : requests) {
      if (room.contains(name)) room[name].Sub(amount);
      if (is_daemon) reserve[name].Sub(amount);
    }
    const HostPorts ports = HostPortsOf(*pod);
    made.ports.insert(made.ports.end(), ports.begin(), ports.end());
    const auto volumes = storage.VolumesOf(*pod);
    if (!volumes.ok()) continue;
    for (const auto& [driver, names] : *volumes)
      made.volumes[driver].insert(names.begin(), names.end());
  }
  for (auto& [name, amount] : room) {
    const model::Quantity* kept = reserve.Find(name);
    if (kept != nullptr && kept->Sign() > 0) amount.Sub(*kept);
  }
  for (const auto& [column, amount] : columns.Sparse(room)) {
    if (made.remaining.size() <= column) made.remaining.resize(column + 1, 0);
    made.remaining[column] = amount;
    made.overdrawn = made.overdrawn || amount < 0;
  }
  // What the node itself says about a driver wins over what its type promises.
  std::set<std::string> told;
  if (const model::CsiNode* csi =
          node.node == nullptr ? nullptr : storage.CsiNodeOf(node.node->metadata.name)) {
    for (const model::CsiNodeDriver& driver : csi->spec.drivers) {
      told.insert(driver.name);
      if (driver.allocatable && driver.allocatable->count)
        made.volume_limits[driver.name] = *driver.allocatable->count;
    }
  }
  const std::string* type_name = labels.Find(model::kInstanceTypeLabel);
  if (made.pool < input.pools.size() && input.pools[made.pool].types != nullptr &&
      type_name != nullptr) {
    for (const cloud::InstanceType& type : *input.pools[made.pool].types) {
      if (type.name != *type_name) continue;
      for (const auto& [driver, limit] : type.volume_attachment_limits) {
        if (!told.contains(driver)) made.volume_limits[driver] = limit;
      }
    }
  }
  return made;
}

}  // namespace coppice::provision
