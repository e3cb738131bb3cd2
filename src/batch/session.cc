#include "batch/session.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "batch/actions.h"

namespace coppice::batch {
namespace {

struct AbsentPlugin {
  std::string_view name;
  std::string_view instead;
};
// Upstream has them, we do not. A name that upstream does not know either is told from these.
constexpr std::array<AbsentPlugin, 8> kAbsentPlugins{{
    {"numa-aware", "let the kubelet's topology manager align what lands on a node"},
    {"deviceshare", "offer whole devices as extended resources, or share them with DRA"},
    {"rescheduling", "run a descheduler beside the scheduler"},
    {"tdm", "put a taint on nodes outside of their hours"},
    {"task-topology", "use pod affinity between the roles of a job"},
    {"usage", "take nodes above their limits out by a taint"},
    {"resource-strategy-fit", "use binpack or nodeorder with weights"},
    {"network-topology-aware", "use node affinity on the labels of the network's levels"},
}};

Status NoSuchPlugin(const PluginRegistry& plugins, const std::string& name) {
  const auto absent = std::ranges::find(kAbsentPlugins, name, &AbsentPlugin::name);
  if (absent == kAbsentPlugins.end()) return plugins.Find(name).status();
  return Unimplemented("the plug-in '" + name + "' is not part of this scheduler; instead, " +
                       std::string(absent->instead) + ", and take it out of the configuration");
}

}  // namespace

Status CheckPlugins(const Conf& conf, const PluginRegistry& plugins) {
  for (const Tier& tier : conf.tiers) {
    for (const PluginOption& option : tier.plugins) {
      if (!plugins.Has(option.name)) return NoSuchPlugin(plugins, option.name);
    }
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
  TRY(session->OpenPlugins(plugins, filters));
  return session;
}

void Session::TakeOver(Roster& roster) {
  roster_ = &roster;
  node_list_ = roster.nodes();
  view_->SetNodes(node_list_.size());
  node_by_name_.reserve(node_list_.size());
  for (uint32_t i = 0; i < node_list_.size(); ++i) {
    NodeInfo& node = *node_list_[i];
    node.index = i;
    node.changed = &changed_nodes_;
    node_by_name_.emplace(node.name, &node);
    total_.Add(node.allocatable);
    view_->SetScoring(node);
  }
  const Priorities priorities = ReadPriorities();
  for (const auto& [id, job] : roster.jobs()) {
    job->queue = QueueOf(*job);
    if (job->queue == nullptr) {
      roster.PutAside(*job);
      continue;
    }
    const auto priority = priorities.by_name.find(job->group.spec.priority_class_name);
    job->priority = priority == priorities.by_name.end() ? priorities.by_default : priority->second;
    job_by_id_.emplace_hint(job_by_id_.end(), id, job);
  }
  ListJobs();
}

void Session::ReadNodes() {
  view_->SetNodes(input_.nodes.size());
  for (const SessionInput::NodeEntry& entry : input_.nodes) {
    NodeInfo& node = nodes_.emplace_back(entry.object);
    node.index = static_cast<uint32_t>(node_list_.size());
    node.snapshot_index = entry.index;
    node_list_.push_back(&node);
    node_by_name_.emplace(node.name, &node);
    total_.Add(node.allocatable);
  }
}

void Session::ReadQueues() {
  for (const model::Queue& object : input_.queues) {
    QueueInfo& queue = queues_.emplace_back();
    queue.name = object.metadata.name;
    queue.weight = object.spec.weight;
    const auto annotation = [&](std::string_view key) {
      const std::string* text = object.metadata.annotations.Find(key);
      return text ? *text : std::string();
    };
    queue.weights = annotation("volcano.sh/hierarchy-weights");
    queue.hierarchy = annotation("volcano.sh/hierarchy");
    queue.object = object;
    queue_list_.push_back(&queue);
  }
  std::ranges::sort(queue_list_, {}, &QueueInfo::name);
  for (uint32_t i = 0; i < queue_list_.size(); ++i) queue_list_[i]->index = i;
  for (const model::ResourceQuota& quota : input_.quotas) {
    NamespaceInfo& info = namespaces_[quota.metadata.namespace_];
    info.name = quota.metadata.namespace_;
    info.quotas[quota.metadata.name] = quota.status;
  }
}

Session::Priorities Session::ReadPriorities() const {
  Priorities priorities;
  for (const model::PriorityClass& priority : input_.priority_classes) {
    if (priority.global_default) priorities.by_default = priority.value;
    priorities.by_name[priority.metadata.name] = priority.value;
  }
  return priorities;
}

// Null: of a queue that is not there, as if it were not there either.
QueueInfo* Session::QueueOf(Job& job) const {
  const std::string& named = job.group.spec.queue;
  job.queue_name = named.empty() ? options_.default_queue : named;
  return FindQueue(job.queue_name);
}

void Session::ReadGroups() {
  const Priorities priorities = ReadPriorities();
  for (const model::PodGroup& group : input_.groups) {
    Job& job = jobs_.emplace_back(group);
    job.queue = QueueOf(job);
    if (!job.queue) {
      jobs_.pop_back();
      continue;
    }
    const auto priority = priorities.by_name.find(group.spec.priority_class_name);
    job.priority = priority == priorities.by_name.end() ? priorities.by_default : priority->second;
    job_by_id_.emplace(job.id, &job);
  }
  ListJobs();
}

void Session::ListJobs() {
  for (const auto& [id, job] : job_by_id_) {
    job->index = static_cast<uint32_t>(job_list_.size());
    job_list_.push_back(job);
  }
}

void Session::ReadPods() {
  // Who asks for the same shares one amount: a gang has one for all of its tasks.
  std::map<std::tuple<double, double, std::vector<std::pair<ScalarKey, double>>>,
           std::shared_ptr<const Resource>>
      requests;
  for (const SessionInput::PodEntry& entry : input_.pods) {
    const model::Pod& pod = *entry.object;
    const bool ours = std::ranges::find(options_.scheduler_names, pod.spec.scheduler_name) !=
                      options_.scheduler_names.end();
    if (!ours && pod.spec.node_name.empty()) continue;
    Task& task = tasks_.emplace_back(MakeTask(entry.object));
    task.index = static_cast<uint32_t>(tasks_.size() - 1);
    task.pod_index = entry.index;
    Resource request = PodRequest(pod);
    std::vector<std::pair<ScalarKey, double>> scalars;
    for (const auto& [key, value] : request.scalars()) scalars.emplace_back(key, value);
    auto& shared = requests[{request.cpu, request.memory, std::move(scalars)}];
    if (!shared) shared = std::make_shared<const Resource>(std::move(request));
    task.request = shared;
    task.best_effort = shared->IsEmpty();
    PutOnNode(task);
    const std::string job_id = JobIdOf(pod);
    if (job_id.empty()) continue;
    if (Job* job = FindJob(job_id)) {
      task.job_id = job->id;
      job->AddTask(task);
    } else {
      task.job_id = orphan_job_ids_.emplace(job_id, 0).first->first;
    }
  }
  for (Job* job : job_list_) job->Finish();
  for (NodeInfo* node : node_list_) {
    node->changed = &changed_nodes_;
    view_->SetScoring(*node);
  }
}

void Session::PutOnNode(Task& task) {
  if (task.node_name.empty() || IsCompleted(task.status)) return;
  NodeInfo* node = FindNode(task.node_name);
  if (!node || !node->Add(task).ok()) return;
  (void)node->unbound_idle.Sub(task.req());
  node->CountScoring(task, 1);
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
      auto plugin = TRY(plugins.Make(option.name, context));
      const std::string slot = combine_.SlotName(option.name, ++entries[option.name]);
      TRY(plugin->Open(*this, slots_[slot]));
      plugins_.emplace_back(slot, std::move(plugin));
    }
  }
  combine_.Build(conf_.tiers, slots_);
  return upstream_exact() ? Status::Ok() : OpenExtenders(plugins, filters);
}

