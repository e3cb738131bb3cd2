// Canonical bytes of values: equal values give equal bytes, different ones different bytes.
// Interning compares them, so that no hash has to be trusted.

#pragma once

#include <cstdint>
#include <cstring>
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
  std::string_view bytes() const { return out_; }
  void clear() { out_.clear(); }

  void Add(std::string_view text) {
    Number(text.size());
    out_.append(text);
  }
  void Add(const std::string& text) { Add(std::string_view(text)); }
  void Add(bool flag) { out_.push_back(flag ? '\1' : '\0'); }
  void Add(int32_t number) { Number(static_cast<uint64_t>(static_cast<int64_t>(number))); }
  void Add(int64_t number) { Number(static_cast<uint64_t>(number)); }

  template <class T>
  void Add(const std::vector<T>& values) {
    Number(values.size());
    for (const T& value : values) Add(value);
  }
  template <class T>
  void Add(const std::optional<T>& value) {
    Add(value.has_value());
    if (value) Add(*value);
  }
  template <class V>
  void Add(const model::FlatMap<V>& map) {
    Number(map.size());
    for (const auto& [key, value] : map) {
      Add(key);
      Add(value);
    }
  }

  void Add(const model::Quantity& quantity);
  void Add(const model::ResourceRequirements& resources);
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
  // Seven bits at a time: lengths are mostly one byte.
  void Number(uint64_t number) {
    while (number >= 0x80) {
      out_.push_back(static_cast<char>(number | 0x80));
      number >>= 7;
    }
    out_.push_back(static_cast<char>(number));
  }

  std::string out_;
};

}  // namespace coppice::cluster
