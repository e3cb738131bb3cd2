// PlanMemory: what a filter worked out for a pod's spec shape and labels, kept in Snapshot::Memory.
//
// Parsing selectors and finding counters happens once per kind of pod; preparing the next pod of
// the kind is a look-up.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "cluster/id_table.h"
#include "cluster/snapshot.h"

namespace coppice::fit {

template <class Plan>
class PlanMemory {
 public:
  // The memory of filter `id` about this snapshot; what was remembered for another `version` is
  // forgotten.
  static PlanMemory& Of(const cluster::Snapshot& snapshot, uint64_t id, uint64_t version = 0) {
    std::shared_ptr<void>& slot = snapshot.Memory(id);
    if (!slot || static_cast<PlanMemory*>(slot.get())->version_ != version) {
      auto fresh = std::make_shared<PlanMemory>();
      fresh->version_ = version;
      slot = std::move(fresh);
    }
    return *static_cast<PlanMemory*>(slot.get());
  }

  // The plan for the pod's kind; make(pod) is called if there is none yet.
  template <class Make>
  const Plan& For(const cluster::PodView& pod, Make make) {
    const uint64_t hash =
        ((uint64_t{pod.spec_id} << 32) | pod.label_set_id) * 0x9E3779B97F4A7C15u >> 7;
    const uint32_t known = table_.Find(hash, [&](uint32_t i) {
      return entries_[i].spec == pod.spec_id && entries_[i].labels == pod.label_set_id;
    });
    if (known != cluster::IdTable::kAbsent) return entries_[known].plan;
    entries_.push_back({pod.spec_id, pod.label_set_id, make(pod)});
    table_.Insert(hash, static_cast<uint32_t>(entries_.size() - 1));
    return entries_.back().plan;
  }

 private:
  struct Entry {
    cluster::SpecId spec;
    cluster::LabelSetId labels;
    Plan plan;
  };
  uint64_t version_ = 0;
  std::deque<Entry> entries_;
  cluster::IdTable table_;
};

}  // namespace coppice::fit
