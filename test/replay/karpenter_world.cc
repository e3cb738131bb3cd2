#include "test/replay/karpenter_world.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "test/replay/karpenter.h"
#include "test/replay/objects.h"
#include "wire/time_text.h"

namespace coppice::replay {
namespace {

using provision::PodPtr;
using provision::StateNode;

template <class T>
std::vector<std::shared_ptr<const T>> SharedObjects(const Json& objects, const char* key) {
  std::vector<std::shared_ptr<const T>> all;
  for (T& one : Objects<T>(objects, key)) all.push_back(std::make_shared<const T>(std::move(one)));
  return all;
}

Json At(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  return object.contains(path) ? object.at(path) : Json();
}

model::Labels ReadLabels(const Json& labels) {
  model::Labels made;
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) made[key] = value.get<std::string>();
  }
  return made;
}

std::vector<model::Taint> ReadTaints(const Json& taints) {
  std::vector<model::Taint> made;
  if (!taints.is_array()) return made;
  for (const Json& taint : taints)
    made.push_back({.key = taint.at("key"),
                    .value = taint.value("value", ""),
                    .effect = taint.value("effect", "")});
  return made;
}

bool ConditionIs(const Json& object, const char* type, const char* status) {
  const Json conditions = At(object, "/status/conditions");
  return conditions.is_array() && std::ranges::any_of(conditions, [&](const Json& condition) {
           return condition.at("type") == type && condition.at("status") == status;
         });
}

bool MayBuy(const Json& pool) {
  const Json conditions = At(pool, "/status/conditions");
  const bool ready =
      !conditions.is_array() || conditions.empty() || ConditionIs(pool, "Ready", "True");
  return ready && At(pool, "/spec/replicas").is_null() &&
         At(pool, "/metadata/deletionTimestamp").is_null() &&
         At(pool, "/spec/template/spec/nodeClassRef/group") == "coppice.example" &&
         At(pool, "/spec/template/spec/nodeClassRef/kind") == "NodeClass";
}

provision::Pool ReadPool(const Json& pool, const Json& c) {
  const std::string name = pool.at("metadata").at("name");
  provision::Pool made{
      .name = name,
      .weight = At(pool, "/spec/weight").is_null() ? 0 : At(pool, "/spec/weight").get<int32_t>(),
      .labels = ReadLabels(At(pool, "/spec/template/metadata/labels")),
      .taints = ReadTaints(At(pool, "/spec/template/spec/taints")),
      .node_class_label = "coppice.example/nodeclass",
      .node_class_name = At(pool, "/spec/template/spec/nodeClassRef/name").get<std::string>(),
      .limits = ReadResources(pool.at("spec"), "limits")};
  const Json requirements = At(pool, "/spec/template/spec/requirements");
  if (requirements.is_array()) {
    for (const Json& one : requirements) made.requirements.push_back(ReadRequirement(one));
  }
  if (c.contains("instanceTypes")) return made;  // the case brings its own
  const Json by_pool = c.value("catalogByPool", Json::object());
  made.types = Catalog(by_pool.value(name, c.at("catalog").get<std::string>()));
  return made;
}

std::string ProviderId(const model::Node& node) {
  return node.spec.provider_id.empty() ? node.metadata.name : node.spec.provider_id;
}

// Whether the state of the cluster takes this node in at all.
bool IsTracked(const model::Node& node) {
  const model::Labels& labels = node.metadata.labels;
  const bool managed = labels.contains(model::kNodePoolLabel);
  if (!managed) return true;
  return !node.spec.provider_id.empty() &&
         (labels.contains(model::kInstanceTypeLabel) || labels.contains(model::kInitializedLabel));
}

void ReadNodes(const Json& objects, RecordedWorld& world) {
  std::map<std::string, StateNode> by_id;
  const Json marked = objects.value("markedForDeletion", Json::array());
  for (const Json& claim : objects.value("nodeClaims", Json::array())) {
    const Json id = At(claim, "/status/providerID");
    if (!id.is_string() || id == "") continue;
    StateNode& node = by_id[id];
    const Json& spec = claim.at("spec");
    const Json& status = claim.at("status");
    node.claim = std::make_shared<const provision::ClaimFacts>(
        provision::ClaimFacts{.name = claim.at("metadata").at("name"),
                              .labels = ReadLabels(At(claim, "/metadata/labels")),
                              .taints = ReadTaints(spec.value("taints", Json())),
                              .startup_taints = ReadTaints(spec.value("startupTaints", Json())),
                              .capacity = ReadResources(status, "capacity"),
                              .allocatable = ReadResources(status, "allocatable")});
    node.marked_for_deletion = !At(claim, "/metadata/deletionTimestamp").is_null() ||
                               ConditionIs(claim, "InstanceTerminating", "True");
  }
  world.input.node_objects = SharedObjects<model::Node>(objects, "nodes");
  for (const provision::NodePtr& node : world.input.node_objects) {
    if (!IsTracked(*node)) continue;
    StateNode& state = by_id[ProviderId(*node)];
    state.node = node;
    if (state.claim == nullptr && node->metadata.deletion_timestamp)
      state.marked_for_deletion = true;
  }
  for (auto& [id, node] : by_id) {
    if (std::ranges::find(marked, Json(id)) != marked.end()) node.marked_for_deletion = true;
    world.input.nodes.push_back(std::move(node));
  }
}

}  // namespace

