#include "autoscale/templates.h"

#include <algorithm>
#include <array>
#include <set>

#include "autoscale/readiness.h"
#include "model/node_selector.h"
#include "model/pod_kinds.h"
#include "model/taints.h"

namespace coppice::autoscale {

namespace {

// A node that has just become ready may still lack what its fellows have.
constexpr Duration kStabilization = std::chrono::minutes(1);

bool IsGoodSource(const model::Node& node, TimePoint now) {
  const Readiness readiness = ReadinessOf(node);
  return readiness.ready && readiness.last_transition + kStabilization < now &&
         !node.spec.unschedulable && !node.metadata.unreadable && !HasToBeDeletedTaint(node);
}

// The pod that the DaemonSet controller would make: its template, its tolerations, on that node.
model::Pod PodOf(const model::DaemonSet& daemon_set, std::string_view node_name) {
  model::Pod pod;
  pod.metadata = daemon_set.spec.template_.metadata;
  pod.metadata.namespace_ = daemon_set.metadata.namespace_;
  pod.spec = daemon_set.spec.template_.spec;
  pod.spec.node_name = node_name;
  // A daemon stays on a node in trouble, and comes to one that is not ready yet.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTolerated = {{
      {"node.kubernetes.io/not-ready", model::kNoExecute},
      {"node.kubernetes.io/unreachable", model::kNoExecute},
      {"node.kubernetes.io/disk-pressure", model::kNoSchedule},
      {"node.kubernetes.io/memory-pressure", model::kNoSchedule},
      {"node.kubernetes.io/pid-pressure", model::kNoSchedule},
      {"node.kubernetes.io/unschedulable", model::kNoSchedule},
  }};
  const auto tolerate = [&pod](std::string_view key, std::string_view effect) {
    pod.spec.tolerations.push_back(
        {.key = std::string(key), .operator_ = "Exists", .effect = std::string(effect)});
  };
  for (const auto& [key, effect] : kTolerated) tolerate(key, effect);
  if (pod.spec.host_network) tolerate("node.kubernetes.io/network-unavailable", model::kNoSchedule);
  return pod;
}

bool PreemptsAsNodeCritical(const model::Pod& pod) {
  return pod.spec.priority_class_name == "system-node-critical" &&
         pod.spec.preemption_policy.value_or("PreemptLowerPriority") == "PreemptLowerPriority";
}

}  // namespace

bool ShouldRunOn(const model::DaemonSet& daemon_set, const model::Node& node) {
  const std::string& pinned = daemon_set.spec.template_.spec.node_name;
  if (!pinned.empty() && pinned != node.metadata.name) return false;
  const model::Pod pod = PodOf(daemon_set, node.metadata.name);
  return model::RequiredNodeAffinity(pod).Matches(node.metadata.labels, node.metadata.name) &&
         model::FirstUntolerated(node.spec.taints, pod.spec.tolerations) == nullptr;
}

NodeTemplate MakeTemplate(const TemplateSource& source, std::string_view group,
                          const std::vector<std::shared_ptr<const model::DaemonSet>>& daemon_sets,
                          MissingDaemonSets missing, const TaintConfig& taints,
                          bool ignore_unschedulable, std::string_view suffix) {
  NodeTemplate made;
  made.node = *source.node;
  std::string name = "template-node-for-";
  name.append(group).append("-").append(suffix);
  pack::Rename(made.node, std::move(name));
  if (ignore_unschedulable) made.node.spec.unschedulable = false;
  made.node.spec.taints = taints.Sanitize(made.node.spec.taints);

  std::set<std::string_view> running;  // uids of DaemonSets
  for (const model::Pod* pod : source.pods) {
    if (pod->metadata.deletion_timestamp) continue;
    if (model::IsMirrorPod(*pod) || model::IsDaemonSetPod(*pod)) {
      made.pods.push_back(pack::Renamed(*pod, made.node.metadata.name, suffix));
    }
    const model::OwnerReference* owner = model::ControllerOf(pod->metadata);
    if (owner != nullptr && owner->kind == "DaemonSet") running.insert(owner->uid);
  }
  for (const auto& daemon_set : daemon_sets) {
    if (running.contains(daemon_set->metadata.uid) || !ShouldRunOn(*daemon_set, made.node))
      continue;
    model::Pod pod = PodOf(*daemon_set, made.node.metadata.name);
    if (missing == MissingDaemonSets::kCriticalOnly && !PreemptsAsNodeCritical(pod)) continue;
    pod.metadata.name = daemon_set->metadata.name + "-pod";
    pod.metadata.owner_references = {{.kind = "DaemonSet",
                                      .name = daemon_set->metadata.name,
                                      .uid = daemon_set->metadata.uid,
                                      .controller = true}};
    made.pods.push_back(pack::Renamed(pod, made.node.metadata.name, suffix));
  }
  // Only now, after the DaemonSets have been asked: no selector of theirs may see it.
  made.node.metadata.labels[kTemplateLabel] = "true";
  return made;
}

