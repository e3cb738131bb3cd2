// One way to help the pending pods: so many nodes of that group for these pods.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/node.h"
#include "model/pod.h"

namespace coppice::expand {

struct Option {
  std::string group;
  int node_count = 0;
  std::vector<const model::Pod*> pods;  // that it helps; theirs outlive the decision
  const model::Node* node = nullptr;    // as a fresh node of the group would be; null: unknown
  bool exists = true;                   // false: the group would have to be created first
  std::string debug;  // what is known about it, for people and for the gRPC expander
};

// Expanders choose among options and never make any, so they pass pointers around.
using Options = std::vector<const Option*>;

}  // namespace coppice::expand
