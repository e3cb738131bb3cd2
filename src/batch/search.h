// Search: which nodes take a task, and which of them is the best.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "batch/fit_errors.h"
#include "batch/heap.h"
#include "batch/session.h"

namespace coppice::batch {

using NodeCheck = std::function<Fit(const Task&, const NodeInfo&)>;

// Asks nodes one by one. Remembers the refusals of a role for its other tasks, for as long as it
// lives: upstream's memory, and part of its answers, for a node that has more room by then is not
// asked again.
class NodeFilter {
 public:
  NodeFilter(Session& session, bool remembers) : session_(session), remembers_(remembers) {}

  struct Found {
    std::vector<NodeInfo*> nodes;  // in the order in which they were asked
    std::shared_ptr<FitErrors> errors;
  };
  Found Filter(const Task& task, std::span<NodeInfo* const> nodes, const NodeCheck& check);

 private:
  size_t EnoughNodes(size_t all) const;

  Session& session_;
  bool remembers_;
  std::map<std::pair<std::string, std::string>, std::map<const NodeInfo*, Fit>> memory_;
};

// Of an action: whether its searches remember refusals.
bool RemembersRefusals(const Session& session, std::string_view action);

// The node to take: what is idle before what will be, one candidate unscored, else the best score,
// the first by name among equals. Null if none could be chosen.
NodeInfo* ChooseForAllocate(const Session& session, const Task& task,
                            std::span<NodeInfo* const> candidates);
// The best by score alone.
NodeInfo* ChooseByScore(const Session& session, const Task& task,
                        std::span<NodeInfo* const> candidates);
// All by falling score; equals stay in order. None if scoring failed.
std::vector<NodeInfo*> SortedByScore(const Session& session, const Task& task,
                                     std::span<NodeInfo* const> candidates);

// As the allocate action checks a node: room in the future, then the predicates.
Fit RoomThen(const Task& task, const NodeInfo& node, const NodeCheck& check);

// Victims, cheapest first. The order is asked for when one is taken out: it changes with evictions.
Heap<Task*> VictimHeap(const Session& session, std::span<Task* const> victims,
                       const Task& preemptor);
// With all of them gone the task would have room.
bool WouldMakeRoom(const Task& task, const NodeInfo& node, std::span<Task* const> victims);

}  // namespace coppice::batch
