#include "provision/state_page.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "model/pod_kinds.h"
#include "model/resources.h"
#include "provision/amounts.h"
#include "provision/condition_times.h"
#include "provision/pod_selection.h"

namespace coppice::provision {

namespace {

std::string SeriesName(std::string_view name) {
  std::string made;
  for (const char c : name)
    made += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return made;
}

double ValueOf(std::string_view resource, const model::Quantity& quantity) {
  return resource == model::kCpu ? static_cast<double>(quantity.MilliValue()) / 1000
                                 : static_cast<double>(quantity.Value());
}

double AgeOf(const std::optional<model::Time>& since, TimePoint now) {
  return since ? Seconds(now - since->at) : 0;
}

// What the pods of a node ask for.
struct NodeUse {
  model::ResourceList requests;
  model::ResourceList limits;
  model::ResourceList daemon_requests;
  model::ResourceList daemon_limits;
};

class Writer {
 public:
  Writer(const ClusterState& state, MetricPage& page) : state_(state), page_(page) {
    for (const NodePtr& node : state.nodes) nodes_[node->metadata.name] = node.get();
    for (const ClaimPtr& claim : state.claims) claimed_.insert(claim->status.provider_id);
    for (const PodList& pods : state.pods) {
      for (const PodPtr& pod : pods) AddUse(*pod);
    }
  }

  void WriteAll() {
    for (const NodePtr& node : state_.nodes) WriteNode(*node);
    WriteUtilization();
    for (const PodList& pods : state_.pods) {
      for (const PodPtr& pod : pods) {
        WritePod(*pod);
        WriteWaiting(*pod);
      }
    }
    for (const ClaimPtr& claim : state_.claims) WriteStatus(*claim);
    for (const NodePoolPtr& pool : state_.pools) WriteStatus(*pool);
    for (const NodePtr& node : state_.nodes) WriteStatus(*node);
  }

 private:
  void AddUse(const model::Pod& pod) {
    const std::string& phase = pod.status.phase;
    if (pod.spec.node_name.empty() || phase == "Succeeded" || phase == "Failed") return;
    NodeUse& use = uses_[pod.spec.node_name];
    model::ResourceList requests = model::RequestList(pod);
    requests[model::kPods] = model::Quantity::FromUnits(1);
    model::ResourceList limits = model::LimitList(pod);
    AddResources(use.requests, requests);
    AddResources(use.limits, limits);
    if (!model::IsDaemonSetPod(pod)) return;
    AddResources(use.daemon_requests, requests);
    AddResources(use.daemon_limits, limits);
  }

  void WriteNode(const model::Node& node) {
    MetricLabels labels{{"node_name", node.metadata.name},
                        {"phase", ""},  // nobody sets it any more
                        {"managed", claimed_.contains(node.spec.provider_id) ? "true" : "false"}};
    for (const std::string& label : state_.well_known) {
      const size_t slash = label.find('/');
      if (slash == std::string::npos) continue;
      labels[SeriesName(std::string_view(label).substr(slash + 1))] =
          LabelOr(node.metadata.labels, label);
    }
    const auto write = [&](const char* name, const char* help, const model::ResourceList& list) {
      for (const auto& [resource, quantity] : list) {
        MetricLabels with = labels;
        with["resource_type"] = SeriesName(resource);
        page_.AddGauge(name, help, std::move(with), ValueOf(resource, quantity));
      }
    };
    const NodeUse& use = uses_[node.metadata.name];
    model::ResourceList overhead = node.status.capacity;
    for (const auto& [resource, quantity] : node.status.allocatable)
      overhead[resource].Sub(quantity);
    write("karpenter_nodes_allocatable", "What pods may have of a node.", node.status.allocatable);
    write("karpenter_nodes_total_pod_requests", "What the pods of a node ask for, all together.",
          use.requests);
    write("karpenter_nodes_total_pod_limits", "What the pods of a node are limited to.",
          use.limits);
    write("karpenter_nodes_total_daemon_requests", "What a node's pods of DaemonSets ask for.",
          use.daemon_requests);
    write("karpenter_nodes_total_daemon_limits", "What a node's pods of DaemonSets are limited to.",
          use.daemon_limits);
    write("karpenter_nodes_system_overhead", "What a node keeps for itself.", overhead);
    page_.AddGauge("karpenter_nodes_current_lifetime_seconds", "How old a node is.",
                   std::move(labels), AgeOf(node.metadata.creation_timestamp, state_.at));
  }

  void WriteUtilization() {
    model::ResourceList allocatable;
    model::ResourceList used;
    for (const NodePtr& node : state_.nodes) {
      AddResources(allocatable, node->status.allocatable);
      AddResources(used, uses_[node->metadata.name].requests);
    }
    for (const auto& [resource, quantity] : allocatable) {
      const double all = ValueOf(resource, quantity);
      if (all == 0) continue;
      const model::Quantity* of = used.Find(resource);
      page_.AddGauge("karpenter_cluster_utilization_percent",
                     "How much of what pods may have they ask for.",
                     {{"resource_type", SeriesName(resource)}},
                     of == nullptr ? 0 : 100 * ValueOf(resource, *of) / all);
    }
  }

