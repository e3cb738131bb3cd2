#include "drain/memory.h"

#include <algorithm>

#include "model/pod_kinds.h"

namespace coppice::drain {

PodTraits::Traits PodTraits::Read(const model::Pod& pod) {
  return {.known = true,
          .daemon_set = model::IsDaemonSetPod(pod),
          .mirror = model::IsMirrorPod(pod),
          .system = pod.metadata.namespace_ == "kube-system"};
}

// Rules that last are asked once. A verdict that waits for others (overrides) is left to JudgePod.
Verdict Memory::Judge(Said& said, const model::Pod& pod, const Context& context) const {
  for (size_t i = said.from; i < rules_.size(); ++i) {
    Verdict verdict = rules_[i].judge(pod, context);
    if (!verdict.overrides.empty()) {
      said.from = 0;
      return JudgePod(rules_, pod, context);
    }
    verdict.rule = rules_[i].name;
    const bool lasting = rules_[i].lasts && said.from == i;
    if (verdict.outcome != Outcome::kUndefined) {
      said.final = lasting && verdict.outcome != Outcome::kBlock;  // a block has a text
      said.outcome = verdict.outcome;
      return verdict;
    }
    if (lasting) said.from = static_cast<uint8_t>(i + 1);
  }
  // Past the last rule: nobody minds, now and, if all rules last, later.
  said.final = said.from == rules_.size();
  said.outcome = Outcome::kUndefined;
  said.budgets = context.budgets.version();
  return {};
}

IndexesToMove Memory::Sort(const cluster::World& world, const std::vector<cluster::PodIndex>& pods,
                           const Context& context) {
  IndexesToMove result;
  result.movable.reserve(pods.size());
  const cluster::Snapshot& snapshot = world.snapshot();
  if (id_epoch_ != snapshot.id_epoch()) Forget();
  id_epoch_ = snapshot.id_epoch();
  if (said_.size() < snapshot.interner().eviction_count())
    said_.resize(snapshot.interner().eviction_count());
  for (const cluster::PodIndex pod : pods) {
    const cluster::World::PodEntry* entry = world.EntryOf(pod);
    if (entry == nullptr) continue;
    Said& said = said_[snapshot.eviction_id(pod)];
    Outcome outcome = said.outcome;
    bool daemon = said.daemon;
    if (!said.final && said.budgets != context.budgets.version()) {
      const PodTraits::Traits& traits = traits_.Of(snapshot, pod, *entry->pod);
      daemon = said.daemon = traits.daemon_set;
      Verdict verdict = Judge(said, *entry->pod, context);
      outcome = verdict.outcome;
      // By the clock, for what is known of its kind is not enough: nothing is remembered.
      if (snapshot.terminating(pod) || (traits.system && !traits.daemon_set)) said = {};
      if (outcome == Outcome::kBlock) {
        result.blocking = pod;
        result.blocked_by = std::move(verdict);
        return result;
      }
    }
    switch (outcome) {
      case Outcome::kUndefined:
      case Outcome::kOk:
        (daemon ? result.daemon_set : result.movable).push_back(pod);
        break;
      case Outcome::kWaitForCompletion:
        result.on_completion.push_back(pod);
        break;
      case Outcome::kSkip:
      case Outcome::kBlock:
        break;
    }
  }
  return result;
}

}  // namespace coppice::drain