TimePoint NowOf(const Json& c) {
  using namespace std::chrono;
  if (!c.contains("now")) return sys_days(year(2026) / 1 / 15) + hours(12);
  return wire::ParseRfc3339(c.at("now").get<std::string>()).value();
}

RecordedWorld ReadWorld(const Json& c) {
  RecordedWorld world;
  const Json& objects = c.at("objects");
  for (const Json& pool : objects.value("nodePools", Json::array())) {
    if (MayBuy(pool)) world.input.pools.push_back(ReadPool(pool, c));
  }
  ReadNodes(objects, world);
  world.pods = SharedObjects<model::Pod>(objects, "pods");
  for (const PodPtr& pod : world.pods) {
    if (pod->spec.node_name.empty()) continue;
    const auto node = std::ranges::find_if(world.input.nodes, [&](const StateNode& one) {
      return one.node != nullptr && one.node->metadata.name == pod->spec.node_name;
    });
    if (node == world.input.nodes.end()) {
      world.input.other_pods.push_back(pod);
    } else {
      node->pods.push_back(pod);
    }
  }
  world.input.daemon_pods =
      provision::DaemonPods(SharedObjects<model::DaemonSet>(objects, "daemonSets"), world.pods);
  world.input.namespaces = SharedObjects<model::Namespace>(objects, "namespaces");
  world.input.storage = {
      .claims = SharedObjects<model::PersistentVolumeClaim>(objects, "persistentVolumeClaims"),
      .volumes = SharedObjects<model::PersistentVolume>(objects, "persistentVolumes"),
      .classes = SharedObjects<model::StorageClass>(objects, "storageClasses"),
      .csi_nodes = SharedObjects<model::CsiNode>(objects, "csiNodes")};
  // The recordings' API client asked for volumes in the pod's namespace, where there are none.
  world.input.storage.volume_places_unreadable = true;
  world.budgets = SharedObjects<model::PodDisruptionBudget>(objects, "podDisruptionBudgets");
  return world;
}

provision::SolverOptions ReadSolverOptions(const Json& c) {
  const Json options = c.value("options", Json::object());
  return {.preferences = options.value("preferencePolicy", "") == "Ignore"
                             ? provision::PreferencePolicy::kIgnore
                             : provision::PreferencePolicy::kRespect,
          .min_values = options.value("minValuesPolicy", "") == "BestEffort"
                            ? provision::MinValuesPolicy::kBestEffort
                            : provision::MinValuesPolicy::kStrict,
          .upstream_exact = true,
          .labels = RecordedLabels(),
          .reservation_label = kReservationLabel};
}

std::vector<PodPtr> LeavingPods(const RecordedWorld& world, TimePoint now) {
  std::vector<PodPtr> leaving;
  for (const StateNode& node : world.input.nodes) {
    if (!node.marked_for_deletion) continue;
    for (const PodPtr& pod : node.pods) {
      if (provision::IsCurrentlyReschedulable(*pod, world.budgets, now)) leaving.push_back(pod);
    }
  }
  return leaving;
}

std::string ClassName(const std::string& pod) { return pod.substr(0, pod.rfind('-')); }

Json Claim(const RecordedWorld& world, const provision::SolveRequest& request,
           const provision::PlannedClaim& claim) {
  std::map<std::string, int> pods;
  for (const size_t pod : claim.pods) ++pods[ClassName(request.pods[pod]->metadata.name)];
  std::vector<std::string> types;
  for (const cloud::InstanceType* type : claim.types) types.push_back(type->name);
  std::ranges::sort(types);
  Json made{{"nodePool", world.input.pools[claim.pool].name},
            {"pods", pods},
            {"instanceTypes", types},
            {"requirements", Canonical(claim.requirements)},
            {"requests", Canonical(claim.requests)}};
  if (claim.min_values_relaxed) made["minValuesRelaxed"] = "true";
  return made;
}

Json CanonicalClaim(Json recorded) {
  recorded["requests"] = Canonical(ReadResources(recorded, "requests"));
  return recorded;
}

}  // namespace coppice::replay
