#include "sim/controllers.h"

#include <algorithm>

#include "base/strings.h"

namespace coppice::sim {

namespace {

constexpr int64_t kDefaultGraceSeconds = 30;
constexpr char kWorkloadLabel[] = "app";

std::string Key(const model::ObjectMeta& meta) { return meta.namespace_ + "/" + meta.name; }

std::string ApiVersionOf(const std::string& kind) {
  if (kind == "Job") return "batch/v1";
  if (kind == "ReplicationController") return "v1";
  return kind == "ReplicaSet" || kind == "StatefulSet" || kind == "DaemonSet" ? "apps/v1"
                                                                              : "example.com/v1";
}

int64_t GraceOf(const model::Pod& pod) {
  return pod.spec.termination_grace_period_seconds.value_or(kDefaultGraceSeconds);
}

}  // namespace

int ResolveAmount(const model::IntOrString& amount, int all) {
  if (!amount.is_string) return amount.number;
  const int64_t percent = std::clamp(std::atoi(amount.text.c_str()), 0, 1'000);
  return static_cast<int>((all * percent + 99) / 100);
}

Controllers::Controllers(Cluster& cluster) : cluster_(cluster) {
  cluster_.pod_leaves = [this](const model::Pod& pod) { Leaves(pod); };
  cluster_.pod_bound = [this](const model::Pod& pod) { Bound(pod); };
  cluster_.node_changed = [this](const std::string&) {
    for (auto& [name, workload] : workloads_) {
      workload.budget_dirty = true;
      if (workload.spec.kind == "DaemonSet") workload.dirty = true;
    }
  };
  cluster_.time_to_end = [this](const model::Pod& pod) {
    const WorkloadSpec* spec = SpecOf(pod);
    return spec == nullptr ? Duration(std::chrono::seconds(5)) : spec->ends_in;
  };
}

void Controllers::Add(WorkloadSpec spec) {
  Workload& workload = workloads_[spec.name];
  workload.spec = std::move(spec);
  workload.uid = "workload-" + workload.spec.name;
  workload.spec.pod.metadata.labels[kWorkloadLabel] = workload.spec.name;
  PublishOwner(workload);
  if (workload.spec.budget_min || workload.spec.budget_max) PublishBudget(workload, 0, 0);
  workload.dirty = true;
  cluster_.Touch();
}

void Controllers::Scale(const std::string& name, int replicas) {
  Workload& workload = workloads_.at(name);
  if (workload.spec.replicas == replicas) return;
  workload.spec.replicas = replicas;
  workload.dirty = workload.budget_dirty = true;
  PublishOwner(workload);
  cluster_.Touch();
}

void Controllers::SetBudget(const std::string& name, std::optional<int> min,
                            std::optional<int> max) {
  Workload& workload = workloads_.at(name);
  const auto number = [](std::optional<int> n) -> std::optional<model::IntOrString> {
    if (!n) return std::nullopt;
    return model::IntOrString{.number = *n};
  };
  workload.spec.budget_min = number(min);
  workload.spec.budget_max = number(max);
  workload.budget_dirty = true;
  PublishBudget(workload, 0, 0);
  cluster_.Touch();
}

void Controllers::Delete(const std::string& name) {
  const auto it = workloads_.find(name);
  if (it == workloads_.end()) return;
  const auto pods = it->second.pods;
  const WorkloadSpec spec = it->second.spec;
  for (const auto& [number, pod] : pods) {
    cluster_.EndPod(spec.namespace_, pod, GraceOf(spec.pod));
  }
  if (spec.kind == "ReplicaSet") {
    cluster_.Erase<model::ReplicaSet>(spec.namespace_, name);
  } else if (spec.kind == "ReplicationController") {
    cluster_.Erase<model::ReplicationController>(spec.namespace_, name);
  } else if (spec.kind == "StatefulSet") {
    cluster_.Erase<model::StatefulSet>(spec.namespace_, name);
  } else if (spec.kind == "Job") {
    cluster_.Erase<model::Job>(spec.namespace_, name);
  } else if (spec.kind == "DaemonSet") {
    cluster_.Erase<model::DaemonSet>(spec.namespace_, name);
  }
  if (spec.budget_min || spec.budget_max)
    cluster_.Erase<model::PodDisruptionBudget>(spec.namespace_, name);
  workloads_.erase(it);
}

int Controllers::replicas(const std::string& name) const {
  const auto it = workloads_.find(name);
  return it == workloads_.end() ? 0 : it->second.spec.replicas;
}

std::vector<std::string> Controllers::names() const {
  std::vector<std::string> all;
  for (const auto& [name, workload] : workloads_) all.push_back(name);
  return all;
}

Controllers::Workload* Controllers::Owning(const model::Pod& pod) {
  const auto known = number_of_.find(Key(pod.metadata));
  if (known == number_of_.end()) return nullptr;
  const auto it = workloads_.find(known->second.first);
  return it == workloads_.end() ? nullptr : &it->second;
}

const WorkloadSpec* Controllers::SpecOf(const model::Pod& pod) const {
  const std::string* name = pod.metadata.labels.Find(kWorkloadLabel);
  if (name == nullptr) return nullptr;
  const auto it = workloads_.find(*name);
  return it == workloads_.end() ? nullptr : &it->second.spec;
}

void Controllers::Leaves(const model::Pod& pod) {
  const auto known = number_of_.find(Key(pod.metadata));
  if (known == number_of_.end()) return;
  if (Workload* workload = Owning(pod)) {
    workload->pods.erase({known->second.second, pod.metadata.name});
    workload->dirty = workload->budget_dirty = true;
    if (workload->spec.kind.empty()) --workload->spec.replicas;  // nobody brings it back
  }
  number_of_.erase(known);
}

// A Job's pod runs its time from the moment it is bound.
void Controllers::Bound(const model::Pod& pod) {
  Workload* workload = Owning(pod);
  if (workload == nullptr) return;
  workload->budget_dirty = true;
  if (workload->spec.kind != "Job" || workload->spec.runs_for == Duration::zero()) return;
  cluster_.agenda().In(workload->spec.runs_for,
                       [this, ns = pod.metadata.namespace_, name = pod.metadata.name,
                        uid = pod.metadata.uid] { Complete(ns, name, uid); });
}

std::string Controllers::Place(const std::string& name, const std::string& node) {
  Workload& workload = workloads_.at(name);
  ++workload.spec.replicas;
  CreateOne(workload, node);
  PublishOwner(workload);
  return workload.pods.rbegin()->second;
}

void Controllers::CreateOne(Workload& workload, const std::string& node) {
  const WorkloadSpec& spec = workload.spec;
  const uint64_t number = ++next_number_;
  model::Pod pod = spec.pod;
  pod.metadata.name = spec.name + "-" + std::to_string(number);
  pod.metadata.namespace_ = spec.namespace_;
  if (!spec.kind.empty()) {
    pod.metadata.owner_references = {{.api_version = ApiVersionOf(spec.kind),
                                      .kind = spec.kind,
                                      .name = spec.name,
                                      .uid = workload.uid,
                                      .controller = true}};
  }
  if (!node.empty()) pod.spec.node_name = node;
  workload.pods.emplace(number, pod.metadata.name);
  workload.budget_dirty = true;
  number_of_[Key(pod.metadata)] = {spec.name, number};
  const std::string pod_name = pod.metadata.name;
  cluster_.CreatePod(std::move(pod));
  if (!node.empty()) Bound(*cluster_.objects().FindPod(spec.namespace_, pod_name));
}

bool Controllers::Matches(const Workload& workload, const model::Node& node) const {
  return std::ranges::all_of(workload.spec.pod.spec.node_selector, [&](const auto& wanted) {
    const std::string* value = node.metadata.labels.Find(wanted.first);
    return value != nullptr && *value == wanted.second;
  });
}

bool Controllers::ReconcileDaemonSet(Workload& workload) {
  std::set<std::string> covered;
  for (const auto& [number, name] : workload.pods) {
    const PodPtr pod = cluster_.objects().FindPod(workload.spec.namespace_, name);
    if (pod) covered.insert(pod->spec.node_name);
  }
  bool any = false;
  for (const NodePtr& node : cluster_.objects().Nodes()) {
    if (covered.contains(node->metadata.name) || !Matches(workload, *node)) continue;
    CreateOne(workload, node->metadata.name);
    any = true;
  }
  return any;
}

bool Controllers::ReconcileReplicas(Workload& workload) {
  const auto wanted = static_cast<size_t>(std::max(0, workload.spec.replicas));
  const bool any = workload.pods.size() != wanted;
  while (workload.pods.size() < wanted) CreateOne(workload, "");
  if (workload.pods.size() == wanted) return any;
  // Those that wait go first, then the youngest, as the ReplicaSet controller has it.
  std::vector<std::string> order;
  for (const bool bound : {false, true}) {
    for (auto it = workload.pods.rbegin(); it != workload.pods.rend(); ++it) {
      const PodPtr pod = cluster_.objects().FindPod(workload.spec.namespace_, it->second);
      if (pod && !pod->spec.node_name.empty() == bound) order.push_back(it->second);
    }
  }
  order.resize(std::min(order.size(), workload.pods.size() - wanted));
  for (const std::string& name : order) {
    cluster_.EndPod(workload.spec.namespace_, name, GraceOf(workload.spec.pod));
  }
  return any;
}

bool Controllers::Reconcile() {
  bool any = false;
  std::vector<std::string> finished;
  for (auto& [name, workload] : workloads_) {
    if (!std::exchange(workload.dirty, false)) continue;
    if (workload.spec.kind == "DaemonSet") {
      any = ReconcileDaemonSet(workload) || any;
    } else {
      any = ReconcileReplicas(workload) || any;
    }
    if (workload.spec.kind != "Job") continue;
    if (workload.spec.replicas == 0 && workload.pods.empty()) finished.push_back(name);
  }
  for (const std::string& name : finished) Delete(name);
  return any;
}

void Controllers::Complete(const std::string& namespace_, const std::string& name,
                           const std::string& uid) {
  const PodPtr pod = cluster_.objects().FindPod(namespace_, name);
  if (pod == nullptr || pod->metadata.uid != uid || pod->metadata.deletion_timestamp) return;
  if (Workload* workload = Owning(*pod)) {
    --workload->spec.replicas;  // one less to do
    ++workload->completed;
    PublishOwner(*workload);
  }
  cluster_.RemovePod(namespace_, name);
}

void Controllers::PublishOwner(const Workload& workload) {
  const WorkloadSpec& spec = workload.spec;
  model::ObjectMeta meta;
  meta.name = spec.name;
  meta.namespace_ = spec.namespace_;
  meta.uid = workload.uid;
  const auto replicas = static_cast<int32_t>(spec.replicas);
  const auto publish_set = [&](auto set) {
    set.metadata = meta;
    set.spec.replicas = replicas;
    cluster_.Upsert(std::move(set));
  };
  if (spec.kind == "ReplicaSet") {
    publish_set(model::ReplicaSet());
  } else if (spec.kind == "ReplicationController") {
    publish_set(model::ReplicationController());
  } else if (spec.kind == "StatefulSet") {
    publish_set(model::StatefulSet());
  } else if (spec.kind == "Job") {
    model::Job job;
    job.metadata = meta;
    job.spec.parallelism = replicas;
    cluster_.Upsert(std::move(job));
  } else if (spec.kind == "DaemonSet") {
    model::DaemonSet set;
    set.metadata = meta;
    set.spec.template_.metadata.labels = spec.pod.metadata.labels;
    set.spec.template_.spec = spec.pod.spec;
    cluster_.Upsert(std::move(set));
  }
}

void Controllers::PublishBudget(const Workload& workload, int allowed, int healthy) {
  model::PodDisruptionBudget budget;
  budget.metadata.name = workload.spec.name;
  budget.metadata.namespace_ = workload.spec.namespace_;
  budget.spec.min_available = workload.spec.budget_min;
  budget.spec.max_unavailable = workload.spec.budget_max;
  budget.spec.selector.emplace();
  budget.spec.selector->match_labels[kWorkloadLabel] = workload.spec.name;
  budget.status.disruptions_allowed = allowed;
  budget.status.current_healthy = healthy;
  budget.status.expected_pods = workload.spec.replicas;
  cluster_.Upsert(std::move(budget));
}

bool Controllers::UpdateBudgets() {
  bool any = false;
  for (auto& [name, workload] : workloads_) {
    const WorkloadSpec& spec = workload.spec;
    if (!std::exchange(workload.budget_dirty, false) || !(spec.budget_min || spec.budget_max))
      continue;
    int healthy = 0;
    for (const auto& [number, pod_name] : workload.pods) {
      const PodPtr pod = cluster_.objects().FindPod(spec.namespace_, pod_name);
      const NodePtr node = pod ? cluster_.objects().FindNode(pod->spec.node_name) : nullptr;
      healthy += node && IsReady(*node) ? 1 : 0;
    }
    const int needed = spec.budget_min
                           ? ResolveAmount(*spec.budget_min, spec.replicas)
                           : spec.replicas - ResolveAmount(*spec.budget_max, spec.replicas);
    const int allowed = std::max(0, healthy - needed);
    const auto known =
        cluster_.objects().objects<model::PodDisruptionBudget>().Find(spec.namespace_, name);
    if (known && known->status.disruptions_allowed == allowed) continue;
    PublishBudget(workload, allowed, healthy);
    any = true;
  }
  return any;
}

}  // namespace coppice::sim
