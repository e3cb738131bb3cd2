// The question: which pods, in which order, and the loop over them.

#include "provision/solve_run.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

namespace coppice::provision {

namespace {

// Zones, capacity types, architectures: whoever spreads over more than so many domains, all of them
// equal and most of them impossible, is refused although one might do.
constexpr size_t kMostTurns = 16;

}  // namespace

SolveRun::SolveRun(SolverWorld& world, const SolveRequest& request)
    : world_(world), request_(request), algebra_(world.algebra) {
  touched_at_.assign(world.node_order.size(), kNoId);
  not_targets_ = NoBits(world.node_order.size());
  limits_left_ = world.limits_left;
  for (const size_t at : request.without_nodes) {
    if (world.rank_of[at] == kNoId || HasBit(not_targets_, world.rank_of[at])) continue;
    SetBit(not_targets_, world.rank_of[at]);
    left_out_.push_back(at);
    const NodeRecord& node = world.nodes[at];
    if (node.pool >= limits_left_.size()) continue;
    for (auto& [column, left] : limits_left_[node.pool]) left += AmountOf(node.capacity, column);
  }
  for (const PodPtr& pod : request.pods) all_pods_.push_back(pod.get());
  topology_ =
      std::make_unique<Topology>(*world.topology, world.algebra, world.input,
                                 Topology::Setting{&all_pods_, &left_out_, &world.host_names});
  MakeClasses();
  limit_filters_.resize(world.templates.size());
  last_relaxed_.resize(world.templates.size());
  reservations_ = world.reservations;
  for (const auto& [id, count] : request.credited_reservations) {
    const auto it = reservations_.find(id);
    if (it != reservations_.end()) it->second += count;
  }
}

void SolveRun::MakeClasses() {
  for (const PodPtr& pod : request_.pods) {
    const bool may_join =
        pod->status.phase == "Pending" || world_.leaving.contains(pod->spec.node_name);
    const ClassId id = world_.classes->Of(pod, may_join);
    // Pods whose volumes cannot be placed wait for another time. The peer tries them without, and
    // without their topology until they have failed once.
    const bool unplaced = world_.classes->at(id).volumes_unplaced;
    const bool exact = world_.options.upstream_exact;
    class_of_pod_.push_back(unplaced && !exact ? kNoId : ClassIndex(id));
    if (unplaced && exact) untold_.insert(class_of_pod_.size() - 1);
  }
  // Groups come into being in the order of the pods.
  for (size_t pod = 0; pod < class_of_pod_.size(); ++pod) {
    if (class_of_pod_[pod] != kNoId && !untold_.contains(pod))
      PrepareRules(*run_classes_[class_of_pod_[pod]]);
  }
  topology_->SetUpDone();
}

Bits SolveRun::RuledOutAtFirst(ClassId id) {
  Bits ruled_out = world_.classes->RefusedNodes(id, world_.node_order.size());
  AddBits(ruled_out, not_targets_);
  return ruled_out;
}

uint32_t SolveRun::ClassIndex(ClassId id) {
  if (run_class_of_.size() <= id) run_class_of_.resize(world_.classes->size(), kNoId);
  if (run_class_of_[id] == kNoId) {
    run_class_of_[id] = static_cast<uint32_t>(run_classes_.size());
    auto made = std::make_unique<RunClass>();
    made->id = id;
    made->pods = &world_.classes->at(id);
    made->ruled_out_nodes = RuledOutAtFirst(id);
    run_classes_.push_back(std::move(made));
  }
  return run_class_of_[id];
}

void SolveRun::PrepareRules(RunClass& of) {
  if (of.rules_ready) return;
  of.rules_ready = true;
  of.rules = topology_->RulesFor(of.pods->rules, of.pods->inverse_rules, of.pods->labels);
  of.rules.strict = of.pods->strict.set;
  of.rules.strict_host = of.pods->strict.host;
}

std::vector<size_t> SolveRun::Queue() const {
  std::vector<size_t> queue;
  for (size_t pod = 0; pod < class_of_pod_.size(); ++pod) {
    if (class_of_pod_[pod] != kNoId) queue.push_back(pod);
  }
  struct Key {
    Amount cpu;
    Amount memory;
  };
  std::vector<Key> keys;
  for (const auto& of : run_classes_) {
    keys.push_back({AmountOf(of->pods->requests, ResourceColumns::kCpuColumn),
                    AmountOf(of->pods->requests, ResourceColumns::kMemoryColumn)});
  }
  std::ranges::sort(queue, [&](size_t a, size_t b) {
    const Key& left = keys[class_of_pod_[a]];
    const Key& right = keys[class_of_pod_[b]];
    if (left.cpu != right.cpu) return left.cpu > right.cpu;
    if (left.memory != right.memory) return left.memory > right.memory;
    const model::ObjectMeta& one = request_.pods[a]->metadata;
    const model::ObjectMeta& other = request_.pods[b]->metadata;
    if (one.creation_timestamp != other.creation_timestamp)
      return one.creation_timestamp < other.creation_timestamp;
    return one.uid != other.uid ? one.uid < other.uid : a < b;
  });
  return queue;
}

SolveOutcome SolveRun::Run() {
  SolveOutcome outcome;
  if (request_.count_zones) CountZones(outcome);
  const std::vector<size_t> sorted = Queue();
  std::deque<size_t> queue(sorted.begin(), sorted.end());
  std::vector<size_t> length_when_pushed(request_.pods.size(), 0);
  std::map<size_t, Refusal> refusals;
  while (!queue.empty()) {
    const size_t pod = queue.front();
    // Pushed when the queue was as long as it is now: a full round without progress.
    if (length_when_pushed[pod] == queue.size()) break;
    queue.pop_front();
    Refusal refusal;
    if (TryAll(pod, refusal)) {
      refusals.erase(pod);
      continue;
    }
    refusals[pod] = std::move(refusal);
    queue.push_back(pod);
    length_when_pushed[pod] = queue.size();
  }
  for (const auto& [pod, refusal] : refusals)
    outcome.errors.push_back({pod, refusal.kind, Text(refusal)});
  std::ranges::sort(touched_, {}, &Node::rank);
  for (Node& node : touched_)
    outcome.existing.push_back({world_.node_order[node.rank], std::move(node.pods)});
  const bool strict = world_.options.min_values == MinValuesPolicy::kStrict;
  for (const uint32_t id : order_.order()) {
    PlannedClaim planned = Finish(claims_[id]);
    if (request_.truncate && planned.types.size() > world_.options.most_instance_types)
      planned.types.resize(world_.options.most_instance_types);
    const auto wished = cloud::SatisfiesMinValues(planned.types, planned.requirements);
    if (!request_.truncate || !strict || wished.met()) {
      outcome.claims.push_back(std::move(planned));
      continue;
    }
    for (const size_t pod : planned.pods) {
      outcome.errors.push_back(
          {pod, PodErrorKind::kUnschedulable,
           "pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating "
           "minValues, " +
               wished.Error() + " (NodePool=" + world_.input.pools[planned.pool].name + ")"});
    }
  }
  std::ranges::sort(outcome.errors, {}, &PodError::pod);
  for (size_t pod = 0; pod < class_of_pod_.size(); ++pod) {
    if (class_of_pod_[pod] == kNoId) outcome.left_out.push_back(pod);
  }
  return outcome;
}

bool SolveRun::TryAll(size_t pod, Refusal& refusal) {
  uint32_t at = class_of_pod_[pod];
  bool untold = untold_.erase(pod) != 0;
  for (;;) {
    refusal = Refusal();
    if (untold) {
      if (PlaceUntold(pod, *run_classes_[at], refusal)) return true;
    } else {
      PrepareRules(*run_classes_[at]);
      if (!run_classes_[at]->keepers_noted) {
        run_classes_[at]->keepers_noted = true;
        topology_->NoteKeepers(run_classes_[at]->rules);
      }
      if (PlaceInTurns(pod, *run_classes_[at], refusal)) return true;
    }
    untold = false;
    // Whoever waits for a reservation, or can never be placed, keeps its wishes.
    if (refusal.kind != PodErrorKind::kUnschedulable) return false;
    RunClass& of = *run_classes_[at];
    if (!of.relaxed_known) {
      of.relaxed_known = true;
      const ClassId relaxed = world_.classes->Relaxed(of.id);
      if (relaxed != kNoId) {
        const uint32_t next = ClassIndex(relaxed);
        run_classes_[at]->relaxed = next;
      }
    }
    if (run_classes_[at]->relaxed == kNoId) return false;
    at = run_classes_[at]->relaxed;
  }
}

// Where the chosen one of several equal domains has nothing for the pod, another may have.
bool SolveRun::PlaceInTurns(size_t pod, RunClass& of, Refusal& refusal) {
  topology_->SetTurn(0);
  if (Place(pod, of, refusal)) return true;
  if (refusal.kind != PodErrorKind::kUnschedulable) return false;
  const size_t turns = std::min(topology_->most_equal(), kMostTurns);
  for (size_t turn = 1; turn < turns; ++turn) {
    topology_->SetTurn(turn);
    Refusal same;  // the first one is told
    if (Place(pod, of, same)) return true;
  }
  return false;
}

// By a class of its own without rules, of which only what others do to it is left.
bool SolveRun::PlaceUntold(size_t pod, RunClass& of, Refusal& refusal) {
  run_classes_.push_back(std::make_unique<RunClass>());
  RunClass& bare = *run_classes_.back();
  bare.id = of.id;
  bare.pods = of.pods;
  bare.rules_ready = true;
  bare.rules = {.labels = of.pods->labels,
                .strict = of.pods->strict.set,
                .strict_host = of.pods->strict.host};
  bare.ruled_out_nodes = RuledOutAtFirst(of.id);
  topology_->NoteKeepers(bare.rules);
  return Place(pod, bare, refusal);
}

bool SolveRun::Place(size_t pod, RunClass& of, Refusal& refusal) {
  if (of.pods->has_devices && world_.options.ignore_dra_requests) {
    refusal.kind = PodErrorKind::kDra;
    refusal.text =
        "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter";
    return false;
  }
  if (!of.pods->volumes_error.empty()) {
    refusal.text = of.pods->volumes_error;
    return false;
  }
  const bool hopeless = topology_->IsHopeless(of.rules);
  if (!hopeless && !request_.only_new && PlaceOnNode(pod, of)) return true;
  order_.Sort();
  if (!hopeless && PlaceOnClaim(pod, of)) return true;
  if (world_.templates.empty()) {
    refusal.text = "nodepool requirements filtered out all available instance types";
    return false;
  }
  return PlaceOnNew(pod, of, refusal);
}

}  // namespace coppice::provision
