// Canonical bytes of values: equal values give equal bytes, different ones different bytes.
// Interning compares them, so that no hash has to be trusted.

#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/pod.h"
#include "model/resources.h"

namespace coppice::cluster {

uint64_t HashBytes(std::string_view bytes);

class Canonical {
 public:
  Canonical() = default;
  Canonical(const Canonical&) {}  // a scratch pad: whoever copies its owner begins on a clean one
  Canonical& operator=(const Canonical&) = delete;

  std::string_view bytes() const { return {buffer_.get(), size_}; }
  void clear() { size_ = 0; }

  void Add(std::string_view text) {
    char* at = Room(text.size() + 10);
    at = Number(at, text.size());
    std::memcpy(at, text.data(), text.size());
    size_ = static_cast<size_t>(at - buffer_.get()) + text.size();
  }
  void Add(const std::string& text) { Add(std::string_view(text)); }
  void Add(bool flag) {
    *Room(1) = flag ? '\1' : '\0';
    ++size_;
  }
  void Add(int32_t number) { Add(int64_t{number}); }
  void Add(int64_t number) { AddNumber(static_cast<uint64_t>(number)); }

  template <class T>
  void Add(const std::vector<T>& values) {
    AddNumber(values.size());
    for (const T& value : values) Add(value);
  }
  template <class T>
  void Add(const std::optional<T>& value) {
    Add(value.has_value());
    if (value) Add(*value);
  }
  template <class T>
  void Add(const model::Rare<T>& value) {
    Add(value.has_value());
    if (value) Add(*value);
  }
  template <class V>
  void Add(const model::FlatMap<V>& map) {
    AddNumber(map.size());
    for (const auto& [key, value] : map) {
      Add(key);
      Add(value);
    }
  }

  void Add(const model::Quantity& quantity);
  void AddRequests(const model::ResourceRequirements& resources) { Add(resources.requests); }
  void Add(const model::PodRequests& requests);
  void Add(const model::NodeSelectorRequirement& requirement);
  void Add(const model::NodeSelectorTerm& term);
  void Add(const model::NodeSelector& selector) { Add(selector.node_selector_terms); }
  void Add(const model::PreferredSchedulingTerm& term);
  void Add(const model::NodeAffinity& affinity);
  void Add(const model::LabelSelectorRequirement& requirement);
  void Add(const model::LabelSelector& selector);
  void Add(const model::PodAffinityTerm& term);
  void Add(const model::WeightedPodAffinityTerm& term);
  void Add(const model::PodAffinity& affinity);
  void Add(const model::Affinity& affinity);
  void Add(const model::Toleration& toleration);
  void Add(const model::TopologySpreadConstraint& constraint);
  void Add(const model::Taint& taint);  // without time_added
  void Add(const model::Volume& volume);

 private:
  void AddNumber(uint64_t number) {
    char* at = Number(Room(10), number);
    size_ = static_cast<size_t>(at - buffer_.get());
  }

  // Seven bits at a time: lengths are mostly one byte.
  static char* Number(char* at, uint64_t number) {
    while (number >= 0x80) {
      *at++ = static_cast<char>(number | 0x80);
      number >>= 7;
    }
    *at++ = static_cast<char>(number);
    return at;
  }

  // Where to write up to `bytes` more. A bare buffer, for this runs some hundred times per pod.
  char* Room(size_t bytes) {
    if (size_ + bytes > capacity_) Grow(bytes);
    return buffer_.get() + size_;
  }
  void Grow(size_t bytes);

  std::unique_ptr<char[]> buffer_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace coppice::cluster
