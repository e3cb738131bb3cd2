#include "batch/buying/trial.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "batch/buying/confined.h"
#include "batch/class_table.h"
#include "batch/search.h"
#include "batch/statement.h"

namespace coppice::batch {
namespace {

class Trials {
 public:
  explicit Trials(Session& session) : session_(session), ask_(session.ask()), tables_(session) {}
  ~Trials() {
    for (auto s = statements_.rbegin(); s != statements_.rend(); ++s) s->Discard();
    // What a pod's condition says is the actions' business: a trial leaves no trace there either.
    for (auto one = touched_.rbegin(); one != touched_.rend(); ++one) {
      one->task->last_transaction = one->last_transaction;
      one->task->node_last_transaction = one->node_last_transaction;
      one->task->pod_node_name = one->pod_node_name;
    }
  }
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  void Try(WaitingJob& waiting) {
    Job* job = session_.FindJob(waiting.id);
    if (job == nullptr) return;
    waiting.tried = true;
    waiting.blocked = Blocked(*job);
    if (!waiting.blocked.empty()) return;
    const std::vector<Task*> needed = Needed(*job, waiting);
    within_ = &session_.hyper_nodes().top();
    if (session_.IsConfined(*job) && !ChoosePlace(waiting, *job, needed)) return;
    Statement statement(session_);
    const bool beyond_all = BeyondAllThereIs(*job, needed);
    TryTasks(waiting, *job, needed, beyond_all, statement);
    if (waiting.blocked.empty() && waiting.uncreated > 0 && !beyond_all && !MayHaveUncreated(*job))
      waiting.blocked = "its queue " + job->queue_name + " may not have more";
    // Who will not start whatever is bought keeps no room from the others.
    const bool keeps =
        waiting.blocked.empty() && !beyond_all && !session_.input().refused.contains(job->id);
    if (keeps) {
      statements_.push_back(std::move(statement));
    } else {
      statement.Discard();
    }
  }

 private:
  // Within the HyperNode that is looked at.
  void TryTasks(WaitingJob& waiting, Job& job, const std::vector<Task*>& needed, bool beyond_all,
                Statement& statement) {
    missing_ = Resource();
    no_room_.clear();
    for (Task* task : needed) {
      WaitingJob::Task* shown = Find(waiting, *task);
      if (shown == nullptr) continue;
      if (!beyond_all && !MayHave(job, *task)) {
        waiting.blocked = "its queue " + job.queue_name + " may not have more";
        break;
      }
      touched_.push_back(
          {task, task->last_transaction, task->node_last_transaction, task->pod_node_name});
      if (NodeInfo* node = RoomFor(*task);
          node != nullptr && statement.Allocate(*task, *node).ok()) {
        shown->node = node->name;
      } else {
        shown->needed = true;
        missing_.Add(task->req());
        no_room_.insert(task->role);
      }
    }
  }

  // Where the fewest of its tasks are without room; the other places come after it. False: nowhere.
  bool ChoosePlace(WaitingJob& waiting, Job& job, const std::vector<Task*>& needed) {
    Domains domains = DomainsOf(session_, job);
    waiting.blocked = std::move(domains.why_not);
    if (!waiting.blocked.empty()) return false;
    const std::vector<WaitingJob::Task> untried = waiting.tasks;
    struct Found {
      const HyperNode* at;
      std::vector<WaitingJob::Task> tasks;
      std::ptrdiff_t missing;
    };
    std::vector<Found> found;
    for (const HyperNode* at : domains.hyper_nodes) {
      within_ = at;
      waiting.tasks = untried;
      Statement statement(session_);
      TryTasks(waiting, job, needed, true, statement);
      statement.Discard();
      const auto missing = std::ranges::count_if(waiting.tasks, &WaitingJob::Task::needed);
      found.push_back({at, std::exchange(waiting.tasks, untried), missing});
    }
    std::ranges::stable_sort(found, {}, &Found::missing);
    if (found.size() > kMostPlaces) found.resize(kMostPlaces);
    within_ = found.front().at;
    waiting.place = PlaceOf(*within_);
    for (size_t i = 1; i < found.size(); ++i)
      waiting.elsewhere.push_back({PlaceOf(*found[i].at), std::move(found[i].tasks)});
    return true;
  }

  // What no purchase would change.
  std::string Blocked(const Job& job) const {
    if (job.IsPending() && !job.kept_out_by_promises)
      return "it is not admitted to its queue " + job.queue_name;
    const std::string& state = job.queue->object.status.state;
    if (!state.empty() && state != "Open") return "its queue " + job.queue_name + " is " + state;
    // Of a queue that nobody has asked anything of yet, its share is nothing.
    if (!job.tasks.empty() && ask_.IsOverused(*job.queue))
      return "its queue " + job.queue_name + " has all that it may have";
    if (std::string why = session_.WhyNoTopology(job); !why.empty()) return why;
    if (static_cast<int32_t>(job.tasks.size()) < job.min_available) return "";  // more are to come
    if (const auto invalid = ask_.ValidateJob(job)) return invalid->message;
    return "";
  }

