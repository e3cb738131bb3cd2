// Snapshot: pods, and where they are.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/canonical.h"
#include "cluster/snapshot.h"

namespace coppice::cluster {
namespace {

uint64_t NameHash(std::string_view namespace_, std::string_view name) {
  return HashBytes(namespace_) * 31 + HashBytes(name);
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
  const LabelSet& labels = interner_.label_set(record.labels);
  return {.index = index,
          .name = identity.name,
          .namespace_ = labels.namespace_,
          .uid = identity.uid,
          .wanted_node = identity.wanted_node,
          .terminating = record.terminating,
          .unkept_hash = identity.unkept_hash,
          .node = record.node,
          .spec_id = record.spec,
          .label_set_id = record.labels,
          .volume_set_id = record.volumes,
          .spec = interner_.spec(record.spec),
          .label_set = labels,
          .volumes = interner_.volume_set(record.volumes),
          .owner = identity.owner == kNone ? nullptr : &interner_.owner(identity.owner)};
}

Snapshot::PodState Snapshot::StateOf(const model::Pod& object) {
  PodState state{.spec = interner_.Spec(object),
                 .labels = interner_.Labels(object.metadata.namespace_, object.metadata.labels),
                 .volumes = interner_.Volumes(object),
                 .terminating = object.metadata.deletion_timestamp.has_value(),
                 .identity = {.name = object.metadata.name,
                              .uid = object.metadata.uid,
                              .wanted_node = object.spec.node_name,
                              .unkept_hash = object.spec.unkept_hash,
                              .owner = interner_.Owner(model::ControllerOf(object.metadata))}};
  resources_.LearnSpec(state.spec, interner_.spec(state.spec));
  if (claim_users_.size() < interner_.claim_count()) claim_users_.resize(interner_.claim_count());
  return state;
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
                  .terminating = state.terminating};
  identities_[index] = std::move(state.identity);
  ShowPod(index);
  Log({.step = Step::kAddedPod, .subject = index});
  return index;
}

PodIndex Snapshot::AddPod(const model::Pod& pod) { return NewPod(StateOf(pod)); }

PodIndex Snapshot::AddPod(const model::Pod& pod, NodeIndex node) {
  PodState state = StateOf(pod);
  state.identity.wanted_node.clear();
  const PodIndex index = NewPod(std::move(state));
  Place(index, node);
  return index;
}

PodIndex Snapshot::CopyPod(PodIndex pod) {
  CHECK(IsKnown(pod));
  const PodRecord& record = pods_[pod];
  return NewPod(
      {.spec = record.spec,
       .labels = record.labels,
       .volumes = record.volumes,
       .terminating = record.terminating,
       .identity = {.unkept_hash = identities_[pod].unkept_hash, .owner = identities_[pod].owner}});
}

void Snapshot::UpdatePod(PodIndex pod, const model::Pod& object) {
  CHECK(IsKnown(pod));
  PodState state = StateOf(object);
  if (pods_[pod].node != kNone) state.identity.wanted_node.clear();
  SwapPodState(pod, state);
  old_pods_.push_back(std::move(state));
  Log({.step = Step::kUpdatedPod, .subject = pod});
  ++loosened_;
}

void Snapshot::RemovePod(PodIndex pod) {
  CHECK(IsKnown(pod));
  if (pods_[pod].node != kNone) Unplace(pod);
  HidePod(pod);
  Log({.step = Step::kRemovedPod, .subject = pod});
}

void Snapshot::Place(PodIndex pod, NodeIndex node) {
  CHECK(IsKnown(pod) && pods_[pod].node == kNone && IsLive(node));
  Attach(pod, node, static_cast<uint32_t>(nodes_[node].pods.size()));
  Log({.step = Step::kPlaced, .subject = pod});
}

void Snapshot::Unplace(PodIndex pod) {
  CHECK(IsKnown(pod) && pods_[pod].node != kNone);
  const NodeIndex node = pods_[pod].node;
  const uint32_t slot = Detach(pod);
  Log({.step = Step::kUnplaced, .subject = pod, .node = node, .slot = slot});
  ++loosened_;
}

// A pod leaves its slot to the last one of the node, and takes it back from there: so undoing
// restores the very order of the node's pods.
void Snapshot::Attach(PodIndex pod, NodeIndex node, uint32_t slot) {
  std::vector<PodIndex>& pods = nodes_[node].pods;
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
  counters_->OnPod(record.spec, record.labels, record.terminating, node, sign);
  const bool ports = !interner_.spec(record.spec).host_ports.empty();
  if (!ports && record.volumes == 0) return;
  std::unique_ptr<SpecialPods>& special = nodes_[node].special;
  if (!special) special = std::make_unique<SpecialPods>();
  const auto keep = [&](std::vector<PodIndex>& list) {
    sign > 0 ? list.push_back(pod) : EraseOne(list, pod);
  };
  if (ports) keep(special->with_ports);
  if (record.volumes != 0) keep(special->with_volumes);
  for (ClaimId claim : interner_.volume_set(record.volumes).claims) {
    claim_users_[claim] += static_cast<uint32_t>(sign);
  }
}

void Snapshot::ShowPod(PodIndex pod) {
  PodRecord& record = pods_[pod];
  record.known = true;
  ++known_pods_;
  const std::string& name = identities_[pod].name;
  record.named = !name.empty();
  if (!record.named) return;
  // Pods of one name are a chain behind one entry of the table.
  const std::string& namespace_ = interner_.label_set(record.labels).namespace_;
  const uint64_t hash = NameHash(namespace_, name);
  const PodIndex head = pod_names_.Find(hash, [&](uint32_t id) {
    return identities_[id].name == name &&
           interner_.label_set(pods_[id].labels).namespace_ == namespace_;
  });
  record.next_same_name = head;
  head == kNone ? pod_names_.Insert(hash, pod) : pod_names_.Replace(hash, head, pod);
}

void Snapshot::HidePod(PodIndex pod) {
  PodRecord& record = pods_[pod];
  record.known = false;
  --known_pods_;
  if (!record.named) return;
  const std::string& name = identities_[pod].name;
  const std::string& namespace_ = interner_.label_set(record.labels).namespace_;
  const uint64_t hash = NameHash(namespace_, name);
  PodIndex before = pod_names_.Find(hash, [&](uint32_t id) {
    return identities_[id].name == name &&
           interner_.label_set(pods_[id].labels).namespace_ == namespace_;
  });
  if (before == pod) {
    record.next_same_name == kNone ? pod_names_.Erase(hash, pod)
                                   : pod_names_.Replace(hash, pod, record.next_same_name);
  } else {
    while (pods_[before].next_same_name != pod) before = pods_[before].next_same_name;
    pods_[before].next_same_name = record.next_same_name;
  }
  record.next_same_name = kNone;
}

void Snapshot::SwapPodState(PodIndex pod, PodState& state) {
  PodRecord& record = pods_[pod];
  const NodeIndex node = record.node;
  const uint32_t slot = node == kNone ? 0 : Detach(pod);
  HidePod(pod);
  std::swap(record.spec, state.spec);
  std::swap(record.labels, state.labels);
  std::swap(record.volumes, state.volumes);
  std::swap(record.terminating, state.terminating);
  std::swap(identities_[pod], state.identity);
  ShowPod(pod);
  if (node != kNone) Attach(pod, node, slot);
}

std::vector<PodIndex> Snapshot::FindPods(std::string_view namespace_, std::string_view name) const {
  std::vector<PodIndex> found;
  PodIndex pod = pod_names_.Find(NameHash(namespace_, name), [&](uint32_t id) {
    return identities_[id].name == name &&
           interner_.label_set(pods_[id].labels).namespace_ == namespace_;
  });
  for (; pod != kNone; pod = pods_[pod].next_same_name) found.push_back(pod);
  std::ranges::sort(found);
  return found;
}

}  // namespace coppice::cluster
