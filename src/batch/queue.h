// QueueInfo: a queue as a session sees it. Its id is its name.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/batch.h"

namespace coppice::batch {

inline constexpr std::string_view kRootQueue = "root";

struct QueueInfo {
  uint32_t index = 0;  // dense within the session, by name
  std::string name;
  int32_t weight = 0;
  std::string weights;    // volcano.sh/hierarchy-weights
  std::string hierarchy;  // volcano.sh/hierarchy
  model::Queue object;    // status.allocated is written at the end

  bool open() const { return object.status.state == "Open"; }
  bool reclaimable() const { return object.spec.reclaimable.value_or(true); }
  std::string_view parent() const {
    return object.spec.parent.empty() ? kRootQueue : std::string_view(object.spec.parent);
  }
};

}  // namespace coppice::batch
