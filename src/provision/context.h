// Context: what all parts of the engine share: the doors, the settings, and who waits for what.
//
// Decision thread.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "provision/disruption/repair_policies.h"
#include "provision/disruption/world.h"
#include "provision/engine.h"

namespace coppice::provision {

class Context {
 public:
  explicit Context(EngineParts engine_parts);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EngineParts parts;

  const EngineOptions& options() const { return parts.options; }
  cluster::World& world() const { return parts.world; }
  // A dry run: what is decided is shown, once, and nothing that follows from it is done.
  bool pretends() const { return parts.writer.pretends(); }
  // "", or why nothing may be decided now: the view of the cluster is too old.
  std::string Stale() const;
  TimePoint Now() const { return parts.executor.clock().Now(); }
  const cloud::NodeClaimsTraits& traits() const { return parts.claims.Traits(); }
  const model::LabelRules& labels() const { return traits().labels; }
  const std::shared_ptr<const EphemeralTaints>& ephemeral_taints() const { return ephemeral_; }

  // ---- Work that goes on between passes.

  void Spawn(Task<void> task);
  size_t under_way() const { return under_way_; }
  // Something has changed that a pass should look at.
  void Wake();
  // At the latest then.
  void WakeAt(TimePoint when);
  TimePoint wake_at() const { return wake_at_; }
  void ForgetWakes() { wake_at_ = TimePoint::max(); }

  // ---- Whose objects are ours.

  bool Manages(const std::optional<model::NodeClassReference>& reference) const {
    return cloud::IsManaged(reference, kinds_);
  }
  // A node carries the label of a class that we support.
  bool Manages(const model::Node& node) const;
  // By which nodes and claims name their class.
  const std::vector<std::string>& class_labels() const { return class_labels_; }
  // Absent: there is none of that name.
  std::optional<NodeClassFacts> ClassOf(const model::NodeClassReference& reference) const;
  // All that there are, by "<group>/<kind>/<name>"; class_keeper.h.
  std::map<std::string, NodeClassFacts> classes;

  // Nodes by provider id, as the World has them now.
  std::vector<NodePtr> NodesOf(std::string_view provider_id) const;
  // What plans ask of the pods on nodes.
  NodePodsBook node_pods;

  // For who asks for many: good until the thread is given up.
  using NodeIndexById = std::unordered_map<std::string, std::vector<NodePtr>>;
  const NodeIndexById& NodesById();

  // What the provider says of sick nodes; none if it makes no sense (the log has said so).
  const RepairPolicies repair;

  // ---- Events. The same about the same is told once in a while.

  struct About {
    std::string kind;
    std::string namespace_;
    std::string name;
    std::string uid;
  };
  static About Of(const model::NodeClaim& claim) {
    return {"NodeClaim", "", claim.metadata.name, claim.metadata.uid};
  }
  static About Of(const model::NodePool& pool) {
    return {"NodePool", "", pool.metadata.name, pool.metadata.uid};
  }
  static About Of(const model::Node& node) {
    return {"Node", "", node.metadata.name, node.metadata.uid};
  }
  static About Of(const model::Pod& pod) {
    return {"Pod", pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid};
  }
  static constexpr Duration kTellAgain = std::chrono::minutes(2);
  void Tell(const About& about, std::string_view type, std::string_view reason, std::string text,
            Duration again = kTellAgain);

  // ---- Metrics, by Karpenter's names.

  void Count(std::string_view name, std::string_view help, const MetricLabels& labels = {}) {
    parts.metrics.GetCounter(name, help, labels).Increment();
  }
  void Set(std::string_view name, std::string_view help, double value,
           const MetricLabels& labels = {}) {
    parts.metrics.GetGauge(name, help, labels).Set(value);
  }
  // A gauge about a pool: goes with it.
  void SetOfPool(const std::string& pool, std::string_view name, std::string_view help,
                 double value, MetricLabels labels);
  // Those of pools that are not `there` go.
  void ForgetPools(const std::set<std::string>& there);
  // Of one pool and name only these stay.
  void KeepOfPool(const std::string& pool, std::string_view name,
                  const std::set<MetricLabels>& these);
  void Observe(std::string_view name, std::string_view help, double value,
               const MetricLabels& labels = {});

 private:
  Task<void> Counted(Task<void> task);

  const std::vector<cloud::NodeClassKind> kinds_;
  const std::shared_ptr<const EphemeralTaints> ephemeral_;
  std::vector<std::string> class_labels_;
  NodeIndexById nodes_by_id_;
  std::optional<uint64_t> nodes_indexed_;  // which version of the World's nodes
  size_t under_way_ = 0;
  TimePoint wake_at_ = TimePoint::min();
  std::map<std::string, TimePoint, std::less<>> told_;  // until when it is not told again
  // Gauges by pool, by name.
  std::map<std::string, std::map<std::string, std::set<MetricLabels>, std::less<>>> of_pools_;
};

std::string LabelOr(const model::Labels& labels, std::string_view key, std::string_view other = "");
double Seconds(Duration duration);

// "WhenEmptyOrUnderutilized" -> "when_empty_or_underutilized", as the peer's labels have it.
std::string SnakeCase(std::string_view name);
// graceful, eventual or forceful: how long a claim that goes waits for its pods.
std::string TerminationMode(const std::optional<Duration>& grace);

// Of a Node: its condition Ready is True.
bool IsReadyNode(const model::Node& node);

}  // namespace coppice::provision
