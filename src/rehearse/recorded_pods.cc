#include "rehearse/recorded_pods.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "rehearse/log_lines.h"
#include "wire/wire.h"

namespace coppice::rehearse {
namespace {

// Annotations that decisions read. Everything else may hold anything: kubectl keeps a whole
// manifest with its environment in one.
constexpr std::array<std::string_view, 5> kKept = {"cluster-autoscaler.kubernetes.io/",
                                                   "karpenter.sh/", "scheduling.k8s.io/",
                                                   "scheduling.volcano.sh/", "volcano.sh/"};
// Labels that differ from pod to pod of one set.
constexpr std::array<std::string_view, 3> kOwnLabels = {"statefulset.kubernetes.io/pod-name",
                                                        "apps.kubernetes.io/pod-index",
                                                        "batch.kubernetes.io/job-completion-index"};

bool Ended(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

// {"KEY":"namespace/name"
void PutPod(std::string& lines, std::string_view key, const model::Pod& pod) {
  Put(lines, key, pod.metadata.namespace_ + "/" + pod.metadata.name, true);
}

}  // namespace

model::Pod Anonymous(const model::Pod& pod) {
  model::Pod shape;
  shape.metadata.namespace_ = pod.metadata.namespace_;
  for (const auto& [key, value] : pod.metadata.labels) {
    if (std::ranges::find(kOwnLabels, key) == kOwnLabels.end()) shape.metadata.labels[key] = value;
  }
  for (const auto& [key, value] : pod.metadata.annotations) {
    const auto kept = [&key](std::string_view prefix) { return key.starts_with(prefix); };
    if (std::ranges::any_of(kKept, kept)) shape.metadata.annotations[key] = value;
  }
  if (const model::OwnerReference* owner = model::ControllerOf(pod.metadata)) {
    shape.metadata.owner_references = {*owner};
  }
  shape.spec = pod.spec;
  shape.spec.node_name.clear();
  shape.spec.volumes.clear();
  return shape;
}

void RecordedPods::BeginFile() {
  for (auto& [json, shape] : shapes_) shape = {};
  for (Seen& seen : seen_) {
    seen.told = seen.done;
    if (seen.shape != nullptr) seen.shape->second.used = true;
  }
  std::erase_if(shapes_, [](const auto& shape) { return !shape.second.used; });
  next_shape_ = 0;
  whole_ = false;
}

// Both lists have one order, and who is new comes last: one walk through the two.
void RecordedPods::Look(std::string& lines) {
  shapes_left_ = limits_.shapes;
  size_t kept = 0;
  size_t at = 0;
  std::vector<Seen> fresh;
  for (const Entry* entry : world_.Pods()) {
    for (; at < seen_.size() && seen_[at].place < entry->place; ++at) Leave(seen_[at], lines);
    if (at == seen_.size() || seen_[at].place != entry->place) {
      Visit(fresh.emplace_back(Seen{.place = entry->place}), *entry, lines);
      continue;
    }
    Visit(seen_[at], *entry, lines);
    if (kept != at) seen_[kept] = std::move(seen_[at]);
    ++kept;
    ++at;
  }
  for (; at < seen_.size(); ++at) Leave(seen_[at], lines);
  seen_.resize(kept);
  std::ranges::move(fresh, std::back_inserter(seen_));
  TellSome(lines);
}

void RecordedPods::TellSome(std::string& lines) {
  if (std::exchange(whole_, true)) return;
  size_t told = 0;
  for (Seen& seen : seen_) {
    if (seen.told) continue;
    whole_ = told < limits_.pods && Tell(seen, lines);
    if (!whole_) return;
    ++told;
  }
}

void RecordedPods::Visit(Seen& seen, const Entry& entry, std::string& lines) {
  if (seen.pod == entry.pod) return;
  // Another pod of that name.
  if (seen.pod != nullptr && seen.pod->metadata.uid != entry.pod->metadata.uid) Leave(seen, lines);
  if (seen.pod == nullptr) {
    seen = {.pod = entry.pod, .place = entry.place, .done = Ended(*entry.pod)};
    seen.told = seen.done;
    whole_ = whole_ && seen.told;
  } else {
    Change(seen, entry.pod, lines);
  }
}

void RecordedPods::Change(Seen& seen, const cluster::PodPtr& pod, std::string& lines) {
  seen.pod = pod;
  seen.shape_holds = false;
  if (seen.told && !seen.bound && !pod->spec.node_name.empty()) {
    seen.bound = true;
    PutPod(lines, "bind", *pod);
    Put(lines, "node", pod->spec.node_name);
    lines += "}\n";
  }
  if (seen.done || !Ended(*pod)) return;
  seen.done = true;
  if (!std::exchange(seen.told, true)) return;
  PutPod(lines, "done", *pod);
  lines += "}\n";
}

void RecordedPods::Leave(Seen& seen, std::string& lines) {
  if (seen.told && !seen.done) {
    PutPod(lines, "done", *seen.pod);
    lines += "}\n";
  }
  seen = {};
}

bool RecordedPods::FindShape(Seen& seen) {
  if (seen.shape_holds) return true;
  if (shapes_left_ == 0) return false;
  --shapes_left_;
  seen.shape = &*shapes_.try_emplace(wire::ToJson(Anonymous(*seen.pod))).first;
  seen.shape_holds = true;
  return true;
}

// False: not in this look.
bool RecordedPods::Tell(Seen& seen, std::string& lines) {
  if (!FindShape(seen)) return false;
  const model::Pod& pod = *seen.pod;
  auto& [json, shape] = *seen.shape;
  if (shape.number < 0) {
    shape.number = next_shape_++;
    PutRaw(lines, "shape", std::to_string(shape.number), true);
    PutRaw(lines, "pod", json);
    lines += "}\n";
  }
  seen.told = true;
  seen.bound = !pod.spec.node_name.empty();
  PutPod(lines, "add", pod);
  PutRaw(lines, "shape", std::to_string(shape.number));
  if (pod.metadata.creation_timestamp)
    PutRaw(lines, "created", Milliseconds(pod.metadata.creation_timestamp->at));
  if (seen.bound) Put(lines, "node", pod.spec.node_name);
  lines += "}\n";
  return true;
}

}  // namespace coppice::rehearse
