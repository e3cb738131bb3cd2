// gangpreempt and gangreclaim: room for a whole job at once, taken from other jobs in bundles.
//
// Bundles are added one by one until the job would fit as a whole; then it is tried, evictions and
// placements together, and done only if it works out. All in one domain of the network, the widest
// that will do; of a job that asks for none that is the whole cluster.

#include <map>
#include <optional>

#include "batch/actions.h"
#include "batch/bundles.h"
#include "batch/heap.h"
#include "batch/search.h"
#include "batch/statement.h"
#include "batch/worksheet.h"

namespace coppice::batch {
namespace {

class GangEviction {
 public:
  using Kind = EvictionContext::Kind;

  GangEviction(Session& session, Kind kind)
      : session_(session),
        ask_(session.ask()),
        kind_(kind),
        remembers_(RemembersRefusals(session, "allocate")),
        queues_(
            [this](const QueueInfo* l, const QueueInfo* r) { return ask_.QueueBefore(*l, *r); }) {
    session.conf()
        .ArgumentsOf(kind == Kind::kGangPreempt ? "gangpreempt" : "gangreclaim")
        .Get("allowWholeBundle", allow_whole_);
    session.conf()
        .ArgumentsOf(kind == Kind::kGangPreempt ? "gangpreempt" : "gangreclaim")
        .Get("maxDomains", most_domains_);
    if (most_domains_ <= 0) most_domains_ = kMostDomains;
  }

  void Run() {
    std::vector<bool> seen(session_.queues().size());
    for (Job* job : session_.jobs()) {
      if (job->IsPending() || ask_.ValidateJob(*job)) continue;
      if (!seen[job->queue->index]) {
        seen[job->queue->index] = true;
        queues_.Push(job->queue);
      }
      if (!ask_.IsJobStarving(*job) || !session_.MayEvictFor(*job)) continue;
      if (!session_.WhyNoTopology(*job).empty()) continue;  // room alone would not help it
      starving_
          .try_emplace(job->queue,
                       [this](const Job* l, const Job* r) { return ask_.JobBefore(*l, *r); })
          .first->second.Push(job);
    }
    while (!queues_.empty() && !session_.failed()) {
      QueueInfo* queue = queues_.Pop();
      if (kind_ == Kind::kGangReclaim && ask_.IsOverused(*queue)) continue;
      const auto found = starving_.find(queue);
      if (found == starving_.end()) continue;
      while (!found->second.empty() && !session_.failed()) ForJob(*queue, *found->second.Pop());
    }
  }

 private:
  void ForJob(const QueueInfo& queue, Job& job) {
    Statement statement(session_);
    const bool planned = Plan(statement, queue, job);
    if (!ask_.IsJobPipelined(job)) return statement.Discard();
    session_.CommitEvicting(statement, ActionName());
    if (!planned) return;
    for (const auto& [sub_job, where] : nominated_) sub_job->nominated_hyper_node = where->name;
  }

  std::string_view ActionName() const {
    return kind_ == Kind::kGangPreempt ? "gangpreempt" : "gangreclaim";
  }

  // The tasks that need room: all, or of a job that runs those of the first sub-job.
  std::vector<Task*> PendingTasks(Job& job) {
    const bool ready = ask_.IsJobReady(job);
    Worksheet sheet = Worksheet::ForEviction(session_, job);
    std::vector<Task*> pending;
    while (!sheet.empty()) {
      TaskHeap& tasks = sheet.tasks(sheet.Pop());
      while (!tasks.empty()) pending.push_back(tasks.Pop());
      if (ready && !pending.empty()) break;
    }
    return pending;
  }

  bool Plan(Statement& statement, const QueueInfo& queue, Job& job) {
    const auto pending = PendingTasks(job);
    if (pending.empty()) return false;
    if (kind_ == Kind::kGangReclaim && !ask_.MayReclaim(queue, pending)) return false;
    const Resource need = SumOfRequests(pending);
    for (const HyperNode* domain : Domains(job)) {
      if (session_.failed()) return false;
      if (PlanIn(statement, queue, job, need, *domain)) return true;
    }
    return false;
  }

