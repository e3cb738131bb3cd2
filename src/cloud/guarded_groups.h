// GuardedGroups: the provider behind a gate. Reads pass; a change of the cloud asks the gate first,
// and is done, refused, or (--dry-run) only told.
//
// Changes come from worker threads: the gate's functions are called there.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/changes_under_way.h"
#include "cloud/node_groups.h"

namespace coppice::cloud {

struct Gate {
  std::function<Status()> may_change = nullptr;        // null: always
  std::function<Deadline(Deadline)> within = nullptr;  // null: the caller's
  ChangesUnderWay* changes = nullptr;                  // told of each; null: nobody asks
  bool dry_run = false;                                // say it, and answer that it is done
};

std::unique_ptr<NodeGroups> GuardGroups(NodeGroups& groups, Gate gate, const Log& log);

}  // namespace coppice::cloud
