// Buckets: the tasks of one job, sorted into sets that should share a node.
//
// Made when a session opens, from the group's wishes: what is placed already makes a bucket per
// node; every other task, the most particular first, joins the bucket that it likes best, or opens
// one. What is placed afterwards leaves its bucket's waiting tasks and counts for the node.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/job.h"
#include "batch/node.h"
#include "plugins/batch/task_topology/topology.h"

namespace coppice::batch::task_topology {

struct Bucket {
  size_t index = 0;
  std::map<std::string_view, const Task*> waiting;  // by uid
  std::map<std::string, int32_t> roles;             // all that belong to it
  double weight = 0;                                // of what the waiting ones ask for
  Resource request;                                 // of them
  int32_t placed = 0;
  std::map<std::string_view, int32_t> nodes;  // of the placed ones
};

class Buckets {
 public:
  Buckets(const Job& job, const Topology& topology);

  const Bucket* Of(const Task& task) const;  // null: belongs to none
  // Of two tasks of this job, the role that was wished first, then the more particular one: above
  // zero, the left one.
  int CompareRoles(const Task& l, const Task& r) const;
  size_t largest() const { return largest_; }

  // How well the node suits the task: companions that are there, less what should not be together,
  // and those that would still fit in.
  int32_t ScoreOf(const Task& task, const NodeInfo& node) const;

  // The task now stands on its node. False: there was less to take away than it asks for, which
  // ends upstream's process.
  bool Placed(const Task& task);
  bool IsWaiting(const Task& task) const;
  void Undone(const Task& task);

 private:
  using Pair = std::pair<std::string, std::string>;
  void Mark(const std::string& role, int priority);
  void Apply(const Topology::Groups& groups, std::set<std::string>& self, std::set<Pair>& inter,
             int self_priority, int inter_priority);
  std::vector<const Task*> Sorted(const Job& job) const;
  Bucket* BestFor(const std::string& role);
  int32_t Affinity(const std::string& role, const std::map<std::string, int32_t>& among,
                   bool only_anti) const;
  void Put(Bucket& bucket, const std::string& role, const Task& task);
  Bucket* Find(const Task& task);

  std::map<std::string, int> priority_;  // of roles that have a wish
  std::map<std::string, size_t> order_;  // the earlier, the higher
  std::set<std::string> self_affinity_;
  std::set<std::string> self_anti_affinity_;
  std::set<Pair> inter_affinity_;
  std::set<Pair> inter_anti_affinity_;
  std::vector<Bucket> buckets_;
  std::map<std::string_view, size_t> bucket_of_;  // by uid
  size_t largest_ = 0;
  std::map<std::string_view, std::map<std::string, int32_t>> on_node_;  // placed by this session
};

// As the wishes name it: by the annotation alone.
std::string RoleOf(const Task& task);

}  // namespace coppice::batch::task_topology
