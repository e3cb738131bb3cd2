// FlatMap<V>: text to V, as one vector sorted by key. Kubernetes' maps are small, are read far more
// often than written and arrive sorted from the API server, so appending is the common case of
// inserting.

#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coppice::model {

template <class V>
class FlatMap {
 public:
  using value_type = std::pair<std::string, V>;
  using const_iterator = typename std::vector<value_type>::const_iterator;
  using iterator = typename std::vector<value_type>::iterator;

  FlatMap() = default;
  FlatMap(std::initializer_list<value_type> entries) {
    for (const auto& [key, value] : entries) (*this)[key] = value;
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  iterator begin() { return entries_.begin(); }  // change values only, never keys
  iterator end() { return entries_.end(); }

  const_iterator find(std::string_view key) const {
    const auto it = LowerBound(entries_.begin(), entries_.end(), key);
    return it != entries_.end() && it->first == key ? it : entries_.end();
  }
  const V* Find(std::string_view key) const {  // null if absent
    const auto it = find(key);
    return it == entries_.end() ? nullptr : &it->second;
  }
  bool contains(std::string_view key) const { return find(key) != entries_.end(); }

  V& operator[](std::string_view key) {
    if (entries_.empty() || entries_.back().first < key) {
      return entries_.emplace_back(std::string(key), V{}).second;
    }
    const auto it = LowerBound(entries_.begin(), entries_.end(), key);
    if (it->first == key) return it->second;
    return entries_.emplace(it, std::string(key), V{})->second;
  }
  bool erase(std::string_view key) {
    const auto it = find(key);
    if (it == entries_.end()) return false;
    entries_.erase(it);
    return true;
  }

  // For whoever fills a map in bulk and wants to reuse its memory: write to the entries in any
  // order, then say how many of them count. Of several with one key the last one stays.
  std::vector<value_type>& raw_entries() { return entries_; }
  void Settle(size_t count) {
    entries_.resize(count);
    const auto not_before = [](const value_type& a, const value_type& b) {
      return a.first >= b.first;
    };
    if (std::ranges::adjacent_find(entries_, not_before) == entries_.end()) return;
    std::vector<size_t> order(count);  // not stable_sort: clang calls libstdc++'s deprecated
    for (size_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::sort(order, [this](size_t a, size_t b) {
      return entries_[a].first != entries_[b].first ? entries_[a].first < entries_[b].first : a < b;
    });
    std::vector<value_type> sorted;
    for (const size_t i : order) {
      if (!sorted.empty() && sorted.back().first == entries_[i].first) sorted.pop_back();
      sorted.push_back(std::move(entries_[i]));
    }
    entries_ = std::move(sorted);
  }

  friend bool operator==(const FlatMap&, const FlatMap&) = default;

 private:
  template <class It>
  static It LowerBound(It first, It last, std::string_view key) {
    return std::lower_bound(first, last, key, [](const value_type& entry, std::string_view k) {
      return entry.first < k;
    });
  }

  std::vector<value_type> entries_;
};

using Labels = FlatMap<std::string>;

}  // namespace coppice::model
