#include "batch/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "batch/actions.h"
#include "batch/statement.h"

namespace coppice::batch {
namespace {

struct AbsentPlugin {
  std::string_view name;
  std::string_view instead;
};
// Upstream has them, we do not. A name that upstream does not know either is told from these.
constexpr std::array<AbsentPlugin, 3> kAbsentPlugins{{
    {"numa-aware", "let the kubelet's topology manager align what lands on a node"},
    {"deviceshare", "offer whole devices as extended resources, or share them with DRA"},
    {"rescheduling", "run a descheduler beside the scheduler"},
}};

Status NoSuchPlugin(const PluginRegistry& plugins, const std::string& name) {
  const auto absent = std::ranges::find(kAbsentPlugins, name, &AbsentPlugin::name);
  if (absent == kAbsentPlugins.end()) return plugins.Find(name).status();
  return Unimplemented("the plug-in '" + name + "' is not part of this scheduler; instead, " +
                       std::string(absent->instead) + ", and take it out of the configuration");
}

// What the list of that name says to each.
Result<std::vector<Arguments>> ReadExtenders(const Conf& conf) {
  std::vector<Arguments> all;
  if (!conf.extenders || conf.extenders->is_null()) return all;
  const ArgumentValue::List* list = conf.extenders->AsList();
  if (!list) return InvalidArgument("extenders must be a list");
  for (const ArgumentValue& item : *list) {
    if (!item.AsMap()) return InvalidArgument("each of the extenders must be a map");
    all.emplace_back(*item.AsMap());
  }
  return all;
}

PluginContext ExtenderContext(const Arguments& arguments, const Options& options,
                              const fit::FilterRegistry& filters) {
  return {.name = kListedExtender, .arguments = arguments, .options = options, .filters = filters};
}

}  // namespace

Status Session::CheckPlugins(const Conf& conf, const Options& options,
                             const PluginRegistry& plugins, const fit::FilterRegistry& filters) {
  const auto check = [&](const std::string& name, const PluginContext& context) {
    return options.upstream_exact ? Status::Ok()
                                  : plugins.Make(name, context).status().Context(context.name);
  };
  for (const Tier& tier : conf.tiers) {
    for (const PluginOption& option : tier.plugins) {
      if (!plugins.Has(option.name)) return NoSuchPlugin(plugins, option.name);
      TRY(check(option.name, {.name = option.name,
                              .arguments = option.arguments,
                              .options = options,
                              .filters = filters}));
    }
  }
  if (options.upstream_exact) return Status::Ok();
  for (const Arguments& arguments : TRY(ReadExtenders(conf))) {
    TRY(check("extender", ExtenderContext(arguments, options, filters)));
  }
  return Status::Ok();
}

Session::Session(const Conf& conf, const Options& options, cluster::Snapshot& snapshot,
                 SessionInput input)
    : conf_(conf),
      options_(options),
      input_(std::move(input)),
      view_(std::make_unique<KubeView>(snapshot)),
      combine_(options.upstream_exact) {}

Session::~Session() {
  if (roster_ != nullptr) roster_->SessionEnded(changed_nodes_);
}

const std::deque<Task>& Session::tasks() const {
  return roster_ != nullptr ? roster_->tasks() : tasks_;
}

Result<std::unique_ptr<Session>> Session::Open(const Conf& conf, const Options& options,
                                               const PluginRegistry& plugins,
                                               const fit::FilterRegistry& filters,
                                               cluster::Snapshot& snapshot, SessionInput input) {
  std::unique_ptr<Session> session(new Session(conf, options, snapshot, std::move(input)));
  session->ReadNodes();
  session->ReadQueues();
  session->ReadGroups();
  session->ReadPods();
  session->SettleTopologies();
  TRY(session->OpenPlugins(plugins, filters));
  return session;
}

Result<std::unique_ptr<Session>> Session::Open(const Conf& conf, const Options& options,
                                               const PluginRegistry& plugins,
                                               const fit::FilterRegistry& filters,
                                               cluster::Snapshot& snapshot, SessionInput input,
                                               Roster& roster) {
  std::unique_ptr<Session> session(new Session(conf, options, snapshot, std::move(input)));
  session->ReadQueues();
  session->TakeOver(roster);
  session->SettleTopologies();
  TRY(session->OpenPlugins(plugins, filters));
  return session;
}

Status Session::OpenPlugins(const PluginRegistry& plugins, const fit::FilterRegistry& filters) {
  std::map<std::string, int> entries;
  for (const Tier& tier : conf_.tiers) {
    for (const PluginOption& option : tier.plugins) {
      if (!plugins.Has(option.name)) {
        if (upstream_exact()) continue;  // passes over what it does not know
        return NoSuchPlugin(plugins, option.name);
      }
      const PluginContext context{.name = option.name,
                                  .arguments = option.arguments,
                                  .options = options_,
                                  .filters = filters};
      const Stopwatch stopwatch(*this);
      auto plugin = TRY(plugins.Make(option.name, context));
      const std::string slot = combine_.SlotName(option.name, ++entries[option.name]);
      TRY(plugin->Open(*this, slots_[slot]));
      stopwatch.StopInto(outcome_.numbers.opened, option.name);
      plugins_.emplace_back(slot, std::move(plugin));
    }
  }
  combine_.Build(conf_.tiers, slots_);
  return upstream_exact() ? Status::Ok() : OpenExtenders(plugins, filters);
}

Status Session::OpenExtenders(const PluginRegistry& plugins, const fit::FilterRegistry& filters) {
  std::vector<Slots> last;
  for (const Arguments& arguments : TRY(ReadExtenders(conf_))) {
    auto plugin = TRY(plugins.Make("extender", ExtenderContext(arguments, options_, filters)));
    TRY(plugin->Open(*this, last.emplace_back()));
    plugins_.emplace_back("extenders#" + std::to_string(last.size()), std::move(plugin));
  }
  combine_.BuildLast(last);
  return Status::Ok();
}

News Session::GatherNews() const {
  News news;
  for (const auto& [slot, plugin] : plugins_) {
    if (const auto* teller = dynamic_cast<const TellsNews*>(plugin.get())) teller->TellNews(news);
  }
  return news;
}

NodeInfo* Session::FindNode(std::string_view name) const {
  const auto found = node_by_name_.find(name);
  return found == node_by_name_.end() ? nullptr : found->second;
}

Job* Session::FindJob(std::string_view id) const {
  const auto found = job_by_id_.find(id);
  return found == job_by_id_.end() ? nullptr : found->second;
}

QueueInfo* Session::FindQueue(std::string_view name) const {
  const auto found = std::ranges::find(queue_list_, name, &QueueInfo::name);
  return found == queue_list_.end() ? nullptr : *found;
}

bool Session::HierarchyEnabled(std::string_view plugin) const {
  for (const Tier& tier : conf_.tiers) {
    for (const PluginOption& option : tier.plugins) {
      if (option.name == plugin) return option.enabled(Flag::kHierarchy);
    }
  }
  return false;
}

void Session::Run() {
  for (const std::string& action : conf_.actions) {
    if (failed()) return;
    RunAction(action, *this);
  }
}

void Session::Fail(Status why) {
  if (outcome_.failure.ok()) outcome_.failure = std::move(why);
}

std::vector<std::string> Session::TellAllocated(Task& task) {
  if (!upstream_exact() && task.node) view_->Place(task, *task.node);
  std::vector<std::string> errors;
  for (EventHandler* handler : handlers_) {
    Event event{.task = task};
    if (failed()) break;  // it is over, nobody hears more of it
    handler->OnAllocate(event);
    if (!event.error.empty()) errors.push_back(std::move(event.error));
  }
  return errors;
}

void Session::TellDeallocated(Task& task) {
  if (!upstream_exact()) {
    if (NodeInfo* node = FindNode(task.node_name)) view_->Remove(task, *node);
  }
  for (EventHandler* handler : handlers_) {
    Event event{.task = task};
    if (failed()) break;
    handler->OnDeallocate(event);
  }
}

Status Session::CommitBind(Task& task) {
  NodeInfo* node = FindNode(task.node_name);
  if (!node) return NotFound("node " + std::string(task.node_name));
  if (!task.req().LessEqual(node->unbound_idle, Missing::kZero)) {
    const Dimensions room = LessEqualNamed(task.req(), node->unbound_idle, Missing::kZero);
    return ResourceExhausted(
        fmt::format("node {} resources [{}] are not enough to put task <{}/{}>, idle: {}, req: {}",
                    node->name, Join(room.names, " "), task.namespace_, task.name,
                    node->unbound_idle.ToString(), task.req().ToString()));
  }
  (void)node->unbound_idle.Sub(task.req());
  outcome_.binds.push_back(
      {.pod = {std::string(task.namespace_), std::string(task.name), std::string(task.uid)},
       .node = std::string(node->name)});
  if (const auto own = bind_annotations_.find(task.index); own != bind_annotations_.end())
    outcome_.binds.back().annotations = own->second;
  for (const ChooseDelegate& choose : binders_) {
    if ((outcome_.binds.back().delegate = choose(task))) break;
  }
  task.job->SetStatus(task, TaskStatus::kBinding);
  return Status::Ok();
}

void Session::CommitEviction(Task& task, std::string_view reason) {
  outcome_.evictions.push_back(
      {.pod = {std::string(task.namespace_), std::string(task.name), std::string(task.uid)},
       .reason = std::string(reason)});
  NoteEvent("PodGroup", task.job->namespace_, task.job->name, "Normal", "Evict",
            std::string(reason));
}

void Session::CommitEvicting(Statement& statement, std::string_view action) {
  if (statement.HasEvictions()) ++outcome_.numbers.transactions[std::string(action)];
  statement.Commit();
}

Status Session::Place(Task& task, NodeInfo& node) {
  task.pod_node_name = node.name;
  task.job->SetStatus(task, TaskStatus::kAllocated);
  task.node_name = node.name;
  TRY(node.Add(task));
  (void)TellAllocated(task);
  if (!combine_.IsJobReady(*task.job)) return Status::Ok();
  for (Task* other : task.job->tasks) {
    if (other->status == TaskStatus::kAllocated) TRY(CommitBind(*other));
  }
  return Status::Ok();
}

Status Session::EvictNow(Task& task, std::string_view reason) {
  if (!task.job) return NotFound("the task's job");
  CommitEviction(task, reason);
  task.job->SetStatus(task, TaskStatus::kReleasing);
  if (task.node) task.node->Update(task);
  TellDeallocated(task);
  return Status::Ok();
}

void Session::UnPipeline(Task& task) {
  task.job->SetStatus(task, TaskStatus::kPending);
  if (NodeInfo* node = FindNode(task.node_name)) node->Remove(task);
  TellDeallocated(task);
  task.node_name = {};
  task.job_allocated_hyper_node = {};
}

Fit Session::CheckForAllocate(const Task& task, const NodeInfo& node) const {
  if (Fit held = HeldForAnother(task, node)) return held;
  Fit refusal = combine_.CheckNode(task, node);
  if (!refusal || !upstream_exact() || refusal->plain_error) return refusal;
  // A code that upstream does not know refuses nothing.
  const bool known = refusal->Has(kFitUnschedulable) || refusal->Has(kFitUnresolvable) ||
                     refusal->HasErrorSkipOrWait();
  return known ? refusal : nullptr;
}

Fit Session::CheckForPreempt(const Task& task, const NodeInfo& node) const {
  if (Fit held = HeldForAnother(task, node)) return held;
  return combine_.CheckNodeForPreempt(task, node);
}

std::vector<NodeInfo*> Session::NodesToTry(const Task& task) const {
  if (!task.job) return node_list_;
  const auto found = task.job->task_fit_errors.find(task.index);
  if (found == task.job->task_fit_errors.end() || !found->second->HasUnresolvable()) {
    return node_list_;
  }
  std::vector<NodeInfo*> left;
  for (NodeInfo* node : node_list_) {
    if (!found->second->IsUnresolvable(*node)) left.push_back(node);
  }
  return left;
}

void Session::NoteEvent(std::string kind, std::string_view namespace_, std::string_view name,
                        std::string_view type, std::string_view reason, std::string message) {
  outcome_.events.push_back({.kind = std::move(kind),
                             .namespace_ = std::string(namespace_),
                             .name = std::string(name),
                             .type = std::string(type),
                             .reason = std::string(reason),
                             .message = std::move(message)});
}

void Session::RecordGroupEvent(const Job& job, std::string_view type, std::string_view reason,
                               std::string message) {
  NoteEvent("PodGroup", job.namespace_, job.name, type, reason, std::move(message));
}

void Session::SetGroupCondition(Job& job, model::PodGroupCondition condition) {
  auto& conditions = job.group.status.conditions;
  const auto same = std::ranges::find(conditions, condition.type, &model::PodGroupCondition::type);
  if (same == conditions.end()) {
    conditions.push_back(std::move(condition));
  } else {
    *same = std::move(condition);
  }
}

}  // namespace coppice::batch
