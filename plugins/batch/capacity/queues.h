// What capacity knows of every queue: what it holds, may hold, deserves and is guaranteed; in a
// hierarchy also its ancestors.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batch/session.h"

namespace coppice::batch::capacity {

struct Attributes {
  std::string name;
  double share = 0;
  std::vector<uint32_t> ancestors;  // indexes of queues, from the root down
  std::vector<uint32_t> children;
  Resource deserved;
  Resource allocated;
  Resource request;
  Resource elastic;
  Resource inqueue;
  Resource capability;
  Resource real_capability;
  Resource guarantee;
};

class Queues {
 public:
  // Both answer whether queues can be worked with at all.
  bool BuildFlat(const Session& session);
  bool BuildTree(const Session& session);

  Attributes* Find(const QueueInfo& queue) {  // null: flat, and without jobs
    auto& own = queues_[queue.index];
    return own ? &*own : nullptr;
  }
  const Attributes* Find(const QueueInfo& queue) const {
    const auto& own = queues_[queue.index];
    return own ? &*own : nullptr;
  }
  Attributes& at(uint32_t index) { return *queues_[index]; }

  // How far the two have the same ancestors; 0 for the root alone.
  size_t CommonLevel(const Attributes& l, const Attributes& r) const;
  // `level` steps up; null beyond the root.
  const Attributes* AncestorAt(const Attributes& queue, int level) const;
  // Below the root, at most so many steps up from either.
  bool ShareAncestor(const Attributes& l, const Attributes& r, int levels) const;

  static void UpdateShare(Attributes& attributes);

 private:
  Attributes Make(const QueueInfo& queue) const;
  bool LinkAncestors(const Session& session, const QueueInfo& queue, std::vector<bool>& visiting);
  void SetLimits(Attributes& parent);

  std::vector<std::optional<Attributes>> queues_;  // by QueueInfo::index
};

}  // namespace coppice::batch::capacity
