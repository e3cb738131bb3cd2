#include "pack/estimator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/resources.h"
#include "model/selector.h"
#include "pack/counting.h"

namespace coppice::pack {

namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";
// What kube-scheduler says when only the spread is in the way.
constexpr std::string_view kSpreadReason = "node(s) didn't match pod topology spread constraints";

// How large a pod is, as a share of the node.
class Score {
 public:
  explicit Score(const model::Node& node) {
    const model::Quantity* cpu = node.status.allocatable.Find(model::kCpu);
    if (cpu != nullptr) cpu_ = static_cast<double>(cpu->MilliValue());
    const model::Quantity* memory = node.status.allocatable.Find(model::kMemory);
    if (memory != nullptr) memory_ = static_cast<double>(memory->Value());
  }
  double Of(const cluster::PodSpecShape& pod) const {
    double score = 0;
    if (cpu_ > 0) score += static_cast<double>(pod.placed.cpu_millis) / cpu_;
    if (memory_ > 0) score += static_cast<double>(pod.placed.memory_bytes) / memory_;
    return score;
  }

 private:
  double cpu_ = 0;
  double memory_ = 0;
};

bool SpreadsOverHosts(const model::Pod& pod) {
  return std::ranges::any_of(pod.spec.topology_spread_constraints,
                             [](const auto& c) { return c.topology_key == kHostname; });
}

bool RefusedForSpread(const model::Verdict& verdict) {
  return !verdict.yes() &&
         std::ranges::any_of(verdict.reasons(), [](const auto& r) { return r == kSpreadReason; });
}

const std::vector<model::PodAffinityTerm>& AntiAffinityOf(const model::Pod& pod) {
  static const std::vector<model::PodAffinityTerm> kNone;
  if (!pod.spec.affinity || !pod.spec.affinity->pod_anti_affinity) return kNone;
  return pod.spec.affinity->pod_anti_affinity->required;
}

// The fast path multiplies one node: only for pods that do not look at other nodes.
bool MayMultiply(const model::Pod& pod) {
  return pod.spec.topology_spread_constraints.empty() &&
         std::ranges::all_of(AntiAffinityOf(pod),
                             [](const auto& term) { return term.topology_key == kHostname; });
}

double Approximate(const model::ResourceList& list, std::string_view name, double unit) {
  const model::Quantity* quantity = list.Find(name);
  return quantity == nullptr ? 0 : static_cast<double>(quantity->MilliValue()) / unit;
}

// How many placements the fast path would save for this kind, by upstream's rough reckoning: only
// the first container counts, against capacity.
int SavedBy(const PodKind& kind, const model::Node& node) {
  const model::Pod& pod = *kind.front().pod;
  const auto count = static_cast<double>(kind.size());
  double nodes = 0;
  for (const auto& term : AntiAffinityOf(pod)) {
    if (term.topology_key != kHostname) continue;
    const auto selector = model::Selector::From(term.label_selector);
    if (selector.ok() && selector->Matches(pod.metadata.labels)) nodes = count;
  }
  if (!pod.spec.containers.empty()) {
    const model::ResourceList& requests = pod.spec.containers.front().resources.requests;
    for (const std::string_view resource : {model::kCpu, model::kMemory}) {
      nodes = std::max(nodes, std::ceil(count * Approximate(requests, resource, 1000) /
                                        Approximate(node.status.capacity, resource, 1000)));
    }
  }
  const int node_count = static_cast<int>(nodes);
  const int pods = static_cast<int>(kind.size());
  return node_count > 0 ? pods - pods / node_count : 0;
}

}  // namespace

struct Estimator::State {
  const NodeTemplate& node_template;
  Limiter limiter;
  size_t first_position;  // of the nodes added here, in the visiting order
  cluster::NodeIndex newest = cluster::kNone;
  int added = 0;
  std::set<cluster::NodeIndex> added_nodes = {};
  int multiplied = 0;                           // nodes that the fast path only counts
  std::map<cluster::NodeIndex, int> with_pods;  // how many pods we placed on each
  Estimate result;

  void Placed(const fit::PendingPod& pod, cluster::NodeIndex node) {
    ++with_pods[node];
    result.pods.push_back(&pod);
  }
};

bool Estimator::AddNode(State& state) {
  const NodeTemplate copy = FreshCopy(state.node_template, "e-" + std::to_string(state.added));
  const auto node = AddTo(search_.snapshot(), copy);
  if (!node.ok()) return false;
  ++state.added;
  state.newest = *node;
  state.added_nodes.insert(*node);
  return true;
}

void Estimator::PlaceOnAdded(State& state, const PodKind& kind, size_t& next) {
  if (state.added == 0) return;
  cluster::Snapshot& snapshot = search_.snapshot();
  for (; next < kind.size(); ++next) {
    const cluster::NodeIndex node =
        search_.Find(kind[next].index, {.from_position = state.first_position});
    if (node == cluster::kNone) return;
    snapshot.Place(kind[next].index, node);
    state.Placed(kind[next], node);
  }
}

