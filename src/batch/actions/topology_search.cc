#include "batch/actions/topology_search.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace coppice::batch {

// Upstream tries it out and then does it: listeners hear of both.
bool TopologySearch::OnlyOne(const HyperNodeGradients& gradients) const {
  return !session_.upstream_exact() && gradients.size() == 1 && gradients.front().size() == 1;
}

const HyperNode* TopologySearch::Where(const SubJob& sub_job) const {
  return session_.hyper_nodes().Find(sub_job.allocated_hyper_node);
}

void TopologySearch::ForgetRefusals(SubJob& sub_job) {
  for (const Task* task : sub_job.tasks) sub_job.job->task_fit_errors.erase(task->index);
}

// Listeners are promised inverses in reverse order; upstream undoes the first sub-job first.
void TopologySearch::Undo(std::vector<Statement>& statements) const {
  if (!session_.upstream_exact()) std::ranges::reverse(statements);
  for (Statement& statement : statements) statement.Discard();
  statements.clear();
}

std::optional<Statement> TopologySearch::PlaceJob(Job& job, Worksheet& sheet) {
  if (sheet.empty()) return std::nullopt;
  std::map<SubJob*, std::string> before;
  for (const auto& sub_job : job.sub_jobs) before[sub_job.get()] = sub_job->allocated_hyper_node;
  const auto restore = [&] {
    for (const auto& [sub_job, where] : before) sub_job->allocated_hyper_node = where;
  };
  const auto gradients =
      ask_.GradientsOf(job, session_.hyper_nodes().top(), SearchPurpose::kAllocate);
  const bool at_once = OnlyOne(gradients);
  for (const HyperNodes& row : gradients) {
    std::vector<Attempt> found;
    for (const HyperNode* at : row) {
      if (session_.failed()) return std::nullopt;
      std::vector<Statement> statements;
      Attempt attempt{.at = at, .steps = {}, .sheet = sheet, .score = 0, .decided = {}};
      const bool good = PlaceWithin(job, attempt.sheet, *at, row.size() > 1, statements, attempt);
      restore();
      if (good && at_once) {
        Statement whole(session_);
        for (Statement& statement : statements) whole.Merge(std::move(statement));
        sheet = std::move(attempt.sheet);
        decisions_[&job] = {at, std::move(attempt.decided)};
        return whole;
      }
      if (good) {
        for (const Statement& statement : statements) statement.SaveTo(attempt.steps);
        found.push_back(std::move(attempt));
      }
      Undo(statements);
    }
    if (found.empty()) continue;
    // The first by name among equals.
    Attempt& best = *std::ranges::max_element(found, {}, &Attempt::score);
    Statement whole(session_);
    if (!whole.Recover(best.steps).ok()) {
      whole.Discard();
      return std::nullopt;
    }
    sheet = std::move(best.sheet);
    decisions_[&job] = {best.at, std::move(best.decided)};
    return whole;
  }
  if (!session_.upstream_exact() && job.HasHardTopology()) {
    job.fit_errors =
        fmt::format("no HyperNode of tier {} or below has room for the group",
                    HardTier(job.network_topology).value_or(session_.hyper_nodes().max_tier()));
  }
  return std::nullopt;
}

// Whether the job got ready, or will be when what goes is gone.
bool TopologySearch::PlaceWithin(Job& job, Worksheet& sheet, const HyperNode& at, bool compared,
                                 std::vector<Statement>& statements, Attempt& attempt) {
  job.fit_errors.clear();
  job.task_fit_errors.clear();
  while (!sheet.empty()) {
    SubJob& sub_job = sheet.Pop();
    auto statement = PlaceSubJob(sub_job, sheet.tasks(sub_job), at, compared, attempt);
    if (!statement || statement->empty()) continue;
    statements.push_back(std::move(*statement));
    if (!sheet.tasks(sub_job).empty()) sheet.Push(sub_job);
    if (ask_.IsJobReady(job)) break;
  }
  return !statements.empty() && (ask_.IsJobReady(job) || ask_.IsJobPipelined(job));
}

void TopologySearch::Settle(SubJob& sub_job, const HyperNode& at, Attempt& attempt) const {
  const HyperNode* where = HyperNodeTree::LowestCommon(Where(sub_job), &at);
  sub_job.allocated_hyper_node = where->name;
  attempt.decided[&sub_job] = where;
}

