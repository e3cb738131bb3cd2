// BudgetIndex: which PodDisruptionBudgets mean a pod. Selectors are parsed once and looked at only
// for pods of their namespace.
//
// What a budget allows, and what two of them mean, is read otherwise by each peer: that stays with
// who asks, who also decides about a selector that is malformed. Budgets are told apart by their
// number, in the order in which they were added.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/meta.h"
#include "model/selector.h"

namespace coppice::drain {

class BudgetIndex {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // Gets the next number; the first is 0.
  void Add(std::string_view namespace_, model::Selector selector) {
    by_namespace_[std::string(namespace_)].push_back(entries_.size());
    entries_.push_back({std::string(namespace_), std::move(selector)});
  }
  size_t size() const { return entries_.size(); }

  bool Means(size_t budget, const model::ObjectMeta& pod) const {
    const Entry& entry = entries_[budget];
    return entry.namespace_ == pod.namespace_ && entry.selector.Matches(pod.labels);
  }
  // The first that means the pod and that `wanted(number)` says yes to; kNone if there is none.
  // `wanted` is asked first: a number is compared faster than labels.
  template <class Wanted>
  size_t First(const model::ObjectMeta& pod, Wanted wanted) const {
    const auto there = by_namespace_.find(pod.namespace_);
    if (there == by_namespace_.end()) return kNone;
    for (const size_t budget : there->second) {
      if (wanted(budget) && entries_[budget].selector.Matches(pod.labels)) return budget;
    }
    return kNone;
  }
  // All that mean the pod, by number.
  template <class Visit>
  void ForEach(const model::ObjectMeta& pod, Visit visit) const {
    const auto there = by_namespace_.find(pod.namespace_);
    if (there == by_namespace_.end()) return;
    for (const size_t budget : there->second) {
      if (entries_[budget].selector.Matches(pod.labels)) visit(budget);
    }
  }

 private:
  struct Entry {
    std::string namespace_;
    model::Selector selector;
  };
  std::vector<Entry> entries_;
  std::map<std::string, std::vector<size_t>, std::less<>> by_namespace_;
};

}  // namespace coppice::drain
