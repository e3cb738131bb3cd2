// Snapshot: a copy to plan on, while the original goes on.

#include "cluster/snapshot.h"

namespace coppice::cluster {

void Snapshot::LearnSpecs() {
  // A copy may have interned some that were never seen here.
  for (SpecId spec = resources_.spec_count(); spec < interner_->spec_count(); ++spec)
    resources_.LearnSpec(interner_->spec(spec));
}

std::unique_ptr<Snapshot> Snapshot::Copy() const {
  auto copy = std::make_unique<Snapshot>(facts_);
  copy->interner_ = interner_;
  copy->resources_ = resources_;
  copy->nodes_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const NodeRecord& from = nodes_[i];
    NodeRecord& to = copy->nodes_[i];
    to.pods = from.pods;
    to.facts = from.facts;
    if (from.special) to.special = std::make_unique<SpecialPods>(*from.special);
    to.slot = from.slot;
  }
  copy->shape_of_ = shape_of_;
  copy->order_ = order_;
  copy->free_nodes_ = free_nodes_;
  copy->slots_ = slots_;
  copy->live_slots_ = live_slots_;
  copy->content_ = content_;
  copy->next_content_ = next_content_;
  copy->node_names_ = node_names_;
  copy->pods_ = pods_;
  copy->identities_ = identities_;
  copy->free_pods_ = free_pods_;
  copy->known_pods_ = known_pods_;
  copy->claim_users_ = claim_users_;
  copy->tainted_shapes_ = tainted_shapes_;
  // Only who keeps others away has to be counted at once.
  for (const PodRecord& pod : copy->pods_) {
    if (pod.known && pod.node != kNone)
      copy->counters_->OnPod(pod.spec, pod.labels, pod.terminating != 0, pod.node, 1);
  }
  return copy;
}

}  // namespace coppice::cluster
