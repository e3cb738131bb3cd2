#include "batch/combine.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace coppice::batch {
namespace {

const RuleLine& RuleOf(std::string_view function) {
  return *std::ranges::find(kRules, function, &RuleLine::function);
}

// The first comparison that is not zero.
template <class Players, class Compare>
int FirstOpinion(const Players& players, Compare compare) {
  for (const auto& player : players) {
    if (const int order = compare(*player.role)) return order;
  }
  return 0;
}

}  // namespace

void Combine::Build(const std::vector<Tier>& tiers, const std::map<std::string, Slots>& slots) {
  // One line per function: who plays it, in order, if its flag is on.
  const auto add = [](auto& players, auto* role, const PluginOption& option, uint32_t tier,
                      std::string_view function) {
    if (!role) return;
    const RuleLine& line = RuleOf(function);
    if (line.flag && !option.enabled(*line.flag)) return;
    players.push_back({role, tier});
  };
  std::map<std::string, int> entries;
  for (uint32_t tier = 0; tier < tiers.size(); ++tier) {
    for (const PluginOption& option : tiers[tier].plugins) {
      const auto found = slots.find(SlotName(option.name, ++entries[option.name]));
      if (found == slots.end()) continue;
      const Slots& s = found->second;
      add(job_order_, s.job_order, option, tier, "JobOrder");
      add(queue_order_, s.queue_order, option, tier, "QueueOrder");
      add(victim_queue_order_, s.victim_queue_order, option, tier, "VictimQueueOrder");
      add(task_order_, s.task_order, option, tier, "TaskOrder");
      add(sub_job_order_, s.sub_job_order, option, tier, "SubJobOrder");
      add(pre_predicate_, s.pre_predicate, option, tier, "PrePredicate");
      add(predicate_, s.predicate, option, tier, "Predicate");
      add(node_order_, s.node_order, option, tier, "NodeOrder");
      add(batch_node_order_, s.batch_node_order, option, tier, "BatchNodeOrder");
      add(best_node_, s.best_node, option, tier, "BestNode");
      add(hyper_node_gradient_, s.hyper_node_gradient, option, tier, "HyperNodeGradient");
      add(hyper_node_order_, s.hyper_node_order, option, tier, "HyperNodeOrder");
      add(preemptable_, s.preemptable, option, tier, "Preemptable");
      add(reclaimable_, s.reclaimable, option, tier, "Reclaimable");
      add(unified_evictable_, s.unified_evictable, option, tier, "UnifiedEvictable");
      add(victim_tasks_, s.victim_tasks, option, tier, "VictimTasks");
      add(overused_, s.overused, option, tier, "Overused");
      add(allocatable_, s.allocatable, option, tier, "Allocatable");
      add(preemptive_, s.preemptive, option, tier, "Preemptive");
      add(job_valid_, s.job_valid, option, tier, "JobValid");
      add(job_ready_, s.job_ready, option, tier, "JobReady");
      add(job_pipelined_, s.job_pipelined, option, tier, "JobPipelined");
      add(job_starving_, s.job_starving, option, tier, "JobStarving");
      add(sub_job_ready_, s.sub_job_ready, option, tier, "SubJobReady");
      add(sub_job_pipelined_, s.sub_job_pipelined, option, tier, "SubJobPipelined");
      add(job_enqueueable_, s.job_enqueueable, option, tier, "JobEnqueueable");
      add(job_enqueued_, s.job_enqueued, option, tier, "JobEnqueued");
    }
  }
}

std::string Combine::SlotName(const std::string& plugin, int entry) const {
  return upstream_exact_ || entry == 1 ? plugin : plugin + "#" + std::to_string(entry);
}

void Combine::BuildLast(const std::vector<Slots>& last) {
  const auto add = [](auto& players, auto* role) {
    if (role) players.push_back({role, std::numeric_limits<uint32_t>::max()});
  };
  for (const Slots& s : last) {
    add(predicate_, s.predicate);
    add(batch_node_order_, s.batch_node_order);
    add(overused_, s.overused);
    add(job_ready_, s.job_ready);
    add(job_enqueued_, s.job_enqueued);
    add(last_preemptable_, s.preemptable);
    add(last_reclaimable_, s.reclaimable);
    add(last_job_enqueueable_, s.job_enqueueable);
  }
}