  void WritePod(const model::Pod& pod) {
    static const model::Labels kNone;
    const auto node = nodes_.find(pod.spec.node_name);
    const model::Labels& labels = node == nodes_.end() ? kNone : node->second->metadata.labels;
    const auto* ready = ConditionOf(pod, "Ready");
    const std::string pool = LabelOr(labels, model::kNodePoolLabel);
    std::string owner;
    if (!pod.metadata.owner_references.empty()) {
      const model::OwnerReference& first = pod.metadata.owner_references.front();
      std::string kind = first.kind;
      std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return std::tolower(c); });
      owner = "/apis/" + first.api_version + "/namespaces/" + pod.metadata.namespace_ + "/" + kind +
              "s/" + first.name;
    }
    page_.AddGauge("karpenter_pods_state", "What every pod is and where, as labels.",
                   {{"name", pod.metadata.name},
                    {"namespace", pod.metadata.namespace_},
                    {"owner", owner},
                    {"node", pod.spec.node_name},
                    {"scheduled", pod.spec.node_name.empty() ? "false" : "true"},
                    {"nodepool", pool},
                    {"zone", LabelOr(labels, model::kZoneLabel)},
                    {"arch", LabelOr(labels, model::kArchLabel)},
                    {"capacity_type", LabelOr(labels, model::kCapacityTypeLabel)},
                    {"instance_type", LabelOr(labels, model::kInstanceTypeLabel)},
                    {"phase", pod.status.phase},
                    {"ready", ready != nullptr && ready->status == "True" ? "true" : "false"},
                    {"managed", pool.empty() ? "false" : "true"}},
                   1);
  }

  void WriteWaiting(const model::Pod& pod) {
    const auto found = state_.pod_times.find(pod.metadata.uid);
    if (found == state_.pod_times.end()) return;
    const PodTimes::Times& times = found->second;
    const MetricLabels labels{{"name", pod.metadata.name}, {"namespace", pod.metadata.namespace_}};
    MetricLabels bound = labels;
    bound["dynamic_resources"] = HasDeviceClaims(pod) ? "true" : "false";
    const double age = AgeOf(pod.metadata.creation_timestamp, state_.at);
    const auto* scheduled = ConditionOf(pod, "PodScheduled");
    const bool is_bound = scheduled != nullptr && scheduled->status == "True";
    if (times.is_pending) {
      page_.AddGauge("karpenter_pods_unstarted_time_seconds",
                     "How long a pod that does not run yet has been there.", labels, age);
    }
    if (times.is_unbound && !is_bound) {
      page_.AddGauge("karpenter_pods_unbound_time_seconds",
                     "How long a pod that is not bound yet has been there.", bound, age);
    }
    if (times.schedulable) {
      const double since = Seconds(state_.at - *times.schedulable);
      if (times.is_pending) {
        page_.AddGauge("karpenter_pods_provisioning_unstarted_time_seconds",
                       "How long a pod that has a place does not run yet.", labels, since);
      }
      if (times.is_unbound && !is_bound) {
        page_.AddGauge("karpenter_pods_provisioning_unbound_time_seconds",
                       "How long a pod that has a place is not bound yet.", bound, since);
      }
    }
    if (times.seen && !times.decided && pod.spec.node_name.empty() && !is_bound) {
      page_.AddGauge("karpenter_pods_provisioning_scheduling_undecided_time_seconds",
                     "How long a pod has been seen without a decision about it.", labels,
                     Seconds(state_.at - *times.seen));
    }
  }

  template <class T>
  void WriteStatus(const T& object) {
    const StatusFamily& family = StatusFamilyOf<T>();
    const MetricLabels name{{"namespace", object.metadata.namespace_},
                            {"name", object.metadata.name}};
    const MetricLabels own = StatusLabels(state_.class_labels, object);
    const MetricLabels kind{{"group", family.group}, {"kind", family.kind}};
    const auto write = [&](const std::string& metric, const char* help, const MetricLabels& labels,
                           double value) {
      MetricLabels with = labels;
      with.insert(own.begin(), own.end());
      page_.AddGauge(family.name + metric, help, std::move(with), value);
      if (!family.is_deprecated_too) return;
      with = labels;
      with.insert(kind.begin(), kind.end());
      page_.AddGauge("operator" + metric, help, std::move(with), value);
    };
    for (const auto& condition : object.status.conditions) {
      MetricLabels labels = name;
      labels["type"] = condition.type;
      labels["status"] = condition.status;
      labels["reason"] = condition.reason;
      write("_status_condition_count", "The conditions of an object, as labels.", labels, 1);
      write("_status_condition_current_status_seconds",
            "How long a condition has had the status that it has.", labels,
            AgeOf(condition.last_transition_time, state_.at));
    }
    if (object.metadata.deletion_timestamp) {
      write("_termination_current_time_seconds", "How long an object has been about to go.", name,
            AgeOf(object.metadata.deletion_timestamp, state_.at));
    }
  }

  const ClusterState& state_;
  MetricPage& page_;
  std::unordered_map<std::string, const model::Node*> nodes_;
  std::set<std::string> claimed_;
  std::unordered_map<std::string, NodeUse> uses_;
};

}  // namespace

void StatePage::Put(std::shared_ptr<const ClusterState> state) {
  const MutexLock lock(mutex_);
  state_ = std::move(state);
}

void StatePage::Write(MetricPage& page) const {
  std::shared_ptr<const ClusterState> state;
  {
    const MutexLock lock(mutex_);
    state = state_;
  }
  if (state != nullptr) Writer(*state, page).WriteAll();
}

}  // namespace coppice::provision
