// Snapshot: pods, and where they are.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/canonical.h"
#include "cluster/snapshot.h"

namespace coppice::cluster {
namespace {

uint64_t IdentityHash(const model::ObjectMeta& meta) {
  if (!meta.uid.empty()) return HashBytes(meta.uid);
  return HashBytes(meta.namespace_) * 31 + HashBytes(meta.name);
}

void EraseOne(std::vector<PodIndex>& pods, PodIndex pod) {
  const auto it = std::ranges::find(pods, pod);
  *it = pods.back();
  pods.pop_back();
}

}  // namespace

PodView Snapshot::pod(PodIndex index) const {
  const PodRecord& record = pods_[index];
  const PodIdentity& identity = identities_[index];
  const LabelSet& labels = interner_->label_set(record.labels);
  std::string_view name;
  std::string_view uid;
  std::string_view node_name;
  if (identity.own_names) {
    const auto& names = *static_cast<const OwnNames*>(identity.names.get());
    name = names.name;
    uid = names.uid;
    node_name = names.node_name;
  } else if (const auto* object = static_cast<const model::Pod*>(identity.names.get())) {
    name = object->metadata.name;
    uid = object->metadata.uid;
    node_name = object->spec.node_name;
  }
  return {.index = index,
          .name = name,
          .namespace_ = labels.namespace_,
          .uid = uid,
          .wanted_node = record.wants_node ? node_name : std::string_view(),
          .terminating = record.terminating != 0,
          .unkept_hash = identity.unkept_hash,
          .node = record.node,
          .spec_id = record.spec,
          .label_set_id = record.labels,
          .volume_set_id = record.volumes,
          .spec = interner_->spec(record.spec),
          .label_set = labels,
          .volumes = interner_->volume_set(record.volumes),
          .owner = identity.owner == kNone ? nullptr : &interner_->owner(identity.owner)};
}

void Snapshot::LearnSpecs() {
  for (SpecId spec = resources_.spec_count(); spec < interner_->spec_count(); ++spec)
    resources_.LearnSpec(interner_->spec(spec));
}

Snapshot::PodState Snapshot::Interned(const model::Pod& object, const PodIds& ids) {
  PodState state{.spec = ids.spec,
                 .labels = ids.labels,
                 .volumes = ids.volumes,
                 .eviction = ids.eviction,
                 .identity_hash = IdentityHash(object.metadata),
                 .terminating = object.metadata.deletion_timestamp.has_value(),
                 .wants_node = !object.spec.node_name.empty(),
                 .identity = {.unkept_hash = object.spec.unkept_hash, .owner = ids.owner}};
  if (resources_.spec_count() <= state.spec) LearnSpecs();
  if (claim_users_.size() < interner_->claim_count()) claim_users_.resize(interner_->claim_count());
  return state;
}

Snapshot::PodState Snapshot::StateOf(const model::Pod& object) {
  PodState state = Interned(object, interner_->Ids(object));
  state.identity.names = std::make_shared<const OwnNames>(
      OwnNames{object.metadata.name, object.metadata.uid, object.spec.node_name});
  state.identity.own_names = true;
  return state;
}

Snapshot::PodState Snapshot::StateOf(std::shared_ptr<const model::Pod> object) {
  PodState state = Interned(*object, interner_->Ids(object));
  state.identity.names = std::move(object);
  return state;
}

void Snapshot::ReservePods(size_t more) {
  pods_.reserve(pods_.size() + more);
  identities_.reserve(identities_.size() + more);
}

PodIndex Snapshot::NewPod(PodState state) {
  PodIndex index = pod_bound();
  if (!free_pods_.empty()) {
    index = free_pods_.back();
    free_pods_.pop_back();
  } else {
    pods_.emplace_back();
    identities_.emplace_back();
  }
  pods_[index] = {.spec = state.spec,
                  .labels = state.labels,
                  .volumes = state.volumes,
                  .eviction = state.eviction,
                  .terminating = state.terminating,
                  .wants_node = state.wants_node,
                  .owned = state.identity.owner != kNone,
                  .identity_hash = state.identity_hash};
  pods_[index].special = IsSpecial(pods_[index]);
  identities_[index] = std::move(state.identity);
  ShowPod(index);
  Log({.step = Step::kAddedPod, .subject = index});
  return index;
}

PodIndex Snapshot::AddPod(const model::Pod& pod) { return NewPod(StateOf(pod)); }

PodIndex Snapshot::AddPod(const model::Pod& pod, NodeIndex node) {
  return NewPodOn(StateOf(pod), node);
}

PodIndex Snapshot::AddPod(std::shared_ptr<const model::Pod> pod, NodeIndex node) {
  return NewPodOn(StateOf(std::move(pod)), node);
}

PodIndex Snapshot::NewPodOn(PodState state, NodeIndex node) {
  if (node != kNone) state.wants_node = false;
  const PodIndex index = NewPod(std::move(state));
  if (node != kNone) Place(index, node);
  return index;
}

PodIndex Snapshot::CopyPod(PodIndex pod) {
  CHECK(IsKnown(pod));
  const PodRecord& record = pods_[pod];
  const PodIdentity& identity = identities_[pod];
  return NewPod({.spec = record.spec,
                 .labels = record.labels,
                 .volumes = record.volumes,
                 .eviction = record.eviction,
                 .identity_hash = record.identity_hash,
                 .terminating = record.terminating != 0,
                 .wants_node = false,
                 .identity = {.unkept_hash = identity.unkept_hash, .owner = identity.owner}});
}

void Snapshot::UpdatePod(PodIndex pod, const model::Pod& object) { Update(pod, StateOf(object)); }

void Snapshot::UpdatePod(PodIndex pod, std::shared_ptr<const model::Pod> object) {
  Update(pod, StateOf(std::move(object)));
}

void Snapshot::Update(PodIndex pod, PodState state) {
  CHECK(IsKnown(pod));
  const NodeIndex node = pods_[pod].node;
  if (node != kNone) state.wants_node = false;
  const uint64_t content = node == kNone ? 0 : content_[node];
  SwapPodState(pod, state);
  old_pods_.push_back(std::move(state));
  Log({.step = Step::kUpdatedPod, .subject = pod, .node = node, .content = content});
}

void Snapshot::RemovePod(PodIndex pod) {
  CHECK(IsKnown(pod));
  if (pods_[pod].node != kNone) Unplace(pod);
  HidePod(pod);
  Log({.step = Step::kRemovedPod, .subject = pod});
}

void Snapshot::Place(PodIndex pod, NodeIndex node) {
  CHECK(IsKnown(pod) && pods_[pod].node == kNone && IsLive(node));
  const uint64_t content = content_[node];
  Attach(pod, node, static_cast<uint32_t>(nodes_[node].pods.size()));
  Log({.step = Step::kPlaced, .subject = pod, .node = node, .content = content});
}

void Snapshot::Unplace(PodIndex pod) {
  CHECK(IsKnown(pod) && pods_[pod].node != kNone);
  const NodeIndex node = pods_[pod].node;
  const uint64_t content = content_[node];
  const uint32_t slot = Detach(pod);
  Log({.step = Step::kUnplaced, .subject = pod, .node = node, .slot = slot, .content = content});
}

// A pod leaves its slot to the last one of the node, and takes it back from there: so undoing
// restores the very order of the node's pods.
void Snapshot::Attach(PodIndex pod, NodeIndex node, uint32_t slot) {
  std::vector<PodIndex>& pods = nodes_[node].pods;
  if (pods.capacity() == 0) pods.reserve(32);  // half a small node
  pods.push_back(pod);
  if (slot + 1 < pods.size()) {
    std::swap(pods[slot], pods.back());
    pods_[pods.back()].slot = static_cast<uint32_t>(pods.size() - 1);
  }
  pods_[pod].node = node;
  pods_[pod].slot = slot;
  resources_.Take(node, pods_[pod].spec);
  if (resources_.gives(pods_[pod].spec)) Ease(node);
  Touch(node);
  Count(pod, node, 1);
}

uint32_t Snapshot::Detach(PodIndex pod) {
  PodRecord& record = pods_[pod];
  const NodeIndex node = record.node;
  Count(pod, node, -1);
  resources_.GiveBack(node, record.spec);
  Ease(node);
  Touch(node);
  std::vector<PodIndex>& pods = nodes_[node].pods;
  pods[record.slot] = pods.back();
  pods_[pods.back()].slot = record.slot;
  pods.pop_back();
  record.node = kNone;
  return record.slot;
}

void Snapshot::Count(PodIndex pod, NodeIndex node, int sign) {
  const PodRecord& record = pods_[pod];
  counters_->OnPod(record.spec, record.labels, record.terminating != 0, node, sign);
  if (record.special) CountSpecial(pod, node, sign);
}

void Snapshot::CountSpecial(PodIndex pod, NodeIndex node, int sign) {
  const PodRecord& record = pods_[pod];
  std::unique_ptr<SpecialPods>& special = nodes_[node].special;
  if (!special) special = std::make_unique<SpecialPods>();
  const auto keep = [&](std::vector<PodIndex>& list) {
    sign > 0 ? list.push_back(pod) : EraseOne(list, pod);
  };
  if (!interner_->spec(record.spec).host_ports.empty()) keep(special->with_ports);
  if (record.volumes != 0) keep(special->with_volumes);
  for (ClaimId claim : interner_->volume_set(record.volumes).claims) {
    claim_users_[claim] += static_cast<uint32_t>(sign);
  }
}

void Snapshot::ShowPod(PodIndex pod) {
  pods_[pod].known = true;
  ++known_pods_;
}

void Snapshot::HidePod(PodIndex pod) {
  pods_[pod].known = false;
  --known_pods_;
}

void Snapshot::SwapPodState(PodIndex pod, PodState& state) {
  PodRecord& record = pods_[pod];
  const NodeIndex node = record.node;
  const uint32_t slot = node == kNone ? 0 : Detach(pod);
  std::swap(record.spec, state.spec);
  std::swap(record.labels, state.labels);
  std::swap(record.volumes, state.volumes);
  std::swap(record.eviction, state.eviction);
  std::swap(record.identity_hash, state.identity_hash);
  const bool terminating = state.terminating;
  state.terminating = record.terminating != 0;
  record.terminating = terminating;
  const bool wants_node = state.wants_node;
  state.wants_node = record.wants_node != 0;
  record.wants_node = wants_node;
  std::swap(identities_[pod], state.identity);
  record.owned = identities_[pod].owner != kNone;
  record.special = IsSpecial(record);
  if (node != kNone) Attach(pod, node, slot);
}

std::vector<PodIndex> Snapshot::FindPods(std::string_view namespace_, std::string_view name) const {
  std::vector<PodIndex> found;
  for (PodIndex pod = 0; pod < pod_bound(); ++pod) {
    if (!pods_[pod].known) continue;
    const PodView view = this->pod(pod);
    if (view.name == name && view.namespace_ == namespace_) found.push_back(pod);
  }
  return found;
}

}  // namespace coppice::cluster
