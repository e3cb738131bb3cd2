// What a session is told from outside of its configuration file.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coppice::batch {

struct Options {
  // Volcano's answers also where they are mistakes: docs/differences.md lists them. Off: the sane
  // ones.
  bool upstream_exact = false;

  // Ask every node for every task, and remember nothing: what the fast way is held to in tests.
  bool plain_search = false;

  std::vector<std::string> scheduler_names = {"volcano"};  // whose unplaced pods are ours
  std::string default_queue = "default";                   // of a group that names none

  // How many of the nodes are looked at for one task; only under upstream_exact, else all are.
  int32_t min_feasible_nodes = 100;
  int32_t min_percentage_of_nodes = 5;
  int32_t percentage_of_nodes = 0;  // 0: 50 minus one per 125 nodes, never below the minimum
};

}  // namespace coppice::batch
