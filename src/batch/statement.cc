#include "batch/statement.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace coppice::batch {
namespace {

Status Objection(const std::vector<std::string>& errors) {
  return errors.empty() ? Status::Ok() : FailedPrecondition(Join(errors, "; "));
}

}  // namespace

void Statement::Evict(Task& task, std::string_view reason) {
  task.job->SetStatus(task, TaskStatus::kReleasing);
  if (task.node) task.node->Update(task);
  session_->TellDeallocated(task);
  operations_.push_back({Saved::Kind::kEvict, &task, std::string(reason)});
}

void Statement::Spare(Task& task) {
  const auto own = std::ranges::find_if(operations_, [&](const Operation& operation) {
    return operation.task == &task && operation.kind == Saved::Kind::kEvict;
  });
  if (own == operations_.end()) return;
  operations_.erase(own);
  UnEvict(task);
}

void Statement::UnEvict(Task& task) {
  // Upstream makes it Running, whatever it was.
  task.job->SetStatus(task, TaskStatus::kRunning);
  if (task.node) task.node->Update(task);
  (void)session_->TellAllocated(task);
}

Status Statement::Pipeline(Task& task, NodeInfo& node, bool eviction_occurred) {
  if (task.status != TaskStatus::kPending) task.job->Adopt(task);
  task.job->SetStatus(task, TaskStatus::kPipelined);
  task.node_name = node.name;
  task.eviction_occurred = eviction_occurred;
  const Status added = node.Add(task);
  auto errors = session_->TellAllocated(task);
  if (!added.ok()) errors.push_back(added.message());
  if (!errors.empty()) {
    UnPlace(task);
    return Objection(errors);
  }
  operations_.push_back({Saved::Kind::kPipeline, &task, {}});
  return Status::Ok();
}

Status Statement::Allocate(Task& task, NodeInfo& node) {
  if (task.status != TaskStatus::kPending) task.job->Adopt(task);
  task.pod_node_name = node.name;
  task.job->SetStatus(task, TaskStatus::kAllocated);
  task.node_name = node.name;
  const Status added = node.Add(task);
  auto errors = session_->TellAllocated(task);
  if (!added.ok()) errors.push_back(added.message());
  if (!errors.empty()) {
    UnPlace(task);
    return Objection(errors);
  }
  operations_.push_back({Saved::Kind::kAllocate, &task, {}});
  return Status::Ok();
}

void Statement::UnPlace(Task& task) { session_->UnPipeline(task); }

void Statement::Commit() {
  for (const Operation& operation : operations_) {
    operation.task->last_transaction.reset();
    switch (operation.kind) {
      case Saved::Kind::kEvict:
        session_->CommitEviction(*operation.task, operation.reason);
        break;
      case Saved::Kind::kPipeline:
        break;
      case Saved::Kind::kAllocate:
        if (!session_->CommitBind(*operation.task).ok()) UnPlace(*operation.task);
        break;
    }
  }
  operations_.clear();
}

void Statement::Discard() {
  for (auto operation = operations_.rbegin(); operation != operations_.rend(); ++operation) {
    Task& task = *operation->task;
    task.last_transaction = static_cast<const TransactionContext&>(task);
    if (operation->kind == Saved::Kind::kEvict) {
      UnEvict(task);
    } else {
      UnPlace(task);
    }
  }
  operations_.clear();
}

void Statement::Merge(Statement&& other) {
  std::ranges::move(other.operations_, std::back_inserter(operations_));
  other.operations_.clear();
}

bool Statement::HasEvictions() const {
  return std::ranges::any_of(operations_, [](const Operation& operation) {
    return operation.kind == Saved::Kind::kEvict;
  });
}

void Statement::SaveTo(std::vector<Saved>& saved) const {
  for (const Operation& operation : operations_) {
    Task& task = *operation.task;
    saved.push_back({operation.kind, &task, session_->FindNode(task.node_name),
                     task.eviction_occurred, operation.reason, task.last_transaction});
  }
}

Status Statement::Recover(const std::vector<Saved>& saved) {
  for (const Saved& step : saved) {
    if (session_->upstream_exact()) {
      Task& task = *step.task;
      Job::KeepStale({.task = &task,
                      .was = static_cast<const TransactionContext&>(task),
                      .last_transaction = task.last_transaction});
      task.last_transaction = step.last_transaction;
    }
    switch (step.kind) {
      case Saved::Kind::kEvict:
        Evict(*step.task, step.reason);
        break;
      case Saved::Kind::kPipeline:
        TRY(Pipeline(*step.task, *step.node, step.eviction_occurred));
        break;
      case Saved::Kind::kAllocate:
        TRY(Allocate(*step.task, *step.node));
        break;
    }
  }
  return Status::Ok();
}

}  // namespace coppice::batch
