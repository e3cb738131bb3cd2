#include "autoscale/nearest_miss.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/go_duration.h"
#include "model/resources.h"

namespace coppice::autoscale {

namespace {

using report::Change;
using report::ChangeKind;

// A pod that is wrong in more ways than this is not near.
constexpr int kMostSteps = 4;
// What a kind of pods costs per group, usually: the pod as it is, and as it is proposed.
constexpr int kUsualChecks = 2;

// How much is asked of people. Raising a number in a flag is easier than changing a workload, and
// waiting is easier still; among requests the one that misses by the smaller share is nearer.
double Effort(const Change& change, const model::Pod& pod) {
  switch (change.kind) {
    case ChangeKind::kWait:
      return 0.3;
    case ChangeKind::kRaiseMaxSize:
      return 0.5;
    case ChangeKind::kRaiseNodesTotal:
    case ChangeKind::kRaiseLimit:
      return 0.6;
    case ChangeKind::kLowerRequest: {
      const auto asked = static_cast<double>(std::max<int64_t>(1, AskedOf(pod, change.subject)));
      return 0.7 + static_cast<double>(change.amount) / asked;
    }
    case ChangeKind::kTolerate:
    case ChangeKind::kAllowLabel:
    case ChangeKind::kRaiseSkew:
      return 1.0;
    default:
      return 1.5;
  }
}

}  // namespace

struct NearestMiss::Trial {
  const NodeTemplate& node_template;
  cluster::NodeIndex node = cluster::kNone;
  // Many pods look the same to the filters: bare ones of a script, for example.
  std::map<std::pair<cluster::SpecId, cluster::LabelSetId>, std::optional<ChangeSet>> answered = {};
};

ChangeSet NearestMiss::Obstacles(const cloud::GroupInfo& group, const model::Node& node,
                                 Quotas& quotas, size_t nodes, size_t ready, TimePoint now) const {
  ChangeSet obstacles;
  if (!parts_.state.GroupHealthy(group.id)) {
    obstacles.push_back({.kind = ChangeKind::kWait, .text = "the group were healthy"});
  }
  if (const auto why = parts_.state.BackedOff(group.id, now)) {
    const auto until = parts_.state.BackoffEnds(group.id);
    const Duration left = until ? *until - now : Duration::zero();
    obstacles.push_back({.kind = ChangeKind::kWait,
                         .amount = left.count(),
                         .text = "its back-off were over (in " + FormatGoDuration(left) +
                                 "; it began with: " + why->message + ")"});
  }
  const auto target = parts_.groups.TargetSize(group.id);
  int wanted = 1;
  if (target.ok() && *target >= group.max_size) {
    obstacles.push_back({.kind = ChangeKind::kRaiseMaxSize,
                         .amount = *target + 1,
                         .text = "its max size were " + std::to_string(*target + 1)});
  } else if (target.ok() && parts_.options_of(group.id).zero_or_max_node_scaling) {
    wanted = group.max_size - *target;
  }
  const int limit = parts_.limits.max_nodes_total;
  const int64_t needed =
      std::max<int64_t>(static_cast<int64_t>(ready) + 1, static_cast<int64_t>(nodes) + wanted);
  if (limit > 0 && needed > limit) {
    obstacles.push_back({.kind = ChangeKind::kRaiseNodesTotal,
                         .amount = needed,
                         .text = "--max-nodes-total were " + std::to_string(needed)});
  }
  for (const auto& [resource, missing] : quotas.Missing({&node, group.id}, wanted)) {
    const bool cores = resource == model::kCpu;
    const std::string amount = cores
                                   ? std::to_string(missing)
                                   : model::AmountText(resource, missing);  // cores are whole here
    const std::string flag = cores                        ? "--cores-total"
                             : resource == model::kMemory ? "--memory-total"
                                                          : "--gpu-total for " + resource;
    obstacles.push_back({.kind = ChangeKind::kRaiseLimit,
                         .subject = resource,
                         .amount = missing,
                         .text = "the maximum of " + flag + " were " + amount + " higher"});
  }
  return obstacles;
}

model::Verdict NearestMiss::Ask(Trial& trial, const model::Pod& pod, int64_t more_pods) {
  --checks_left_;
  cluster::Snapshot& snapshot = parts_.search.snapshot();
  const auto fork = snapshot.Fork();
  if (more_pods > 0) {
    model::Node roomier = trial.node_template.node;
    model::Quantity pods = model::Quantity::FromUnits(more_pods);
    if (const model::Quantity* has = roomier.status.allocatable.Find(model::kPods)) pods.Add(*has);
    roomier.status.allocatable[model::kPods] = pods;
    snapshot.UpdateNode(trial.node, roomier);
  }
  return parts_.search.Check(snapshot.AddPod(pod), trial.node);
}

std::optional<ChangeSet> NearestMiss::Fit(Trial& trial, const model::Pod& pod) {
  ChangeSet changes;
  model::Pod current = pod;
  int64_t more_pods = 0;
  model::Verdict verdict = Ask(trial, current, more_pods);
  for (int step = 0; step < kMostSteps && !verdict.yes(); ++step) {
    struct Next {
      ChangeSet way;
      model::Pod pod;
      int64_t more_pods;
      model::Verdict verdict;
    };
    std::optional<Next> next;
    for (ChangeSet& way :
         parts_.search.chain().WaysAround(verdict.refusal(), current, trial.node_template.node)) {
      if (checks_left_ <= 0) return std::nullopt;
      model::Pod changed = current;
      int64_t more = more_pods;
      const bool applied = std::ranges::all_of(way, [&](const Change& change) {
        if (change.kind != ChangeKind::kRaiseMaxPods) return Apply(change, changed);
        more += change.amount;
        return true;
      });
      if (!applied) continue;
      model::Verdict answer = Ask(trial, changed, more);
      const bool helped = answer.yes();
      // Another filter has the word now: this one is content.
      if (helped || (!next && answer.plugin() != verdict.plugin())) {
        next = Next{std::move(way), std::move(changed), more, std::move(answer)};
      }
      if (helped) break;
    }
    if (!next) return std::nullopt;
    std::ranges::move(next->way, std::back_inserter(changes));
    current = std::move(next->pod);
    more_pods = next->more_pods;
    verdict = std::move(next->verdict);
  }
  if (!verdict.yes()) return std::nullopt;
  return changes;
}

void NearestMiss::Explain(report::ScaleUp& scale_up, const std::vector<Quotas::NodeOf>& nodes,
                          size_t ready, TimePoint now) {
  std::vector<report::Unhelped*> kinds;
  for (auto* list : {&scale_up.unhelped, &scale_up.unserved}) {
    for (report::Unhelped& kind : *list) {
      if (!kind.pods.empty()) kinds.push_back(&kind);
    }
  }
  const std::vector<cloud::GroupInfo> groups = parts_.groups.Groups();
  const int budget = parts_.explain_checks;
  if (kinds.empty() || groups.empty() || budget == 0) return;
  checks_left_ = budget < 0 ? std::numeric_limits<int>::max() : budget;
  // Whole kinds, so that the nearest of all groups is the nearest.
  const size_t per_kind = groups.size() * kUsualChecks;
  const size_t count =
      budget < 0 ? kinds.size()
                 : std::clamp<size_t>(static_cast<size_t>(budget) / per_kind, 1, kinds.size());
  if (next_ >= kinds.size() || count == kinds.size()) next_ = 0;
  std::vector<report::Unhelped*> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(kinds[(next_ + i) % kinds.size()]);
  next_ = (next_ + count) % kinds.size();

  Quotas quotas = Quotas::ToMaxima(parts_.limits, nodes, parts_.groups.GpuLabel());
  cluster::Snapshot& snapshot = parts_.search.snapshot();
  for (const cloud::GroupInfo& group : groups) {
    const TemplatePtr node_template = parts_.templates.Find(group.id);
    if (node_template == nullptr) continue;
    const auto fork = snapshot.Fork();
    const auto node = pack::AddTo(snapshot, *node_template);
    if (!node.ok()) continue;
    const ChangeSet obstacles =
        Obstacles(group, node_template->node, quotas, nodes.size(), ready, now);
    Trial trial{*node_template, *node};
    for (report::Unhelped* kind : chosen) {
      if (checks_left_ <= 0) break;
      const model::Pod& pod = *kind->pods.front();
      std::optional<ChangeSet> changes;
      if (pod.spec.volumes.empty()) {
        const auto key = [&] {
          const auto lookup = snapshot.Fork();
          const cluster::PodView view = snapshot.pod(snapshot.AddPod(pod));
          return std::make_pair(view.spec_id, view.label_set_id);
        }();
        auto known = trial.answered.find(key);
        if (known == trial.answered.end())
          known = trial.answered.emplace(key, Fit(trial, pod)).first;
        changes = known->second;
      } else {
        changes = Fit(trial, pod);
      }
      if (!changes) continue;
      ChangeSet all = obstacles;
      std::ranges::move(*changes, std::back_inserter(all));
      if (!all.empty()) kind->misses.push_back({group.id, std::move(all)});
    }
  }
  for (report::Unhelped* kind : chosen) {
    const auto effort = [&](const report::NearMiss& miss) {
      double sum = 0;
      for (const Change& change : miss.changes) sum += Effort(change, *kind->pods.front());
      return sum;
    };
    std::ranges::stable_sort(kind->misses, [&](const auto& a, const auto& b) {
      if (a.changes.size() != b.changes.size()) return a.changes.size() < b.changes.size();
      return effort(a) < effort(b);
    });
  }
}

}  // namespace coppice::autoscale
