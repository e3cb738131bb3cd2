// tdm: nodes that are lent to batch work in certain hours. Inside its window a revocable node takes
// tasks that may be sent away again; outside of it they are moved, a few of a job at a time.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/go_duration.h"
#include "batch/plugin.h"
#include "batch/session.h"
#include "plugins/batch/tdm/windows.h"

namespace coppice::batch::tdm {
namespace {

constexpr std::string_view kWindowKey = "tdm.revocable-zone.";
constexpr int32_t kDefaultLeave = 1;  // of a job at a time

// When tasks were last moved. Outlives sessions.
struct LastMove {
  std::mutex mutex;
  std::optional<TimePoint> at;
};

// A number, or a percentage of `whole`, rounded up; 0 if it is neither.
int32_t NumberOrPercent(std::string_view text, size_t whole) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  int64_t value = 0;
  if (text.empty() || text.size() > 9) return 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    value = value * 10 + (c - '0');
  }
  if (percent) value = (value * static_cast<int64_t>(whole) + 99) / 100;
  return static_cast<int32_t>(std::min<int64_t>(value, INT32_MAX));
}

TaskStatus StatusOnNode(const Task& task) { return task.node ? task.node_status : task.status; }

class Tdm final : public Plugin,
                  public Predicate,
                  public NodeOrder,
                  public Preemptable,
                  public VictimTasks,
                  public JobOrder,
                  public JobPipelined,
                  public JobStarving {
 public:
  Tdm(const PluginContext& context, std::shared_ptr<LastMove> last) : last_(std::move(last)) {
    for (const auto& [key, value] : context.arguments.values()) {
      // Upstream looks for the prefix anywhere in the key.
      const size_t at = key.find(kWindowKey);
      if (at == std::string::npos) continue;
      std::string zone = key;
      zone.erase(at, kWindowKey.size());
      if (!value.AsText()) {
        broken_ = InvalidArgument("tdm: " + key + " must be a text such as \"10:00-21:00\"");
        return;
      }
      zones_.emplace(std::move(zone), Zone{*value.AsText(), Window::Parse(*value.AsText())});
    }
    ReadPeriod(context.arguments);
    std::string offset;
    if (!context.options.upstream_exact) context.arguments.Get("tdm.utc-offset", offset);
    if (offset.empty()) return;
    const auto parsed = ParseUtcOffset(offset);
    if (parsed.ok()) offset_ = *parsed;
    if (!parsed.ok()) broken_ = InvalidArgument("tdm.utc-offset: " + parsed.status().message());
  }

  const Status& broken() const { return broken_; }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    any_revocable_ = std::ranges::any_of(
        session.nodes(), [](const NodeInfo* node) { return !node->revocable_zone.empty(); });
    slots.predicate = this;
    slots.node_order = this;
    slots.preemptable = this;
    slots.victim_tasks = this;
    slots.job_order = this;
    slots.job_pipelined = this;
    slots.job_starving = this;
    return Status::Ok();
  }

  Fit CheckNode(const Task& task, const NodeInfo& node) override {
    if (node.revocable_zone.empty()) return nullptr;
    if (const Status open = OpenNow(node.revocable_zone); !open.ok()) {
      return Refuse(kFitUnresolvable, open.message(), "tdm");
    }
    if (!task.revocable_zone.empty()) return nullptr;
    return Refuse(kFitUnresolvable, "not allow to dispatch to revocable node", "tdm");
  }
  // Where nodes are lent the answer depends on a task's annotations, which its kind does not show.
  Scope PredicateScope(const Task&) const override {
    return any_revocable_ ? Scope::kAnything : Scope::kShapes;
  }

  Result<double> ScoreNode(const Task& task, const NodeInfo& node) override {
    if (node.revocable_zone.empty()) return 0.0;
    TRY(OpenNow(node.revocable_zone));
    return task.revocable_zone.empty() ? 0.0 : 100.0;
  }
  Scope NodeOrderScope(const Task& task) const override { return PredicateScope(task); }

  // Who may be sent away itself sends nobody away.
  Victims PreemptVictims(const Task& preemptor, std::span<Task* const> candidates) override {
    if (preemptor.preemptable || !preemptor.revocable_zone.empty()) {
      return {.tasks = {}, .vote = -1};
    }
    std::map<std::string_view, std::vector<Task*>> by_job;
    for (Task* task : candidates) {
      if (!task->preemptable || StatusOnNode(*task) != TaskStatus::kRunning || !task->job) continue;
      const NodeInfo* node = session_->FindNode(task->node_name);
      if (node && node->revocable_zone.empty()) by_job[task->job_id].push_back(task);
    }
    return {.tasks = WithinBudgets(by_job)};
  }

  std::vector<Task*> TasksToMove(std::span<Task* const>) override {
    {
      const std::lock_guard lock(last_->mutex);
      if (last_->at && session_->now() < Later(*last_->at, period_)) return {};
      last_->at = session_->now();
    }
    std::vector<Task*> victims;
    for (const auto& [name, zone] : zones_) {
      if (OpenNow(name).ok()) continue;
      std::map<std::string_view, std::vector<Task*>> by_job;
      for (const NodeInfo* node : session_->nodes()) {
        if (node->revocable_zone != name) continue;
        for (Task* task : node->SortedTasks()) {
          const bool goes = task->preemptable && task->node_status == TaskStatus::kRunning;
          if (goes && task->job) by_job[task->job_id].push_back(task);
        }
      }
      for (Task* task : WithinBudgets(by_job)) victims.push_back(task);
    }
    return victims;
  }

  int CompareJobs(const Job& l, const Job& r) override {
    if (l.preemptable == r.preemptable) return 0;
    return l.preemptable ? 1 : -1;
  }
  int JobPipelinedVote(const Job& job) override { return job.IsPipelined() ? 1 : -1; }
  bool IsJobStarving(const Job& job) override {
    return !job.preemptable && job.counts.of(TaskStatus::kPending) > 0;
  }

 private:
  struct Zone {
    std::string text;
    Result<Window> window;
  };

  void ReadPeriod(const Arguments& arguments) {
    const ArgumentValue* value = arguments.Find("tdm.evict.period");
    if (!value) return;
    if (!value->AsText()) {
      broken_ = InvalidArgument("tdm.evict.period must be a text such as 1m");
      return;
    }
    const auto period = ParseGoDuration(*value->AsText());
    if (period.ok()) period_ = *period;
  }

  // Whether the zone's nodes are lent now; else why not.
  Status OpenNow(std::string_view name) const {
    const auto zone = zones_.find(name);
    if (zone == zones_.end()) {
      return NotFound("revocable zone " + std::string(name) + " not support");
    }
    TRY(zone->second.window.status());
    if (zone->second.window->Contains(session_->now(), offset_, session_->upstream_exact())) {
      return Status::Ok();
    }
    return FailedPrecondition("current time beyond revocable zone " + std::string(name) + ":" +
                              zone->second.text);
  }

  // How many of the job's running tasks may go at once.
  static int32_t MayLeave(const Job& job) {
    const int32_t running = job.counts.of(TaskStatus::kRunning);
    if (!job.budget.max_unavailable.empty()) {
      const int32_t most = NumberOrPercent(job.budget.max_unavailable, job.tasks.size());
      const int32_t ended =
          job.counts.of(TaskStatus::kSucceeded) + job.counts.of(TaskStatus::kFailed);
      const int32_t missing = static_cast<int32_t>(job.tasks.size()) - ended - running;
      return std::max(most - missing, 0);
    }
    if (!job.budget.min_available.empty()) {
      const int32_t least = NumberOrPercent(job.budget.min_available, job.tasks.size());
      if (running >= least) return running - least;
    }
    return kDefaultLeave;
  }

  static std::vector<Task*> WithinBudgets(
      const std::map<std::string_view, std::vector<Task*>>& by_job) {
    std::vector<Task*> victims;
    for (const auto& [id, tasks] : by_job) {
      const auto most = static_cast<size_t>(MayLeave(*tasks.front()->job));
      victims.insert(victims.end(), tasks.begin(),
                     tasks.begin() + static_cast<ptrdiff_t>(std::min(most, tasks.size())));
    }
    return victims;
  }

  std::shared_ptr<LastMove> last_;
  std::map<std::string, Zone, std::less<>> zones_;
  Duration period_ = std::chrono::minutes(1);
  Duration offset_{};
  Status broken_;
  Session* session_ = nullptr;
  bool any_revocable_ = false;
};

}  // namespace

void Register(PluginRegistry& registry) {
  auto last = std::make_shared<LastMove>();
  registry.Add("tdm", [last](const PluginContext& context) -> Result<std::unique_ptr<Plugin>> {
    auto plugin = std::make_unique<Tdm>(context, last);
    TRY(plugin->broken());
    return std::unique_ptr<Plugin>(std::move(plugin));
  });
}

}  // namespace coppice::batch::tdm
