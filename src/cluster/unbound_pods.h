// UnboundPods: the pods without a node, in list order. Many come and go, so that a deletion leaves
// a hole until there are many.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace coppice::cluster {

template <class Entry>  // has a `place` in list order, of its own and for life
class UnboundPods {
 public:
  void Insert(Entry* entry) {
    ++live_;
    const Item item{entry->place, entry};
    if (items_.empty() || items_.back().place < entry->place) {
      items_.push_back(item);
      return;
    }
    const auto at = std::ranges::lower_bound(items_, entry->place, {}, &Item::place);
    if (at->place == entry->place) {
      *at = item;  // its own hole
    } else {
      items_.insert(at, item);
    }
  }

  void Erase(const Entry* entry) {
    const auto at = std::ranges::lower_bound(items_, entry->place, {}, &Item::place);
    at->entry = nullptr;
    --live_;
    if (items_.size() > 16 && live_ * 2 < items_.size()) {
      std::erase_if(items_, [](const Item& item) { return item.entry == nullptr; });
    }
  }

  std::vector<const Entry*> List() const {
    std::vector<const Entry*> all;
    all.reserve(live_);
    for (const Item& item : items_) {
      if (item.entry != nullptr) all.push_back(item.entry);
    }
    return all;
  }

 private:
  struct Item {
    uint64_t place;
    Entry* entry;  // null: a hole
  };
  std::vector<Item> items_;
  size_t live_ = 0;
};

}  // namespace coppice::cluster