// The list of that name: what it says without a prefix is what the plug-in `extender` is told with.
Status Session::OpenExtenders(const PluginRegistry& plugins, const fit::FilterRegistry& filters) {
  if (!conf_.extenders || conf_.extenders->is_null()) return Status::Ok();
  const ArgumentValue::List* list = conf_.extenders->AsList();
  if (!list) return InvalidArgument("extenders must be a list");
  std::vector<Slots> last;
  for (const ArgumentValue& item : *list) {
    if (!item.AsMap()) return InvalidArgument("each of the extenders must be a map");
    ArgumentValue::Map values;
    for (const auto& [key, value] : *item.AsMap()) values["extender." + key] = value;
    const Arguments arguments(std::move(values));
    const PluginContext context{
        .name = "extender", .arguments = arguments, .options = options_, .filters = filters};
    auto plugin = TRY(plugins.Make("extender", context));
    TRY(plugin->Open(*this, last.emplace_back()));
    plugins_.emplace_back("extenders#" + std::to_string(last.size()), std::move(plugin));
  }
  combine_.BuildLast(last);
  return Status::Ok();
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
    handler->OnDeallocate(event);
  }
}

Status Session::CommitBind(Task& task) {
  NodeInfo* node = FindNode(task.node_name);
  if (!node) return NotFound("node " + std::string(task.node_name));
  if (!task.req().LessEqual(node->unbound_idle, Missing::kZero)) {
    return ResourceExhausted("no room on node " + std::string(node->name));
  }
  (void)node->unbound_idle.Sub(task.req());
  outcome_.binds.push_back(
      {.pod = {std::string(task.namespace_), std::string(task.name), std::string(task.uid)},
       .node = std::string(node->name)});
  if (const auto own = bind_annotations_.find(task.index); own != bind_annotations_.end())
    outcome_.binds.back().annotations = own->second;
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
  if (task.node) task.node->Remove(task);
  TellDeallocated(task);
  task.node_name = {};
  task.job_allocated_hyper_node = {};
}

Fit Session::CheckForAllocate(const Task& task, const NodeInfo& node) const {
  Fit refusal = combine_.CheckNode(task, node);
  if (!refusal || !upstream_exact() || refusal->plain_error) return refusal;
  // A code that upstream does not know refuses nothing.
  const bool known = refusal->Has(kFitUnschedulable) || refusal->Has(kFitUnresolvable) ||
                     refusal->HasErrorSkipOrWait();
  return known ? refusal : nullptr;
}

Fit Session::CheckForPreempt(const Task& task, const NodeInfo& node) const {
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