  // Those that the job may be in, in the order of their gradients.
  std::vector<const HyperNode*> Domains(const Job& job) const {
    const HyperNode& top = session_.hyper_nodes().top();
    std::vector<const HyperNode*> domains;
    for (const auto& row : ask_.GradientsOf(job, top, SearchPurpose::kEvict)) {
      for (const HyperNode* at : row) {
        if (std::ranges::find(domains, at) == domains.end()) domains.push_back(at);
      }
    }
    if (domains.size() > static_cast<size_t>(most_domains_))
      domains.resize(static_cast<size_t>(most_domains_));
    if (domains.empty() && !job.HasHardTopology()) domains.push_back(&top);
    return domains;
  }

  bool PlanIn(Statement& statement, const QueueInfo& queue, Job& job, const Resource& need,
              const HyperNode& domain) {
    const auto bundles = ChooseBundles(job, need, domain);
    Resource idle;
    for (const NodeInfo* node : session_.NodesOf(domain)) {
      idle.Add(node->idle);
      idle.Add(node->releasing);
    }
    std::vector<Task*> victims;
    for (const Bundle& bundle : bundles) {
      victims.insert(victims.end(), bundle.tasks.begin(), bundle.tasks.end());
      Resource available = idle;
      available.Add(SumOfRequests(victims));
      if (!need.LessEqual(available, Missing::kZero)) continue;
      const auto plan = TryOut(queue, job, victims, domain);
      if (plan && statement.Recover(*plan).ok()) return true;
    }
    return false;
  }

  bool MayTakeFrom(const Task& task, const Job& job) const {
    if (!task.preemptable || !task.job || !IsPreemptable(*task.job)) return false;
    const Job& other = *task.job;
    if (kind_ == Kind::kGangPreempt) {
      return batch::IsPreemptable(task.node_status) && other.queue == job.queue && &other != &job &&
             job.priority > other.priority;
    }
    return task.node_status == TaskStatus::kRunning && other.queue != job.queue &&
           other.queue->reclaimable();
  }

  // A group that says nothing may be taken from.
  static bool IsPreemptable(const Job& job) {
    return !AnnotationOrLabel(job.group.metadata, kPreemptableKey) || job.preemptable;
  }

  std::vector<Bundle> ChooseBundles(Job& job, const Resource& need, const HyperNode& domain) {
    std::map<std::string_view, std::vector<Task*>> by_job;
    for (const NodeInfo* node : session_.NodesOf(domain)) {
      for (Task* task : node->SortedTasks()) {
        if (MayTakeFrom(*task, job)) by_job[task->job->id].push_back(task);
      }
    }
    std::vector<Bundle> bundles;
    for (auto& [id, tasks] : by_job) {
      Job& victim = *tasks.front()->job;
      for (Bundle& bundle : MakeBundles(victim, std::move(tasks))) {
        bundles.push_back(std::move(bundle));
      }
    }
    const auto before = [&](const Job& l, const Job& r) {
      if (kind_ == Kind::kGangPreempt) return !ask_.JobBefore(l, r);
      return l.queue != r.queue && ask_.VictimQueueBefore(*l.queue, *r.queue, *job.queue);
    };
    SortBundles(bundles, need, before);
    std::vector<Task*> candidates;
    for (const Bundle& bundle : bundles) {
      candidates.insert(candidates.end(), bundle.tasks.begin(), bundle.tasks.end());
    }
    const auto allowed = ask_.UnifiedEvictable({.kind = kind_, .job = job}, candidates);
    if (allowed.empty()) return {};
    bundles = OnlyAllowed(std::move(bundles), allowed);
    SortBundles(bundles, need, before);
    if (!allow_whole_) {
      std::erase_if(bundles, [](const Bundle& b) { return b.kind == Bundle::Kind::kWhole; });
    }
    return bundles;
  }

