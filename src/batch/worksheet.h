// Worksheet: what is left to place of one job, sub-job by sub-job.

#pragma once

#include <map>
#include <vector>

#include "batch/heap.h"
#include "batch/session.h"

namespace coppice::batch {

using TaskHeap = Heap<Task*>;

class Worksheet {
 public:
  // Pending tasks that ask for something and are not held back by somebody else's gate.
  static Worksheet ForAllocate(Session& session, const Job& job);
  // Without any that is held back.
  static Worksheet ForEviction(Session& session, const Job& job);

  bool empty() const { return sub_jobs_.empty(); }
  // Those that are needed to reach the policies' minimums come first.
  SubJob& Pop() { return *sub_jobs_.Pop(); }
  void Push(SubJob& sub_job) { sub_jobs_.Push(&sub_job); }
  TaskHeap& tasks(const SubJob& sub_job) { return tasks_.at(&sub_job); }

 private:
  Worksheet(Session& session, const Job& job, bool our_gate_counts);

  Heap<SubJob*> sub_jobs_;
  std::map<const SubJob*, TaskHeap> tasks_;
};

}  // namespace coppice::batch
