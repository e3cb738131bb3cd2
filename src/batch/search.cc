#include "batch/search.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace coppice::batch {

size_t NodeFilter::EnoughNodes(size_t all) const {
  const Options& options = session_.options();
  const auto count = static_cast<int64_t>(all);
  if (!options.upstream_exact || count <= options.min_feasible_nodes ||
      options.percentage_of_nodes >= 100) {
    return all;
  }
  int64_t percentage = options.percentage_of_nodes;
  if (percentage <= 0) {
    percentage = std::max<int64_t>(50 - count / 125, options.min_percentage_of_nodes);
  }
  return static_cast<size_t>(
      std::max<int64_t>(count * percentage / 100, options.min_feasible_nodes));
}

NodeFilter::Found NodeFilter::Filter(const Task& task, std::span<NodeInfo* const> nodes,
                                     const NodeCheck& check) {
  Found found{.errors = std::make_shared<FitErrors>()};
  const size_t enough = EnoughNodes(nodes.size());
  auto& refused = memory_[{std::string(task.job_id), std::string(task.role)}];
  const bool remembers = remembers_ && !task.role.empty() && !refused.empty();
  std::vector<bool> passed;  // but for those who collect
  if (session_.ask().Collect(task)) {
    passed.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool asked = !remembers || !refused.contains(nodes[i]);
      // Upstream hears nobody behind the first refusal, so one who has collected may be unheard.
      passed[i] = asked && !check(task, *nodes[i]) && !session_.upstream_exact();
    }
    session_.ask().Fetch();
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    NodeInfo* node = nodes[i];
    if (remembers) {
      if (const auto before = refused.find(node); before != refused.end()) {
        found.errors->Set(*node, before->second);
        continue;
      }
    }
    std::optional<Combine::OnlyCollectors> only;
    if (!passed.empty() && passed[i]) only.emplace(session_.ask());
    if (Fit refusal = check(task, *node)) {
      refused[node] = refusal;
      found.errors->Set(*node, std::move(refusal));
      continue;
    }
    found.nodes.push_back(node);
    if (found.nodes.size() == enough) break;
  }
  return found;
}

bool RemembersRefusals(const Session& session, std::string_view action) {
  bool remembers = true;
  session.conf().ArgumentsOf(action).Get("predicateErrorCacheEnable", remembers);
  return remembers;
}

NodeInfo* ChooseByScore(const Session& session, const Task& task,
                        std::span<NodeInfo* const> candidates) {
  const auto scores = session.ask().Score(task, candidates);
  if (!scores) return nullptr;
  if (NodeInfo* chosen = session.ask().ChooseNode(task, candidates, *scores)) return chosen;
  NodeInfo* best = nullptr;
  double highest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double score = (*scores)[i];
    if (score > highest || (best && score == highest && candidates[i]->name < best->name)) {
      highest = score;
      best = candidates[i];
    }
  }
  return best;
}

NodeInfo* ChooseForAllocate(const Session& session, const Task& task,
                            std::span<NodeInfo* const> candidates) {
  std::vector<NodeInfo*> idle;
  std::vector<NodeInfo*> future;
  for (NodeInfo* node : candidates) {
    if (node->FitsIdle(task.req())) {
      idle.push_back(node);
    } else if (node->FitsFuture(task.req())) {
      future.push_back(node);
    }
  }
  for (const auto& nodes : {idle, future}) {
    if (nodes.size() == 1) return nodes.front();
    if (nodes.empty()) continue;
    if (NodeInfo* best = ChooseByScore(session, task, nodes)) return best;
  }
  return nullptr;
}

std::vector<NodeInfo*> SortedByScore(const Session& session, const Task& task,
                                     std::span<NodeInfo* const> candidates) {
  const auto scores = session.ask().Score(task, candidates);
  if (!scores) return {};
  std::vector<size_t> order(candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return (*scores)[a] != (*scores)[b] ? (*scores)[a] > (*scores)[b] : a < b;
  });
  std::vector<NodeInfo*> sorted;
  for (const size_t i : order) sorted.push_back(candidates[i]);
  return sorted;
}

Fit RoomThen(const Task& task, const NodeInfo& node, const NodeCheck& check) {
  if (!node.FitsFuture(task.req())) {
    return Refuse(kFitUnschedulable, "Insufficient " + node.FirstShortage(task.req()));
  }
  return check(task, node);
}

Heap<Task*> VictimHeap(const Session& session, std::span<Task* const> victims,
                       const Task& preemptor) {
  const Combine& ask = session.ask();
  const Job* for_job = preemptor.job;
  Heap<Task*> heap([&ask, for_job](const Task* l, const Task* r) {
    if (l->job_id == r->job_id) return !ask.TaskBefore(*l, *r);
    if (!l->job || !r->job) {
      if (!l->job && !r->job) return !ask.TaskBefore(*l, *r);
      return !l->job;
    }
    if (for_job && l->job->queue != r->job->queue) {
      return ask.VictimQueueBefore(*l->job->queue, *r->job->queue, *for_job->queue);
    }
    if (const int order = ask.CompareJobs(*l->job, *r->job)) return order > 0;
    return !ask.TaskBefore(*l, *r);
  });
  for (Task* victim : victims) heap.Push(victim);
  return heap;
}

bool WouldMakeRoom(const Task& task, const NodeInfo& node, std::span<Task* const> victims) {
  Resource future = node.FutureIdle();
  for (const Task* victim : victims) future.Add(victim->req());
  return task.req().LessEqual(future, Missing::kZero);
}

}  // namespace coppice::batch
