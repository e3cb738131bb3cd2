// What upstream's index of a sub-job holds of a task beside the task itself.
//
// Upstream makes a plan's changes with copies of its tasks, and the index, which finds what it has
// to forget by the status of the copy, keeps the task as it was before. Both are counted, and the
// kept one, if it is pending, is placed by whoever goes through the sub-job's tasks later. That is
// a mistake; only sessions under upstream_exact have any.

#pragma once

#include <optional>

#include "batch/task.h"

namespace coppice::batch {

struct StaleTask {
  Task* task;
  TransactionContext was;
  std::optional<TransactionContext> last_transaction;
};

// The pending one that is kept of the task; null: none.
const StaleTask* KeptPending(const Task& task);

// For its lifetime the task looks like the pending one that is kept of it, if there is one and the
// task is not pending itself: who is asked about the kept one is shown that.
class AsKept {
 public:
  explicit AsKept(Task& task);
  ~AsKept();
  AsKept(const AsKept&) = delete;
  AsKept& operator=(const AsKept&) = delete;

 private:
  Task& task_;
  std::optional<StaleTask> now_;
};

}  // namespace coppice::batch