  // The tasks that the job lacks to start, in their order: of each role as many as it demands, then
  // others up to the minimum. All of a job that has its minimum, or that has sub-groups.
  std::vector<Task*> Needed(const Job& job, const WaitingJob& waiting) const {
    std::vector<Task*> pending;
    for (Task* task : job.tasks) {
      if (task->status == TaskStatus::kPending && !task->gated && !task->best_effort)
        pending.push_back(task);
    }
    std::ranges::sort(pending,
                      [&](const Task* l, const Task* r) { return ask_.TaskBefore(*l, *r); });
    if (waiting.ready || job.HasSubJobPolicy()) return pending;
    std::map<std::string_view, int32_t> of_role;
    for (const Role& role : job.roles) {
      const int32_t there = role.counts.Ready() + role.counts.Waiting();
      of_role[role.name] = std::max(0, role.min_available.value_or(0) - there);
    }
    int32_t left = job.min_available - job.counts.Ready() - job.counts.Waiting() -
                   job.counts.pending_best_effort;
    std::vector<Task*> needed;
    for (Task* task : pending) {
      int32_t& demanded = of_role[task->role];
      if (demanded <= 0) continue;
      --demanded;
      --left;
      needed.push_back(task);
    }
    const std::set<const Task*> chosen(needed.begin(), needed.end());
    for (Task* task : pending) {
      if (left <= 0) break;
      if (chosen.contains(task)) continue;
      --left;
      needed.push_back(task);
    }
    return needed;
  }

  static WaitingJob::Task* Find(WaitingJob& waiting, const Task& task) {
    const auto found = std::ranges::find(waiting.tasks, task.pod, &WaitingJob::Task::pod);
    return found == waiting.tasks.end() ? nullptr : &*found;
  }

  // More than the cluster has and anybody sells: not the queue's doing. Sellers say what they lack.
  bool BeyondAllThereIs(const Job& job, const std::vector<Task*>& needed) const {
    Resource whole;
    for (const Task* task : needed) whole.Add(task->req());
    if (job.HasMinResources() && static_cast<int32_t>(job.tasks.size()) < job.min_available)
      whole = Max(whole, job.MinResources());
    return !whole.LessEqual(session_.total(), Missing::kZero);
  }

  // With all that would be bought before it: explicit ceilings hold for what is not there yet, too.
  bool MayHave(const Job& job, const Task& task) {
    Task probe = task;
    Resource with = missing_;
    with.Add(task.req());
    probe.request = std::make_shared<const Resource>(std::move(with));
    return ask_.MayAllocate(*job.queue, probe);
  }
  bool MayHaveUncreated(const Job& job) {
    if (job.tasks.empty() || !job.HasMinResources()) return true;
    Resource rest = job.MinResources();
    Resource asked;
    for (const Task* task : job.tasks) asked.Add(task->req());
    if (rest.LessEqual(asked, Missing::kZero)) return true;
    Task probe = *job.tasks.front();
    probe.request = std::make_shared<const Resource>(job.MinResources());
    return ask_.MayAllocate(*job.queue, probe);
  }

  NodeInfo* RoomFor(Task& task) {
    if (no_room_.contains(task.role) || !ask_.PrepareTask(task).ok()) return nullptr;
    const bool everywhere = within_ == &session_.hyper_nodes().top();
    const ClassTables::Choice choice = everywhere ? tables_.Choose(task) : ClassTables::Choice{};
    NodeInfo* node = choice.node;
    if (!choice.known) {
      NodeFilter filter(session_, false);
      const auto found = filter.Filter(
          task, session_.NodesOf(*within_), [&](const Task& asked, const NodeInfo& on) {
            return RoomThen(asked, on, [&](const Task& t, const NodeInfo& n) {
              return session_.CheckForAllocate(t, n);
            });
          });
      node = found.nodes.empty() ? nullptr : ChooseForAllocate(session_, task, found.nodes);
    }
    return node != nullptr && node->FitsIdle(task.req()) ? node : nullptr;
  }

  Session& session_;
  const Combine& ask_;
  static constexpr size_t kMostPlaces = 8;

  ClassTables tables_;
  const HyperNode* within_ = nullptr;  // where room is looked for
  std::vector<Statement> statements_;
  struct Touched {
    Task* task;
    std::optional<TransactionContext> last_transaction;
    std::optional<TransactionContext> node_last_transaction;
    std::string_view pod_node_name;
  };
  std::vector<Touched> touched_;
  Resource missing_;
  std::set<std::string_view> no_room_;  // roles
};

}  // namespace

void TryWaiting(Session& session, std::vector<WaitingJob>& waiting, size_t most) {
  std::vector<WaitingJob*> order;
  for (WaitingJob& job : waiting) order.push_back(&job);
  const auto& refused = session.input().refused;
  std::ranges::sort(order, [&](const WaitingJob* l, const WaitingJob* r) {
    const bool l_last = refused.contains(l->id);
    const bool r_last = refused.contains(r->id);
    if (l_last != r_last) return r_last;
    if (l->admitted != r->admitted) return l->admitted;
    if (l->priority != r->priority) return l->priority > r->priority;
    return l->id < r->id;
  });
  Trials trials(session);
  for (size_t i = 0; i < order.size() && i < most && !session.failed(); ++i) trials.Try(*order[i]);
}

}  // namespace coppice::batch
