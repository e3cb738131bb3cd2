// Resource columns: what every node offers and has left, one array of int64 per resource.
//
// cpu in thousandths, the rest in units. cpu, memory, ephemeral storage and pods are always there;
// another resource gets its column when a node or pod first names it. Sums wrap, as Go's do:
// amounts near 2^63 occur in the wild only by mistake, but kube-scheduler's answers to them are
// answers to follow.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/shapes.h"

namespace coppice::cluster {

using ResourceId = uint32_t;
inline constexpr ResourceId kCpuColumn = 0;
inline constexpr ResourceId kMemoryColumn = 1;
inline constexpr ResourceId kEphemeralColumn = 2;
inline constexpr ResourceId kPodsColumn = 3;

// The amounts of one spec shape by column; zeros left out.
struct Amounts {
  std::vector<std::pair<ResourceId, int64_t>> of;
};

class ResourceColumns {
 public:
  ResourceColumns();

  std::string_view name(ResourceId resource) const { return columns_[resource].name; }
  ResourceId count() const { return static_cast<ResourceId>(columns_.size()); }

  // By node index. Pointers are good until the next node or resource arrives.
  const int64_t* free(ResourceId resource) const { return columns_[resource].free.data(); }
  const int64_t* allocatable(ResourceId resource) const {
    return columns_[resource].allocatable.data();
  }

  // What a pod of this spec asks for; "pods" is among it. And what it takes once placed.
  const Amounts& asked(SpecId spec) const { return asked_[spec]; }
  const Amounts& taken(SpecId spec) const { return taken_[spec]; }
  // Taking such an amount can leave more than was there: it is below zero, or so large that sums
  // wrap. Nothing that passes the API server's validation is like that.
  bool gives(SpecId spec) const { return gives_[spec] != 0; }

  SpecId spec_count() const { return static_cast<SpecId>(asked_.size()); }  // that are known
  void LearnSpec(const PodSpecShape& shape);  // the next one; before any other call about it
  void ForgetSpecs();                         // they have other ids now: learn them again
  void SetAllocatable(NodeIndex node,
                      const model::NodeAmounts& amounts);  // what is taken stays taken
  void Take(NodeIndex node, SpecId spec) { Change(node, taken_[spec], uint64_t(-1)); }
  void GiveBack(NodeIndex node, SpecId spec) { Change(node, taken_[spec], 1); }

 private:
  struct Column {
    std::string name;
    std::vector<int64_t> allocatable;
    std::vector<int64_t> free;
  };

  ResourceId Intern(std::string_view name);
  Amounts ToAmounts(const model::PodRequests& requests);
  void SetOne(ResourceId resource, NodeIndex node, int64_t allocatable);

  void Change(NodeIndex node, const Amounts& amounts, uint64_t sign) {
    for (const auto& [resource, amount] : amounts.of) {
      int64_t& cell = columns_[resource].free[node];
      cell =
          static_cast<int64_t>(static_cast<uint64_t>(cell) + sign * static_cast<uint64_t>(amount));
    }
  }

  std::vector<Column> columns_;
  size_t nodes_ = 0;
  std::vector<Amounts> asked_;
  std::vector<Amounts> taken_;
  std::vector<uint8_t> gives_;
};

}  // namespace coppice::cluster