  // What would have to be done; nothing if the job still would not get ready.
  std::optional<std::vector<Statement::Saved>> TryOut(const QueueInfo& queue, Job& job,
                                                      const std::vector<Task*>& victims,
                                                      const HyperNode& domain) {
    nominated_.clear();
    Worksheet sheet = Worksheet::ForEviction(session_, job);
    if (sheet.empty()) return std::nullopt;
    const bool was_ready = ask_.IsJobReady(job);
    std::vector<Statement> chain;
    chain.emplace_back(session_);
    for (Task* victim : victims) {
      chain.back().Evict(*victim, ActionName());
    }
    if (session_.failed()) return std::nullopt;
    bool pipelined = false;
    while (!sheet.empty()) {
      SubJob& sub_job = sheet.Pop();
      auto trial = TrySubJob(queue, sub_job, sheet.tasks(sub_job), !victims.empty(), domain);
      if (!trial) {
        pipelined = false;
        break;
      }
      chain.push_back(std::move(*trial));
      pipelined = ask_.IsJobPipelined(job);
      if (was_ready || pipelined) break;
    }
    std::optional<std::vector<Statement::Saved>> plan;
    if (pipelined) {
      plan.emplace();
      for (const Statement& statement : chain) statement.SaveTo(*plan);
    }
    for (auto statement = chain.rbegin(); statement != chain.rend(); ++statement) {
      statement->Discard();
    }
    return plan;
  }

  // In the first HyperNode of the domain that takes it.
  std::optional<Statement> TrySubJob(const QueueInfo& queue, SubJob& sub_job, const TaskHeap& tasks,
                                     bool evicting, const HyperNode& domain) {
    HyperNodeGradients gradients{{&domain}};
    if (sub_job.job->HasHardTopology())
      gradients = ask_.GradientsOf(sub_job, domain, SearchPurpose::kEvict);
    for (const auto& row : gradients) {
      for (const HyperNode* at : row) {
        auto trial = TrySubJobIn(queue, sub_job, tasks, evicting, *at);
        if (!trial) continue;
        nominated_[&sub_job] = at;
        return trial;
      }
    }
    return std::nullopt;
  }

  std::optional<Statement> TrySubJobIn(const QueueInfo& queue, SubJob& sub_job, TaskHeap tasks,
                                       bool evicting, const HyperNode& at) {
    Job& job = *sub_job.job;
    Statement trial(session_);
    NodeFilter filter(session_, remembers_);
    bool well = !session_.NodesOf(at).empty();
    while (well && !tasks.empty() && !session_.failed()) {
      Task& task = *tasks.Pop();
      NodeInfo* node = ask_.MayAllocate(queue, task) ? NodeFor(task, filter, at) : nullptr;
      well = node && trial.Pipeline(task, *node, evicting).ok();
      // Upstream takes back once more what has been taken back, and all who listen hear it twice.
      if (node && !well && session_.upstream_exact()) session_.UnPipeline(task);
    }
    well = well && !trial.empty() &&
           (ask_.IsSubJobReady(job, sub_job) || ask_.IsSubJobPipelined(job, sub_job));
    if (well) return trial;
    trial.Discard();
    return std::nullopt;
  }

  NodeInfo* NodeFor(Task& task, NodeFilter& filter, const HyperNode& at) {
    const AsKept as_kept(task);
    auto nodes = session_.NodesToTry(task);
    // Upstream takes no node left for no restriction at all.
    if (nodes.empty() && session_.upstream_exact()) nodes = session_.nodes();
    std::erase_if(nodes, [&](const NodeInfo* node) { return !at.Has(node->index); });
    if (nodes.empty() || !ask_.PrepareTask(task).ok()) return nullptr;
    const auto found = filter.Filter(task, nodes, [&](const Task& t, const NodeInfo& n) {
      return RoomThen(t, n, [&](const Task& asked, const NodeInfo& node) {
        return session_.CheckForPreempt(asked, node);
      });
    });
    NodeInfo* node = ChooseForAllocate(session_, task, found.nodes);
    return node && node->FitsFuture(task.req()) ? node : nullptr;
  }

  static constexpr int kMostDomains = 8;

  Session& session_;
  const Combine& ask_;
  Kind kind_;
  bool allow_whole_ = true;
  int most_domains_ = kMostDomains;
  bool remembers_;
  Heap<QueueInfo*> queues_;
  std::map<const QueueInfo*, Heap<Job*>> starving_;
  std::map<SubJob*, const HyperNode*> nominated_;  // by the plan that was tried last
};

}  // namespace

void GangPreempt(Session& session) {
  GangEviction(session, EvictionContext::Kind::kGangPreempt).Run();
}

void GangReclaim(Session& session) {
  GangEviction(session, EvictionContext::Kind::kGangReclaim).Run();
}

}  // namespace coppice::batch