// What it scores is asked before: placements of its own do not count.
std::optional<Statement> TopologySearch::PlaceAtOnce(SubJob& sub_job, TaskHeap& tasks,
                                                     const HyperNode& at, bool compared,
                                                     Attempt& attempt) {
  double score = 0;
  if (compared) {
    const HyperNode* only = &at;
    const auto scores = ask_.ScoreHyperNodes(sub_job, {&only, 1});
    if (!scores) return std::nullopt;
    score = scores->front();
  }
  ForgetRefusals(sub_job);
  auto statement = place_(sub_job, tasks, at);
  if (!statement || statement->empty()) return statement;
  attempt.score += score;
  Settle(sub_job, at, attempt);
  return statement;
}

std::optional<Statement> TopologySearch::PlaceSubJob(SubJob& sub_job, TaskHeap& tasks,
                                                     const HyperNode& within, bool compared,
                                                     Attempt& attempt) {
  if (!sub_job.nominated_hyper_node.empty()) {
    const HyperNode* pinned = session_.hyper_nodes().Find(sub_job.nominated_hyper_node);
    if (auto statement = FromNomination(sub_job, tasks)) {
      Settle(sub_job, *pinned, attempt);
      return statement;
    }
  }
  const auto gradients = ask_.GradientsOf(sub_job, within, SearchPurpose::kAllocate);
  if (OnlyOne(gradients))
    return PlaceAtOnce(sub_job, tasks, *gradients.front().front(), compared, attempt);
  for (const HyperNodes& row : gradients) {
    std::vector<SubAttempt> tried;
    for (const HyperNode* at : row) {
      if (session_.failed()) return std::nullopt;
      ForgetRefusals(sub_job);
      SubAttempt one{.at = at, .steps = {}, .tasks = tasks};
      auto statement = place_(sub_job, one.tasks, *at);
      if (!statement || statement->empty()) continue;
      statement->SaveTo(one.steps);
      statement->Discard();
      tried.push_back(std::move(one));
    }
    if (tried.empty()) continue;
    double score = 0;
    auto best = BestOf(sub_job, std::move(tried), score);
    if (!best) return std::nullopt;
    Statement statement(session_);
    if (!statement.Recover(best->steps).ok()) {
      statement.Discard();
      return std::nullopt;
    }
    attempt.score += score;
    Settle(sub_job, *best->at, attempt);
    tasks = std::move(best->tasks);
    return statement;
  }
  return std::nullopt;
}

std::optional<TopologySearch::SubAttempt> TopologySearch::BestOf(const SubJob& sub_job,
                                                                 std::vector<SubAttempt> tried,
                                                                 double& score) const {
  HyperNodes places;
  for (const SubAttempt& one : tried) places.push_back(one.at);
  const auto scores = ask_.ScoreHyperNodes(sub_job, places);
  if (!scores) return std::nullopt;
  const auto best = std::ranges::max_element(*scores);  // the first by name among equals
  score = *best;
  return std::move(tried[static_cast<size_t>(best - scores->begin())]);
}

void TopologySearch::Committed(Job& job) {
  const auto decision = decisions_.find(&job);
  if (decision == decisions_.end()) return;
  const HyperNode* before = session_.hyper_nodes().Find(job.allocated_hyper_node);
  job.allocated_hyper_node = HyperNodeTree::LowestCommon(before, decision->second.at)->name;
  for (const auto& [sub_job, where] : decision->second.sub_jobs) {
    sub_job->allocated_hyper_node = HyperNodeTree::LowestCommon(Where(*sub_job), where)->name;
    sub_job->nominated_hyper_node.clear();
  }
}

std::optional<Statement> TopologySearch::FromNomination(SubJob& sub_job, TaskHeap& tasks) {
  const HyperNode* pinned = session_.hyper_nodes().Find(sub_job.nominated_hyper_node);
  auto statement = pinned ? place_as_nominated_(sub_job, tasks, *pinned) : std::nullopt;
  if (statement) {
    while (!tasks.empty()) (void)tasks.Pop();
    return statement;
  }
  sub_job.nominated_hyper_node.clear();
  for (TaskHeap left = tasks; !left.empty();) left.Pop()->nomination_void = true;
  return std::nullopt;
}

}  // namespace coppice::batch
