// Counting: an estimate by arithmetic, for pods that ask for nothing but room.
//
// A pod without spread, affinity, host ports and volumes fits a fresh node of the template or not,
// and after that only what is left of each resource counts. So nodes are rows of numbers and
// nothing is tried on the snapshot; the answer, and where the next search starts, are those of
// trying it pod by pod, only that a placement costs ten nanoseconds.

#pragma once

#include <optional>
#include <vector>

#include "pack/estimator.h"

namespace coppice::pack {

class Counting {
 public:
  // Absent: some pod asks for more than room, so that only trying can tell. `kinds` in the order in
  // which they are to be placed.
  static std::optional<Counting> For(fit::Search& search, const std::vector<const PodKind*>& kinds,
                                     const NodeTemplate& node_template);

  Estimate Run(Limiter limiter);

 private:
  struct Amount {
    size_t column;
    int64_t amount;
  };
  // Pods of one spec shape.
  struct Shape {
    bool fits_fresh = false;
    std::vector<Amount> asks;
    std::vector<Amount> takes;
    std::vector<uint64_t> full;  // nodes that have no room for it any more, a bit each
  };
  static constexpr size_t kNowhere = static_cast<size_t>(-1);

  Counting(fit::Search& search, const std::vector<const PodKind*>& kinds)
      : search_(&search), kinds_(&kinds), first_position_(search.snapshot().nodes().size()) {}

  bool Learn(const NodeTemplate& node_template);
  bool LearnShape(const PodKind& kind, cluster::NodeIndex fresh);
  size_t ColumnOf(cluster::ResourceId resource);

  bool HasRoom(Shape& shape, size_t node);
  size_t Find(Shape& shape);  // as Search::Find does among the nodes added here
  size_t FindIn(Shape& shape, size_t begin, size_t end);
  void AddNode();
  void Place(const fit::PendingPod& pod, const Shape& shape, size_t node);
  bool PlaceKind(const PodKind& kind, bool more_nodes, Limiter& limiter);

  fit::Search* search_;
  const std::vector<const PodKind*>* kinds_;
  size_t first_position_;
  std::vector<cluster::ResourceId> columns_;
  std::vector<int64_t> fresh_;                // what is left of a fresh node, by column
  std::vector<std::optional<Shape>> shapes_;  // by spec
  std::vector<int64_t> free_;                 // node by node
  std::vector<int> pods_on_;                  // by node
  Estimate result_;
};

}  // namespace coppice::pack
