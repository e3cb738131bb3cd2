#include "test/replay/case_cluster.h"

#include <algorithm>
#include <stdexcept>

#include "test/replay/objects.h"

namespace coppice::replay {

namespace {

std::set<std::string> Names(const Json& c, const char* key) {
  std::set<std::string> names;
  if (c.contains(key) && c[key].is_array()) {
    for (const Json& name : c[key]) names.insert(name.get<std::string>());
  }
  return names;
}

std::string Print(const model::Taint& taint) {
  return taint.key + "=" + taint.value + ":" + taint.effect;
}

template <class T>
std::shared_ptr<const T> Shared(T object) {
  return std::make_shared<const T>(std::move(object));
}

}  // namespace

CaseCluster::CaseCluster(cluster::World& world, CaseGroups& groups, const Json& c,
                         std::function<void(Json)> record)
    : world_(world),
      groups_(groups),
      record_(std::move(record)),
      refused_(Names(c, "evictionRefused")),
      stuck_(Names(c, "evictionStuck")) {
  for (auto& node : Objects<model::Node>(c, "nodes")) world_.UpsertNode(Shared(std::move(node)));
  for (auto& pod : Objects<model::Pod>(c, "pods")) world_.UpsertPod(Shared(std::move(pod)));
  for (auto& o : Objects<model::DaemonSet>(c, "daemonSets")) world_.Upsert(Shared(std::move(o)));
  for (auto& o : Objects<model::ReplicaSet>(c, "replicaSets")) world_.Upsert(Shared(std::move(o)));
  for (auto& o : Objects<model::PodDisruptionBudget>(c, "podDisruptionBudgets")) {
    world_.Upsert(Shared(std::move(o)));
  }
  for (auto& o : Objects<model::ConfigMap>(c, "configMaps")) world_.Upsert(Shared(std::move(o)));
}

void CaseCluster::Apply(const Json& change) {
  const std::string op = change.at("op");
  const auto name = [&] { return change.at("name").get<std::string>(); };
  const auto group = [&] { return change.at("group").get<std::string>(); };
  if (op == "addPod") {
    world_.UpsertPod(Shared(Object<model::Pod>(change.at("pod"))));
  } else if (op == "deletePod") {
    world_.DeletePod(change.value("namespace", "default"), name());
  } else if (op == "bindPod") {
    model::Pod pod = *Live(change.value("namespace", "default"), name());
    pod.spec.node_name = change.at("node");
    pod.status.phase = "Running";
    pod.status.conditions.clear();
    world_.UpsertPod(Shared(std::move(pod)));
  } else if (op == "addNode") {
    world_.UpsertNode(Shared(Object<model::Node>(change.at("node"))));
  } else if (op == "deleteNode") {
    const cluster::NodePtr node = world_.FindNode(name());
    world_.DeleteNode(name());
    if (node) groups_.NodeRemoved(node->spec.provider_id);
  } else if (op == "setNodeReady") {
    model::Node node = *world_.FindNode(name());
    node.status.conditions = {
        {.type = "Ready", .status = change.at("ready").get<bool>() ? "True" : "False"}};
    Json condition = {{"metadata", {{"creationTimestamp", change.at("time")}}}};
    node.status.conditions[0].last_transition_time =
        Object<model::Node>(condition).metadata.creation_timestamp;
    world_.UpsertNode(Shared(std::move(node)));
  } else if (op == "setNodeAnnotation") {
    model::Node node = *world_.FindNode(name());
    if (change.contains("value")) {
      node.metadata.annotations[change.at("key").get<std::string>()] =
          change["value"].get<std::string>();
    } else {
      node.metadata.annotations.erase(change.at("key").get<std::string>());
    }
    world_.UpsertNode(Shared(std::move(node)));
  } else if (op == "addInstance") {
    groups_.AddInstance(group(), change.at("instance"));
  } else if (op == "setInstance") {
    groups_.SetInstance(group(), change.at("instance"));
  } else if (op == "removeInstance") {
    const Json& instance = change.at("instance");
    groups_.RemoveInstance(
        group(), (instance.is_string() ? instance : instance.at("id")).get<std::string>());
  } else if (op == "setTarget") {
    groups_.at(group()).target = change.at("target");
  } else if (op == "setIncreaseError") {
    groups_.at(group()).increase_error = change.value("message", "");
  } else if (op == "setDeleteError") {
    groups_.at(group()).delete_error = change.value("message", "");
  } else if (op == "setPdbAllowed") {
    model::PodDisruptionBudget budget = *world_.objects<model::PodDisruptionBudget>().Find(
        change.value("namespace", "default"), name());
    budget.status.disruptions_allowed = change.at("allowed");
    world_.Upsert(Shared(std::move(budget)));
  } else {
    throw std::runtime_error("unknown change " + op);
  }
}

cluster::PodPtr CaseCluster::Live(const std::string& namespace_, const std::string& name) const {
  cluster::PodPtr pod = world_.FindPod(namespace_, name);
  if (pod == nullptr) throw std::runtime_error("no pod " + namespace_ + "/" + name);
  return pod;
}

Task<Status> CaseCluster::ChangeNode(std::string name, cluster::NodeChange change) {
  const cluster::NodePtr found = world_.FindNode(name);
  if (found == nullptr) co_return NotFound("no node " + name);
  model::Node node = *found;
  Json call = {{"call", "UpdateNode"}, {"node", name}};
  for (const model::Taint& taint : change.add_taints) {
    node.spec.taints.push_back(taint);
    call["addTaints"].push_back(Print(taint));
  }
  for (const std::string& key : change.remove_taints) {
    for (const auto& taint : node.spec.taints) {
      if (taint.key == key) call["removeTaints"].push_back(Print(taint));
    }
    std::erase_if(node.spec.taints, [&](const auto& taint) { return taint.key == key; });
  }
  if (change.unschedulable && *change.unschedulable != node.spec.unschedulable) {
    node.spec.unschedulable = *change.unschedulable;
    call["unschedulable"] = *change.unschedulable;
  }
  record_(std::move(call));
  world_.UpsertNode(Shared(std::move(node)));
  co_return Status::Ok();
}

Task<Status> CaseCluster::Evict(cluster::PodName pod, int64_t grace_period_seconds) {
  const std::string key = pod.namespace_ + "/" + pod.name;
  Json call = {{"call", "Evict"}, {"pod", key}, {"gracePeriodSeconds", grace_period_seconds}};
  if (refused_.contains(key) || refused_.contains(pod.name)) {
    call["error"] = "TooManyRequests";
    record_(std::move(call));
    co_return ResourceExhausted("refused");
  }
  record_(std::move(call));
  if (!stuck_.contains(key) && !stuck_.contains(pod.name)) {
    evicted_.insert(key);
    world_.DeletePod(pod.namespace_, pod.name);
  }
  co_return Status::Ok();
}

Task<Result<std::optional<std::string>>> CaseCluster::WhereIs(cluster::PodName pod) {
  const cluster::PodPtr found = world_.FindPod(pod.namespace_, pod.name);
  if (found == nullptr || evicted_.contains(pod.namespace_ + "/" + pod.name)) {
    co_return std::optional<std::string>();
  }
  co_return std::optional<std::string>(found->spec.node_name);
}

void CaseCluster::Emit(cluster::Event event) { events_.push_back(std::move(event)); }

}  // namespace coppice::replay
