#include "batch/roster.h"

#include <algorithm>
#include <utility>

#include "batch/ended_pod.h"

namespace coppice::batch {
namespace {

constexpr size_t kMostAmounts = 10'000;

std::string KeyOf(const model::ObjectMeta& meta) { return meta.namespace_ + "/" + meta.name; }

// As it was before any session.
void ResetChoice(Task& task) {
  static_cast<TransactionContext&>(task) = {};
  task.node_name = task.pod_node_name = task.pod->spec.node_name;
  task.left_behind_on = nullptr;
  task.nomination_void = false;
  task.status = StatusOf(*task.pod);
  task.last_transaction.reset();
}

}  // namespace

Roster::Roster(cluster::World& world, std::vector<std::string> scheduler_names, Arrived arrived)
    : world_(world), scheduler_names_(std::move(scheduler_names)), arrived_(std::move(arrived)) {
  world_.WatchPods([this](const cluster::PodPtr& before, const cluster::PodPtr& after) {
    changed_pods_.insert(KeyOf((after ? after : before)->metadata));
    if (arrived_ && !before && after && after->spec.node_name.empty() && IsOurs(*after))
      arrived_(after);
  });
  ForgetAll();
}

Roster::~Roster() { world_.WatchPods(nullptr); }

void Roster::ForgetAll() {
  live_.clear();
  ended_.clear();
  ended_version_ = group_version_ = 0;
  dirty_nodes_.clear();
  dirty_jobs_.clear();
  jobs_.clear();
  job_slots_.clear();
  node_list_.clear();
  nodes_.clear();
  tasks_.clear();
  free_.clear();
  waiting_ = 0;
  for (const cluster::World::PodEntry* entry : world_.Pods())
    changed_pods_.insert(KeyOf(entry->pod->metadata));
}

bool Roster::IsOurs(const model::Pod& pod) const {
  return std::ranges::find(scheduler_names_, pod.spec.scheduler_name) != scheduler_names_.end();
}

void Roster::Mark(NodeSlot& slot) {
  if (!std::exchange(slot.dirty, true)) dirty_nodes_.push_back(&slot);
}

void Roster::Mark(JobSlots::value_type& slot) {
  if (!std::exchange(slot.second.dirty, true)) dirty_jobs_.push_back(&slot);
}

std::shared_ptr<const Resource> Roster::RequestOf(const model::Pod& pod) {
  Resource request = PodRequest(pod);
  std::vector<std::pair<ScalarKey, double>> scalars;
  for (const auto& [key, value] : request.scalars()) scalars.emplace_back(key, value);
  if (requests_.size() > kMostAmounts) requests_.clear();  // tasks keep theirs
  auto& shared = requests_[{request.cpu, request.memory, std::move(scalars)}];
  if (!shared) shared = std::make_shared<const Resource>(std::move(request));
  return shared;
}

void Roster::Leave(Task& task) {
  if (!task.pod->spec.node_name.empty()) {
    NodeSlot& node = NodeOf(task.pod->spec.node_name);
    std::erase(node.members, &task);
    Mark(node);
  } else {
    --waiting_;
  }
  if (!task.job_id.empty()) {
    const auto slot = job_slots_.find(task.job_id);
    std::erase(slot->second.members, &task);
    Mark(*slot);
  }
}

void Roster::Drop(const std::string& key, std::unordered_map<std::string, Task*>& names) {
  const auto found = names.find(key);
  if (found == names.end()) return;
  Task& task = *found->second;
  Leave(task);
  const uint32_t index = task.index;
  task = Task();
  task.index = index;
  free_.push_back(index);
  names.erase(found);
}

void Roster::Put(const std::string& key, cluster::PodPtr pod, cluster::PodIndex index,
                 std::unordered_map<std::string, Task*>& names) {
  Task*& place = names[key];
  uint32_t at = 0;
  if (place != nullptr) {
    at = place->index;
    Leave(*place);
  } else if (!free_.empty()) {
    at = free_.back();
    free_.pop_back();
    place = &tasks_[at];
  } else {
    at = static_cast<uint32_t>(tasks_.size());
    place = &tasks_.emplace_back();
  }
  Task& task = *place;
  task = MakeTask(std::move(pod));
  task.index = at;
  task.pod_index = index;
  task.request = RequestOf(*task.pod);
  task.best_effort = task.request->IsEmpty();
  if (!task.pod->spec.node_name.empty()) {
    NodeSlot& node = NodeOf(task.pod->spec.node_name);
    node.members.push_back(&task);
    Mark(node);
  } else {
    ++waiting_;
  }
  const std::string job = JobIdOf(*task.pod);
  if (job.empty()) return;
  const auto slot = job_slots_.try_emplace(job).first;
  task.job_id = slot->first;
  slot->second.members.push_back(&task);
  Mark(*slot);
}

void Roster::RefreshPods(const std::function<bool(const model::Pod&)>& hidden) {
  for (const std::string& key : std::exchange(hidden_, {})) changed_pods_.insert(key);
  for (const std::string& key : changed_pods_) {
    const size_t slash = key.find('/');
    const std::string_view view = key;
    const cluster::World::PodEntry* entry =
        world_.FindEntry(view.substr(0, slash), view.substr(slash + 1));
    const auto known = live_.find(key);
    bool wanted = entry != nullptr && entry->index != cluster::kNone;
    if (wanted && entry->pod->spec.node_name.empty()) {
      // An unreadable one holds its room where it is; what it would need elsewhere nobody knows.
      wanted = !entry->pod->metadata.unreadable && IsOurs(*entry->pod);
      if (wanted && hidden && hidden(*entry->pod)) {
        wanted = false;
        hidden_.insert(key);
      }
    }
    if (!wanted) {
      Drop(key, live_);
    } else if (known == live_.end() || known->second->pod != entry->pod) {
      Put(key, entry->pod, entry->index, live_);
    }
  }
  changed_pods_.clear();
}

void Roster::RefreshEnded() {
  const auto& store = world_.objects<EndedPod>();
  if (store.version() == ended_version_) return;
  ended_version_ = store.version();
  std::unordered_set<std::string> there;
  store.ForEach([&](const std::shared_ptr<const EndedPod>& pod) {
    std::string key = KeyOf(pod->metadata);
    const auto known = ended_.find(key);
    if (known == ended_.end() || known->second->pod != pod) Put(key, pod, cluster::kNone, ended_);
    there.insert(std::move(key));
  });
  std::vector<std::string> gone;
  for (const auto& [key, task] : ended_) {
    if (!there.contains(key)) gone.push_back(key);
  }
  for (const std::string& key : gone) Drop(key, ended_);
}

void Roster::RefreshGroups() {
  const auto& store = world_.objects<model::PodGroup>();
  if (store.version() == group_version_) return;
  group_version_ = store.version();
  std::unordered_set<std::string> there;
  store.ForEach([&](const std::shared_ptr<const model::PodGroup>& group) {
    if (group->metadata.unreadable) return;
    std::string id = KeyOf(group->metadata);
    const auto slot = job_slots_.try_emplace(id).first;
    if (slot->second.group != group) {
      slot->second.group = group;
      Mark(*slot);
    }
    there.insert(std::move(id));
  });
  for (auto& slot : job_slots_) {
    if (slot.second.group == nullptr || there.contains(slot.first)) continue;
    slot.second.group = nullptr;
    Mark(slot);
  }
}

void Roster::RefreshNodes() {
  node_list_.clear();
  for (auto& [name, slot] : nodes_) slot.listed = false;
  world_.ForEachNode([&](const cluster::NodePtr& node) {
    NodeSlot& slot = NodeOf(node->metadata.name);
    slot.listed = true;
    if (slot.info == nullptr || slot.info->object != node) {
      if (slot.info == nullptr) slot.info = std::make_unique<NodeInfo>(node);
      slot.info->object = node;
      Mark(slot);
    }
    slot.info->snapshot_index = world_.snapshot().FindNode(node->metadata.name);
    node_list_.push_back(slot.info.get());
  });
  for (auto& [name, slot] : nodes_) {
    if (slot.listed || slot.info == nullptr) continue;
    for (Task* task : slot.members) {
      task->node = nullptr;
      task->node_name = task->pod->spec.node_name;
    }
    slot.info = nullptr;
  }
}

void Roster::Rebuild(JobSlot& slot, const std::string& id) {
  slot.dirty = false;
  jobs_.erase(id);
  // Where room is being made for it is known to nobody else.
  std::map<std::string, std::string> nominated;
  if (slot.job != nullptr) {
    for (const auto& sub_job : slot.job->sub_jobs) {
      if (!sub_job->nominated_hyper_node.empty())
        nominated[sub_job->id] = sub_job->nominated_hyper_node;
    }
  }
  slot.job = nullptr;
  for (Task* task : slot.members) {
    ResetChoice(*task);
    task->job = nullptr;
    task->sub_job = nullptr;
  }
  if (slot.group == nullptr) return;
  slot.job = std::make_unique<Job>(*slot.group);
  for (Task* task : slot.members) slot.job->AddTask(*task);
  slot.job->Finish();
  for (const auto& sub_job : slot.job->sub_jobs) {
    if (const auto known = nominated.find(sub_job->id); known != nominated.end())
      sub_job->nominated_hyper_node = known->second;
  }
  jobs_.emplace(id, slot.job.get());
}

void Roster::Rebuild(NodeSlot& slot) {
  slot.dirty = false;
  // Whoever a session had put there is where it was; those that are there are put there anew. The
  // name that they knew may have been that of an object that is gone.
  for (Task* task : slot.members) {
    task->node = nullptr;
    task->node_name = task->pod->spec.node_name;
  }
  if (slot.info == nullptr) return;
  const cluster::NodeIndex index = slot.info->snapshot_index;
  for (Task* task : slot.info->tasks) {
    if (task->node == slot.info.get()) task->node = nullptr;
  }
  const cluster::NodePtr object = slot.info->object;
  *slot.info = NodeInfo(object);
  slot.info->snapshot_index = index;
  for (Task* task : slot.members) {
    if (IsCompleted(task->status) || !slot.info->Add(*task).ok()) continue;
    (void)slot.info->unbound_idle.Sub(task->req());
    slot.info->CountScoring(*task, 1);
  }
}

void Roster::Refresh(const std::function<bool(const model::Pod&)>& hidden) {
  RefreshPods(hidden);
  RefreshEnded();
  RefreshGroups();
  RefreshNodes();
  for (auto* slot : std::exchange(dirty_jobs_, {})) {
    Rebuild(slot->second, slot->first);
    if (slot->second.job == nullptr && slot->second.members.empty()) job_slots_.erase(slot->first);
  }
  for (NodeSlot* slot : std::exchange(dirty_nodes_, {})) Rebuild(*slot);
  std::erase_if(nodes_, [](const auto& entry) {
    return entry.second.info == nullptr && entry.second.members.empty();
  });
}

void Roster::PutAside(Job& job) {
  for (Task* task : job.tasks) {
    task->job = nullptr;
    task->sub_job = nullptr;
  }
  Mark(*job_slots_.find(job.id));
}

void Roster::SessionEnded(const std::vector<uint32_t>& changed_nodes) {
  for (NodeInfo* node : node_list_) node->changed = nullptr;
  for (const uint32_t index : changed_nodes) Mark(NodeOf(node_list_[index]->name));
  for (auto& slot : job_slots_) {
    if (slot.second.job == nullptr) continue;
    Job& job = *slot.second.job;
    if (job.touched) {
      Mark(slot);
    } else {
      job.BetweenSessions();
    }
  }
}

}  // namespace coppice::batch
