// SpecKey: a text that is equal for equal parts of objects, to find twins by. Not for people.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace coppice::provision {

class SpecKey {
 public:
  SpecKey& Text(std::string_view text) {
    Number(text.size());
    bytes_ += text;
    return *this;
  }
  SpecKey& Number(uint64_t number) {  // seven bits at a time: most are small
    for (; number >= 128; number >>= 7) bytes_ += static_cast<char>(number | 128);
    bytes_ += static_cast<char>(number);
    return *this;
  }
  template <class T>
  SpecKey& Maybe(const std::optional<T>& value) {
    Number(value ? 1 : 0);
    if (value) Add(*value);
    return *this;
  }
  template <class T>
  SpecKey& Add(const std::vector<T>& all) {
    Number(all.size());
    for (const T& one : all) Add(one);
    return *this;
  }

  SpecKey& Add(const std::string& text) { return Text(text); }
  SpecKey& Add(int32_t number) { return Number(static_cast<uint32_t>(number)); }
  SpecKey& Add(const model::Labels& labels);
  SpecKey& Add(const model::ResourceList& resources);
  SpecKey& Add(const model::Toleration& toleration);
  SpecKey& Add(const model::NodeSelectorRequirement& requirement);
  SpecKey& Add(const model::NodeSelectorTerm& term);
  SpecKey& Add(const model::LabelSelectorRequirement& requirement);
  SpecKey& Add(const model::LabelSelector& selector);
  SpecKey& Add(const model::PodAffinityTerm& term);
  SpecKey& Add(const model::TopologySpreadConstraint& constraint);
  SpecKey& Add(const model::Affinity& affinity);
  SpecKey& Add(const model::Container& container);
  SpecKey& Add(const model::ContainerStatus& status);

  std::string Take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// All that decides where a pod may go and what it does to others there. Pods with equal keys are
// twins: any of them stands for all.
std::string TwinKey(const model::Pod& pod);

}  // namespace coppice::provision