// False: no more nodes for the whole estimate.
bool Estimator::PlaceOnNew(State& state, const PodKind& kind, size_t next) {
  cluster::Snapshot& snapshot = search_.snapshot();
  for (; next < kind.size(); ++next) {
    const fit::PendingPod& pod = kind[next];
    cluster::NodeIndex found = cluster::kNone;
    if (state.newest != cluster::kNone) {
      const model::Verdict verdict = search_.Check(pod.index, state.newest);
      if (verdict.yes()) {
        found = state.newest;
      } else if (SpreadsOverHosts(*pod.pod) && RefusedForSpread(verdict)) {
        // Another node may have become the emptiest domain meanwhile; it may even be a real one.
        found = search_.Find(pod.index, {.except = state.newest});
      }
    }
    if (found == cluster::kNone) {
      const bool newest_is_empty =
          state.newest != cluster::kNone && !state.with_pods.contains(state.newest);
      if (newest_is_empty) return true;  // a fresh node did not take it: another would not either
      if (!state.limiter.MayAddNode()) return false;
      if (!AddNode(state)) return false;
      if (!search_.Fits(pod.index, state.newest)) return true;
      found = state.newest;
    }
    snapshot.Place(pod.index, found);
    state.Placed(pod, found);
  }
  return true;
}

bool Estimator::Multiply(State& state, const PodKind& kind, size_t next) {
  const size_t left = kind.size() - next;
  if (left == 0) return true;
  if (!state.limiter.MayAddNode() || !AddNode(state)) return false;
  cluster::Snapshot& snapshot = search_.snapshot();
  size_t per_node = 0;
  for (; next < kind.size() && search_.Fits(kind[next].index, state.newest); ++next, ++per_node) {
    snapshot.Place(kind[next].index, state.newest);
    state.Placed(kind[next], state.newest);
  }
  if (per_node == 0) return true;
  const size_t nodes = (left + per_node - 1) / per_node;
  for (size_t i = 1; i < nodes; ++i) {
    if (!state.limiter.MayAddNode()) return false;
    ++state.multiplied;
    for (size_t k = 0; k < per_node && next < kind.size(); ++k)
      state.result.pods.push_back(&kind[next++]);
  }
  return true;
}

Estimate Estimator::Run(const std::vector<const PodKind*>& kinds, const NodeTemplate& node_template,
                        const EstimateLimits& limits) {
  cluster::Snapshot& snapshot = search_.snapshot();
  std::vector<std::pair<double, const PodKind*>> ordered;
  ordered.reserve(kinds.size());
  const Score score(node_template.node);
  for (const PodKind* kind : kinds) {
    const cluster::SpecId spec = snapshot.spec_id(kind->front().index);
    ordered.emplace_back(score.Of(snapshot.interner().spec(spec)), kind);
  }
  std::ranges::stable_sort(ordered, std::greater<>(),
                           [](const auto& entry) { return entry.first; });

  const PodKind* multiplied = nullptr;
  if (options_.fast_path) {
    int most_saved = 0;
    size_t best = ordered.size();
    for (size_t i = 0; i < ordered.size(); ++i) {
      const PodKind& kind = *ordered[i].second;
      const int saved = SavedBy(kind, node_template.node);
      if (saved >= most_saved && MayMultiply(*kind.front().pod)) {
        most_saved = saved;
        best = i;
      }
    }
    if (best < ordered.size()) {
      multiplied = ordered[best].second;
      std::rotate(ordered.begin() + static_cast<ptrdiff_t>(best),
                  ordered.begin() + static_cast<ptrdiff_t>(best) + 1, ordered.end());
    }
  }

  if (multiplied == nullptr && options_.counting) {
    std::vector<const PodKind*> in_order;
    in_order.reserve(ordered.size());
    for (const auto& entry : ordered) in_order.push_back(entry.second);
    auto counting = Counting::For(search_, in_order, node_template);
    if (counting) return counting->Run(Limiter(limits, clock_));
  }

  const auto fork = snapshot.Fork();
  State state{node_template, Limiter(limits, clock_), snapshot.nodes().size()};
  bool more_nodes = true;
  for (const auto& [share, kind] : ordered) {
    size_t next = 0;
    PlaceOnAdded(state, *kind, next);
    if (!more_nodes) continue;
    more_nodes = kind == multiplied ? Multiply(state, *kind, next) : PlaceOnNew(state, *kind, next);
  }
  state.result.nodes = static_cast<int>(state.with_pods.size()) + state.multiplied;
  for (const auto& [node, pods] : state.with_pods) {
    const auto on_it = static_cast<int>(snapshot.pods_on(node).size());
    const bool added_here = state.added_nodes.contains(node);
    state.result.pods_per_node.push_back(
        added_here ? on_it - static_cast<int>(node_template.pods.size()) : on_it);
  }
  return std::move(state.result);
}

}  // namespace coppice::pack
