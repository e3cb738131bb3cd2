#include "plugins/batch/extender/ahead.h"

#include <algorithm>
#include <utility>

namespace coppice::batch::extender {
namespace {

constexpr size_t kMostAhead = 64;

bool IsSameState(const TransactionContext& l, const TransactionContext& r) {
  return l.node_name == r.node_name && l.eviction_occurred == r.eviction_occurred &&
         l.job_allocated_hyper_node == r.job_allocated_hyper_node && l.status == r.status;
}

}  // namespace

Result<Reply> Ahead::Ask(const Task& task, std::span<NodeInfo* const> nodes, const Post& post) {
  if (auto known = Take(task, nodes)) return *std::move(known);
  const std::vector<const Task*> tasks = Begin(task, nodes);
  std::vector<Result<Reply>> replies = post(tasks);
  // About another one whose reply has not come it is asked again in its turn.
  for (size_t i = 1; i < tasks.size(); ++i) {
    if (!replies[i].ok()) continue;
    jobs_[task.job].known.insert_or_assign(tasks[i], Known{*std::move(replies[i]), *tasks[i]});
  }
  return std::move(replies.front());
}

// What is known about it, if it was asked about all of these nodes, as it is now.
std::optional<Reply> Ahead::Take(const Task& task, std::span<NodeInfo* const> nodes) {
  const auto job = jobs_.find(task.job);
  if (job == jobs_.end()) return std::nullopt;
  OfJob& of = job->second;
  const auto found = of.known.find(&task);
  if (found == of.known.end()) return std::nullopt;
  const Known known = std::move(found->second);
  of.known.erase(found);
  const bool all = std::ranges::all_of(nodes, [&](const NodeInfo* node) {
    return node->index < of.asked.size() && of.asked[node->index];
  });
  if (!all || !IsSameState(task, known.state)) {
    of.width = 1;
    return std::nullopt;
  }
  return known.reply;
}

// Who is to be asked about now, `task` first.
std::vector<const Task*> Ahead::Begin(const Task& task, std::span<NodeInfo* const> nodes) {
  std::vector<const Task*> tasks{&task};
  if (!task.job) return tasks;
  const auto [entry, first] = jobs_.try_emplace(task.job);
  OfJob& of = entry->second;
  if (first) {
    of.first = &task;
    return tasks;
  }
  of.width = of.known.empty() ? std::min(2 * of.width, kMostAhead) : 1;
  of.known.clear();
  if (!of.listed) List(task, of);
  while (tasks.size() < of.width && !of.waiting.empty()) {
    const Task* next = of.waiting.back();
    of.waiting.pop_back();
    if (next != &task && next->status == TaskStatus::kPending) tasks.push_back(next);
  }
  of.asked.assign(session_.nodes().size(), false);
  for (const NodeInfo* node : nodes) of.asked[node->index] = true;
  return tasks;
}

// Those that are likely to be asked about next, in the order in which they are placed.
void Ahead::List(const Task& task, OfJob& of) const {
  of.listed = true;
  for (const Task* other : task.job->tasks) {
    if (other != &task && other != of.first && other->status == TaskStatus::kPending &&
        !other->gated && other->best_effort == task.best_effort && interests_(*other))
      of.waiting.push_back(other);
  }
  std::ranges::sort(of.waiting, [this](const Task* l, const Task* r) {
    return session_.ask().TaskBefore(*r, *l);
  });
}

}  // namespace coppice::batch::extender