int Combine::CompareJobs(const Job& l, const Job& r) const {
  return FirstOpinion(job_order_, [&](JobOrder& role) { return role.CompareJobs(l, r); });
}

bool Combine::JobBefore(const Job& l, const Job& r) const {
  if (const int order = CompareJobs(l, r)) return order < 0;
  return l.created != r.created ? l.created < r.created : l.id < r.id;
}

bool Combine::QueueBefore(const QueueInfo& l, const QueueInfo& r) const {
  const int order =
      FirstOpinion(queue_order_, [&](QueueOrder& role) { return role.CompareQueues(l, r); });
  if (order != 0) return order < 0;
  const auto& created_l = l.object.metadata.creation_timestamp;
  const auto& created_r = r.object.metadata.creation_timestamp;
  return created_l != created_r ? created_l < created_r : l.name < r.name;
}

bool Combine::VictimQueueBefore(const QueueInfo& l, const QueueInfo& r,
                                const QueueInfo& preemptor) const {
  const int order = FirstOpinion(victim_queue_order_, [&](VictimQueueOrder& role) {
    return role.CompareVictimQueues(l, r, preemptor);
  });
  return order != 0 ? order < 0 : !QueueBefore(l, r);
}

bool Combine::TaskBefore(const Task& l, const Task& r) const {
  const int order =
      FirstOpinion(task_order_, [&](TaskOrder& role) { return role.CompareTasks(l, r); });
  return order != 0 ? order < 0 : BeforeByDefault(l, r);
}

bool Combine::SubJobBefore(const SubJob& l, const SubJob& r) const {
  const int order =
      FirstOpinion(sub_job_order_, [&](SubJobOrder& role) { return role.CompareSubJobs(l, r); });
  if (order != 0) return order < 0;
  return l.match_index != r.match_index ? l.match_index < r.match_index : l.id < r.id;
}