void FillDeprecatedLabels(model::Labels& labels) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTwins = {{
      {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"},
      {"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"},
      {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"},
  }};
  for (const auto& [stable, deprecated] : kTwins) {
    if (const std::string* value = labels.Find(stable)) {
      const std::string copy = *value;
      labels[deprecated] = copy;
    }
  }
}

Templates::Templates(const TemplateOptions& options, const StartupTaintOptions& taints,
                     cloud::NodeGroups& groups, Rng& rng)
    : options_(options), groups_(groups), rng_(rng), taints_(taints) {}

std::string Templates::Suffix() { return std::to_string(rng_.Next() >> 1); }

void Templates::Recompute(const std::vector<ListedNode>& nodes, const PodsOf& pods_of,
                          const std::vector<std::shared_ptr<const model::DaemonSet>>& daemon_sets,
                          TimePoint now) {
  current_.clear();
  problems_.clear();
  const auto from_node = [&](const ListedNode& of) {
    const TemplateSource source{of.node.get(), pods_of(*of.node)};
    return std::make_shared<const NodeTemplate>(
        MakeTemplate(source, of.group, daemon_sets,
                     options_.force_ds ? MissingDaemonSets::kAll : MissingDaemonSets::kCriticalOnly,
                     taints_, options_.scale_from_unschedulable, Suffix()));
  };
  for (const ListedNode& of : nodes) {
    if (of.group.empty() || current_.contains(of.group) || !IsGoodSource(*of.node, now)) continue;
    current_[of.group] = from_node(of);
    remembered_[of.group] = {current_[of.group], now};
  }

  std::set<std::string> existing;
  for (const cloud::GroupInfo& group : groups_.Groups()) {
    existing.insert(group.id);
    if (current_.contains(group.id)) continue;
    const auto remembered = remembered_.find(group.id);
    if (remembered != remembered_.end()) {
      if (now - remembered->second.since <= options_.node_info_cache_expire_time) {
        current_[group.id] = remembered->second.made;
        continue;
      }
      remembered_.erase(remembered);
    }
    const auto described = groups_.Template(group.id);
    if (!described.ok()) {
      if (described.code() != Code::kUnimplemented) problems_[group.id] = described.status();
      continue;
    }
    const TemplateSource source{described->get(), {}};
    NodeTemplate made = MakeTemplate(source, group.id, daemon_sets, MissingDaemonSets::kAll,
                                     taints_, options_.scale_from_unschedulable, Suffix());
    FillDeprecatedLabels(made.node.metadata.labels);
    current_[group.id] = std::make_shared<const NodeTemplate>(std::move(made));
  }
  std::erase_if(remembered_, [&](const auto& entry) { return !existing.contains(entry.first); });

  // The last resort: a node in trouble is still a node of the right kind.
  for (const ListedNode& of : nodes) {
    if (of.group.empty() || current_.contains(of.group)) continue;
    current_[of.group] = from_node(of);
  }
}

TemplatePtr Templates::Find(std::string_view group) const {
  const auto it = current_.find(group);
  return it == current_.end() ? nullptr : it->second;
}

}  // namespace coppice::autoscale
