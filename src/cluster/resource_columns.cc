#include "cluster/resource_columns.h"

#include <algorithm>

#include "model/resources.h"

namespace coppice::cluster {

ResourceColumns::ResourceColumns() {
  for (std::string_view name :
       {model::kCpu, model::kMemory, model::kEphemeralStorage, model::kPods}) {
    Intern(name);
  }
}

ResourceId ResourceColumns::Intern(std::string_view name) {
  const auto it = std::ranges::find(columns_, name, &Column::name);  // a handful
  if (it != columns_.end()) return static_cast<ResourceId>(it - columns_.begin());
  columns_.push_back(
      {std::string(name), std::vector<int64_t>(nodes_), std::vector<int64_t>(nodes_)});
  return count() - 1;
}

Amounts ResourceColumns::ToAmounts(const model::PodRequests& requests) {
  Amounts amounts;
  const auto add = [&](ResourceId resource, int64_t amount) {
    if (amount != 0) amounts.of.emplace_back(resource, amount);
  };
  add(kPodsColumn, 1);
  add(kCpuColumn, requests.cpu_millis);
  add(kMemoryColumn, requests.memory_bytes);
  add(kEphemeralColumn, requests.ephemeral_bytes);
  for (const auto& [name, amount] : requests.extended) add(Intern(name), amount);
  return amounts;
}

void ResourceColumns::LearnSpec(const PodSpecShape& shape) {
  asked_.push_back(ToAmounts(shape.requests));
  taken_.push_back(ToAmounts(shape.placed));
  constexpr int64_t kMost = int64_t{1} << 50;  // thousands of them still add up
  gives_.push_back(std::ranges::any_of(taken_.back().of, [](const auto& amount) {
    return amount.second < 0 || amount.second > kMost;
  }));
}

void ResourceColumns::ForgetSpecs() {
  asked_.clear();
  taken_.clear();
  gives_.clear();
}

void ResourceColumns::SetOne(ResourceId resource, NodeIndex node, int64_t allocatable) {
  Column& column = columns_[resource];
  column.free[node] = static_cast<int64_t>(static_cast<uint64_t>(column.free[node]) +
                                           static_cast<uint64_t>(allocatable) -
                                           static_cast<uint64_t>(column.allocatable[node]));
  column.allocatable[node] = allocatable;
}

void ResourceColumns::SetAllocatable(NodeIndex node, const model::NodeAmounts& amounts) {
  for (const auto& [name, amount] : amounts.extended) Intern(name);
  if (node >= nodes_) {
    nodes_ = node + 1;
    for (Column& column : columns_) {
      column.allocatable.resize(nodes_);
      column.free.resize(nodes_);
    }
  }
  SetOne(kCpuColumn, node, amounts.cpu_millis);
  SetOne(kMemoryColumn, node, amounts.memory_bytes);
  SetOne(kEphemeralColumn, node, amounts.ephemeral_bytes);
  // Pods are counted, not summed up: what is left must not wrap below the smallest number.
  SetOne(kPodsColumn, node, std::max(amounts.pods, int64_t{-1} << 62));
  for (ResourceId resource = kPodsColumn + 1; resource < count(); ++resource) {
    SetOne(resource, node, amounts.Extended(name(resource)));
  }
}

}  // namespace coppice::cluster