Status Combine::PrepareTask(Task& task) const {
  for (const auto& player : pre_predicate_) {
    Status status = player.role->PrepareTask(task);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Fit Combine::CheckNode(const Task& task, const NodeInfo& node) const {
  for (size_t i = 0; i < predicate_.size(); ++i) {
    if (only_collectors_ && !collects_[i]) continue;
    if (Fit refusal = predicate_[i].role->CheckNode(task, node)) return refusal;
  }
  return nullptr;
}

// Upstream hears no plug-in after the first refusal, be it one that evicting would lift: what a
// later one has against the node then goes unheard.
Fit Combine::CheckNodeForPreempt(const Task& task, const NodeInfo& node) const {
  for (size_t i = 0; i < predicate_.size(); ++i) {
    if (only_collectors_ && !collects_[i]) continue;
    Fit refusal = predicate_[i].role->CheckNode(task, node);
    if (!refusal) continue;
    const bool known = refusal->Has(kFitUnresolvable) || refusal->HasErrorSkipOrWait();
    if (upstream_exact_) return known || refusal->plain_error ? refusal : nullptr;
    const bool liftable = std::ranges::all_of(
        refusal->statuses, [](const FitStatus& s) { return s.code == kFitUnschedulable; });
    if (!liftable) return refusal;
  }
  return nullptr;
}

bool Combine::Collect(const Task& task) const {
  bool any = false;
  collects_.assign(predicate_.size(), false);
  for (size_t i = 0; i < predicate_.size(); ++i) {
    collects_[i] = predicate_[i].role->Collect(task);
    any |= collects_[i];
  }
  return any;
}

void Combine::Fetch() const {
  for (const auto& player : predicate_) player.role->Fetch();
}

std::optional<std::vector<double>> Combine::Score(const Task& task,
                                                  std::span<NodeInfo* const> nodes) const {
  std::vector<double> batch(nodes.size());
  for (const auto& player : batch_node_order_) {
    if (!player.role->ScoreNodes(task, nodes, batch).ok()) return std::nullopt;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    double own = 0;
    for (const auto& player : node_order_) {
      const auto score = player.role->ScoreNode(task, *nodes[i]);
      if (!score.ok()) {  // one that cannot be scored counts nothing
        own = 0;
        break;
      }
      own += *score;
    }
    batch[i] = own + batch[i];
  }
  return batch;
}

NodeInfo* Combine::ChooseNode(const Task& task, std::span<NodeInfo* const> nodes,
                              std::span<const double> scores) const {
  for (const auto& player : best_node_) {
    if (NodeInfo* node = player.role->ChooseNode(task, nodes, scores)) return node;
  }
  return nullptr;
}

Scope Combine::PredicateScope(const Task& task) const {
  Scope scope = Scope::kShapes;
  for (const auto& player : predicate_) {
    scope = std::max(scope, player.role->PredicateScope(task));
  }
  return scope;
}

Scope Combine::ScoreScope(const Task& task) const {
  Scope scope = best_node_.empty() ? Scope::kShapes : Scope::kAnything;
  for (const auto& player : node_order_) {
    scope = std::max(scope, player.role->NodeOrderScope(task));
  }
  for (const auto& player : batch_node_order_) {
    scope = std::max(scope, player.role->BatchNodeOrderScope(task));
  }
  return scope;
}

// Upstream takes an empty list for "nothing said yet": a plug-in that follows an empty intersection
// starts afresh with its own candidates, and a tier that lets nobody be evicted leaves the decision
// to the next one. Otherwise a tier in which somebody has voted has decided.
template <class R, class Ask>
std::vector<Task*> Combine::Intersect(const Players<R>& players, Ask ask) const {
  std::vector<Task*> victims;
  std::function<void(std::vector<Task*>&)> taken;  // of whose list it began with
  bool decided = false;                            // somebody in this tier has spoken
  bool closed = false;                             // and said that nobody may go
  for (size_t i = 0; i < players.size(); ++i) {
    const bool new_tier = i > 0 && players[i].tier != players[i - 1].tier;
    if (new_tier) {
      if (!victims.empty() || (decided && !upstream_exact_)) break;
      decided = closed = false;
    }
    if (closed) continue;
    Victims answer = ask(*players[i].role);
    if (answer.vote == 0) continue;
    if (answer.tasks.empty()) {
      victims.clear();
      decided = closed = true;
    } else if (upstream_exact_ ? victims.empty() : !decided) {
      victims = std::move(answer.tasks);
      taken = std::move(answer.taken);
      decided = true;
    } else {
      std::vector<Task*> both;
      for (Task* victim : victims) {
        const auto times = std::ranges::count(answer.tasks, victim->uid, &Task::uid);
        // Upstream takes one as often as both lists together name it.
        both.insert(both.end(), upstream_exact_ ? static_cast<size_t>(times) : times > 0, victim);
      }
      victims = std::move(both);
    }
  }
  if (taken && !victims.empty()) taken(victims);
  return victims;
}

// Those that stand behind all tiers may only take victims out.
template <class R, class Ask>
std::vector<Task*> Combine::Narrow(std::vector<Task*> victims, const Players<R>& last, Ask ask) {
  for (const auto& player : last) {
    if (victims.empty()) break;
    const Victims answer = ask(*player.role, victims);
    if (answer.vote == 0) continue;
    std::erase_if(victims, [&](Task* victim) {
      return std::ranges::find(answer.tasks, victim) == answer.tasks.end();
    });
  }
  return victims;
}

std::vector<Task*> Combine::Preemptable(const Task& preemptor,
                                        std::span<Task* const> candidates) const {
  auto victims = Intersect(preemptable_, [&](batch::Preemptable& role) {
    return role.PreemptVictims(preemptor, candidates);
  });
  return Narrow(std::move(victims), last_preemptable_,
                [&](batch::Preemptable& role, std::span<Task* const> left) {
                  return role.PreemptVictims(preemptor, left);
                });
}

std::vector<Task*> Combine::Reclaimable(const Task& reclaimer,
                                        std::span<Task* const> candidates) const {
  auto victims = Intersect(reclaimable_, [&](batch::Reclaimable& role) {
    return role.ReclaimVictims(reclaimer, candidates);
  });
  return Narrow(std::move(victims), last_reclaimable_,
                [&](batch::Reclaimable& role, std::span<Task* const> left) {
                  return role.ReclaimVictims(reclaimer, left);
                });
}

std::vector<Task*> Combine::UnifiedEvictable(const EvictionContext& context,
                                             std::span<Task* const> candidates) const {
  return Intersect(unified_evictable_, [&](batch::UnifiedEvictable& role) {
    return role.UnifiedVictims(context, candidates);
  });
}

std::vector<Task*> Combine::TasksToMove(std::span<Task* const> tasks) const {
  std::vector<Task*> victims;
  for (size_t i = 0; i < victim_tasks_.size(); ++i) {
    const bool new_tier = i > 0 && victim_tasks_[i].tier != victim_tasks_[i - 1].tier;
    if (new_tier && !victims.empty()) return victims;
    for (Task* task : victim_tasks_[i].role->TasksToMove(tasks)) {
      if (std::ranges::find(victims, task) == victims.end()) victims.push_back(task);
    }
  }
  return victims;
}

bool Combine::IsOverused(const QueueInfo& queue) const {
  return std::ranges::any_of(overused_,
                             [&](const auto& player) { return player.role->IsOverused(queue); });
}

bool Combine::MayAllocate(const QueueInfo& queue, const Task& task) const {
  return std::ranges::all_of(
      allocatable_, [&](const auto& player) { return player.role->MayAllocate(queue, task); });
}

bool Combine::MayReclaim(const QueueInfo& queue, std::span<Task* const> tasks) const {
  return std::ranges::all_of(
      preemptive_, [&](const auto& player) { return player.role->MayReclaim(queue, tasks); });
}

std::optional<Invalid> Combine::ValidateJob(const Job& job) const {
  for (const auto& player : job_valid_) {
    if (auto invalid = player.role->ValidateJob(job)) return invalid;
  }
  return std::nullopt;
}

bool Combine::IsJobReady(const Job& job) const {
  return std::ranges::all_of(job_ready_,
                             [&](const auto& player) { return player.role->IsJobReady(job); });
}

template <class R, class Ask>
bool Combine::Vote(const Players<R>& players, Ask ask) {
  bool for_it = false;
  for (size_t i = 0; i < players.size(); ++i) {
    if (i > 0 && players[i].tier != players[i - 1].tier && for_it) return true;
    const int vote = ask(*players[i].role);
    if (vote < 0) return false;
    for_it |= vote > 0;
  }
  return true;
}

bool Combine::IsJobPipelined(const Job& job) const {
  return Vote(job_pipelined_, [&](JobPipelined& role) { return role.JobPipelinedVote(job); });
}

bool Combine::IsJobStarving(const Job& job) const {
  return !job_starving_.empty() && std::ranges::all_of(job_starving_, [&](const auto& player) {
    return player.tier != job_starving_.front().tier || player.role->IsJobStarving(job);
  });
}

bool Combine::IsSubJobReady(const Job& job, const SubJob& sub_job) const {
  if (!job.HasSubJobPolicy()) return IsJobReady(job);
  return std::ranges::all_of(
      sub_job_ready_, [&](const auto& player) { return player.role->IsSubJobReady(sub_job); });
}

bool Combine::IsSubJobPipelined(const Job& job, const SubJob& sub_job) const {
  if (!job.HasSubJobPolicy()) return IsJobPipelined(job);
  return Vote(sub_job_pipelined_,
              [&](SubJobPipelined& role) { return role.SubJobPipelinedVote(sub_job); });
}

bool Combine::MayEnqueue(const Job& job) const {
  return Vote(job_enqueueable_,
              [&](JobEnqueueable& role) { return role.JobEnqueueableVote(job); }) &&
         std::ranges::none_of(last_job_enqueueable_, [&](const auto& player) {
           return player.role->JobEnqueueableVote(job) < 0;
         });
}

bool Combine::MayEnqueueAlone(const Job& job) const {
  const auto admits = [&](const auto& player) { return player.role->WouldAdmitAlone(job); };
  return std::ranges::all_of(job_enqueueable_, admits) &&
         std::ranges::all_of(last_job_enqueueable_, admits);
}

void Combine::OnJobEnqueued(const Job& job) const {
  for (const auto& player : job_enqueued_) player.role->OnJobEnqueued(job);
}

}  // namespace coppice::batch
