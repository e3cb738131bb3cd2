#include "autoscale/drain_memory.h"

#include <algorithm>

#include "pack/pod_kinds.h"

namespace coppice::autoscale {

// Rules that last are asked once. A verdict that waits for others (overrides) is left to JudgePod.
DrainVerdict DrainMemory::Judge(Said& said, const model::Pod& pod,
                                const DrainContext& context) const {
  for (size_t i = said.from; i < rules_.size(); ++i) {
    DrainVerdict verdict = rules_[i].judge(pod, context);
    if (!verdict.overrides.empty()) {
      said.from = 0;
      return JudgePod(rules_, pod, context);
    }
    verdict.rule = rules_[i].name;
    const bool lasting = rules_[i].lasts && said.from == i;
    if (verdict.outcome != DrainOutcome::kUndefined) {
      said.final = lasting && verdict.outcome != DrainOutcome::kBlock;  // a block has a text
      said.outcome = verdict.outcome;
      return verdict;
    }
    if (lasting) said.from = static_cast<uint8_t>(i + 1);
  }
  // Past the last rule: nobody minds, now and later.
  said.final = said.from == rules_.size();
  return {};
}

IndexesToMove DrainMemory::Sort(const cluster::World& world,
                                const std::vector<cluster::PodIndex>& pods,
                                const DrainContext& context) {
  IndexesToMove result;
  result.movable.reserve(pods.size());
  if (said_.size() < world.snapshot().pod_bound()) said_.resize(world.snapshot().pod_bound());
  for (const cluster::PodIndex pod : pods) {
    Said& said = said_[pod];
    DrainOutcome outcome = said.outcome;
    if (!said.final) {
      const cluster::World::PodEntry* entry = world.EntryOf(pod);
      if (entry == nullptr) continue;
      if (!said.known) {
        said.daemon = pack::IsDaemonSetPod(*entry->pod);
        said.known = true;
      }
      DrainVerdict verdict = Judge(said, *entry->pod, context);
      outcome = verdict.outcome;
      if (outcome == DrainOutcome::kBlock) {
        result.blocking = pod;
        result.blocked_by = std::move(verdict);
        return result;
      }
    }
    switch (outcome) {
      case DrainOutcome::kUndefined:
      case DrainOutcome::kOk:
        (said.daemon ? result.daemon_set : result.movable).push_back(pod);
        break;
      case DrainOutcome::kWaitForCompletion:
        result.on_completion.push_back(pod);
        break;
      case DrainOutcome::kSkip:
      case DrainOutcome::kBlock:
        break;
    }
  }
  return result;
}

}  // namespace coppice::autoscale
