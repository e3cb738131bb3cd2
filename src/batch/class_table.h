// ClassTable: the best node for a class of tasks, found without asking all nodes each time.
//
// Tasks that nothing tells apart (the same spec, request, queue and images) get the same answers
// from every plug-in. Where those depend on the one node alone (Scope::kOwnNode or better), they
// are kept here, one leaf per node, under a tournament tree: a placement changes one node, so the
// next task costs one leaf and its path to the root. The plain search (search.h) is what it is held
// to.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "batch/session.h"

namespace coppice::batch {

// The tree alone. Leaves are compared by rank (higher first), score, then place.
class Tournament {
 public:
  // 2: fits now, 1: fits when what is going has gone, 0: does not fit.
  struct Leaf {
    uint8_t rank = 0;
    double score = 0;
  };

  // `place[i]` breaks ties of leaf i: lower first.
  explicit Tournament(std::span<const uint32_t> place);
  void Set(size_t leaf, Leaf value);    // and its path to the root
  void Fill(std::vector<Leaf> leaves);  // all at once
  std::optional<size_t> Best() const;   // none: nothing fits
  const Leaf& leaf(size_t i) const { return leaves_[i]; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  uint32_t Better(uint32_t a, uint32_t b) const;

  std::span<const uint32_t> place_;
  std::vector<Leaf> leaves_;
  std::vector<uint32_t> winners_;  // a heap of leaf numbers; [1] is the root
  size_t half_ = 1;
};

class ClassTables {
 public:
  explicit ClassTables(Session& session);

  struct Choice {
    bool known = false;        // false: ask the plain way
    NodeInfo* node = nullptr;  // null: fits nowhere
  };
  // For a task that has been prepared. Only what the allocate action asks for: room in the future,
  // the predicates, then the best of what is idle before the best of what will be.
  Choice Choose(const Task& task);

 private:
  struct Table {
    const Task* like;  // one of its tasks
    Tournament tree;
    size_t seen;  // of the session's log of changed nodes
  };

  Table* Find(const Task& task);
  bool Alike(const Task& a, const Task& b) const;
  Tournament::Leaf Ask(const Task& task, NodeInfo& node);
  bool Update(Table& table, const Task& task);

  Session& session_;
  std::vector<uint32_t> place_;  // of each node, by name
  std::map<std::pair<uint32_t, const Resource*>, std::vector<std::unique_ptr<Table>>> tables_;
};

}  // namespace coppice::batch
