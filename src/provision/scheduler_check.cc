#include "provision/scheduler_check.h"

#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "provision/claim_builder.h"
#include "provision/pod_selection.h"
#include "report/explain.h"

namespace coppice::provision {

namespace {

model::Node ReadyNode(const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  node.metadata.uid = name;
  node.status.conditions = {{.type = "Ready", .status = "True"}};
  return node;
}

class PlanInSnapshot {
 public:
  PlanInSnapshot(cluster::World& world, const PlanToCheck& plan)
      : world_(world), snapshot_(world.snapshot()), plan_(plan) {
    FindPods();
    AddUncounted();
  }

  // kNone if the snapshot has it already under that name.
  cluster::NodeIndex Add(const model::Node& node) {
    const auto added = snapshot_.AddNode(node);
    return added.ok() ? *added : snapshot_.FindNode(node.metadata.name);
  }

  cluster::NodeIndex AddExisting(const StateNode& state) {
    if (state.node != nullptr) {
      const auto there = snapshot_.FindNode(state.node->metadata.name);
      // Of a machine that is not launched yet the node is imagined.
      if (there != cluster::kNone || state.registered()) return there;
    }
    model::Node node = ReadyNode(state.claim->name);
    node.metadata.labels = state.labels();
    node.metadata.labels[model::kHostnameLabel] = state.claim->name;
    node.spec.taints = state.taints();
    node.status.allocatable = state.allocatable();
    node.status.capacity = state.capacity();
    return Add(node);
  }

  // kNone: no plan has put it anywhere, and the snapshot does not know it.
  cluster::PodIndex IndexOf(size_t pod) const { return index_[pod]; }

  void Put(size_t pod, cluster::NodeIndex node) {
    if (node == cluster::kNone) return;
    cluster::PodIndex& index = index_[pod];
    if (index == cluster::kNone) {
      index = snapshot_.AddPod(plan_.pods[pod], node);
      return;
    }
    if (snapshot_.node_of(index) != cluster::kNone) snapshot_.Unplace(index);
    snapshot_.Place(index, node);
  }

 private:
  void FindPods() {
    for (const PodPtr& pod : plan_.pods) {
      const model::ObjectMeta& meta = pod->metadata;
      const auto* entry = world_.FindEntry(meta.namespace_, meta.name);
      const bool is_it = entry != nullptr && entry->pod->metadata.uid == meta.uid;
      // Tasks that were made up for a quote are not there yet.
      index_.push_back(is_it ? entry->index : cluster::kNone);
    }
  }

  // Pods that another engine does not count take room and keep others away all the same.
  void AddUncounted() {
    if (world_.counts_all()) return;
    std::set<std::string_view> planned;
    for (const PodPtr& pod : plan_.pods) planned.insert(pod->metadata.uid);
    const std::vector<cluster::NodeIndex> nodes(snapshot_.nodes().begin(), snapshot_.nodes().end());
    for (const cluster::NodeIndex node : nodes) {
      for (const auto* entry : world_.BoundTo(snapshot_.node(node).name)) {
        if (entry->index == cluster::kNone && !IsTerminal(*entry->pod) &&
            !planned.contains(entry->pod->metadata.uid))
          snapshot_.AddPod(entry->pod, node);
      }
    }
  }

  cluster::World& world_;
  cluster::Snapshot& snapshot_;
  const PlanToCheck& plan_;
  std::vector<cluster::PodIndex> index_;  // by pod of the request
};

}  // namespace

model::Node ImaginedNode(const model::NodeClaim& claim, const std::string& name,
                         const cloud::TypeList& types, const model::NodeRequirements& requirements,
                         const model::LabelRules& labels) {
  model::Node node = ReadyNode(name);
  node.spec.taints = claim.spec.taints;
  node.metadata.labels = claim.metadata.labels;
  for (const cloud::InstanceType* type : types) {
    for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(*type)) {
      for (const cloud::Offering* offering : group.offerings) {
        if (!offering->Launchable() || !requirements.Compatible(offering->requirements, &labels))
          continue;
        if (!cloud::Fits(claim.spec.requests, group.allocatable)) continue;
        SettleLabels(type->requirements, node.metadata.labels);
        SettleLabels(requirements, node.metadata.labels);
        SettleLabels(offering->requirements, node.metadata.labels);
        node.metadata.labels[model::kHostnameLabel] = name;
        node.status.allocatable = group.allocatable;
        node.status.capacity = type->capacity;
        return node;
      }
    }
  }
  return node;
}

std::vector<Misfit> WouldNotSchedule(cluster::World& world, const fit::Chain& filters,
                                     const PlanToCheck& plan) {
  std::vector<Misfit> misfits;
  cluster::Snapshot& snapshot = world.snapshot();
  const auto fork = snapshot.Fork();
  PlanInSnapshot planned(world, plan);
  for (const ExistingPlacement& placement : plan.outcome.existing) {
    const auto node = planned.AddExisting(plan.input.nodes[placement.node]);
    for (const size_t pod : placement.pods) planned.Put(pod, node);
  }
  std::vector<cluster::NodeIndex> nodes;
  for (size_t i = 0; i < plan.outcome.claims.size(); ++i) {
    const PlannedClaim& claim = plan.outcome.claims[i];
    const model::Node node = ImaginedNode(plan.claims[i], "planned-" + std::to_string(i),
                                          claim.types, claim.requirements, plan.labels);
    // One that no offering stands behind has no allocatable: that is the provider's to refuse.
    nodes.push_back(node.status.allocatable.empty() ? cluster::kNone : planned.Add(node));
    for (const size_t pod : claim.pods) planned.Put(pod, nodes.back());
  }
  // Pods of one kind on one machine get one answer.
  std::map<std::tuple<size_t, cluster::SpecId, cluster::LabelSetId>, std::string> asked;
  for (size_t i = 0; i < plan.outcome.claims.size(); ++i) {
    if (nodes[i] == cluster::kNone) continue;
    for (const size_t pod : plan.outcome.claims[i].pods) {
      const cluster::PodIndex index = planned.IndexOf(pod);
      if (index == cluster::kNone) continue;
      const auto key = std::make_tuple(i, snapshot.spec_id(index), snapshot.label_set_id(index));
      const auto known = asked.find(key);
      std::string text;
      if (known != asked.end() && snapshot.IsPlain(index)) {
        text = known->second;
      } else {
        snapshot.Unplace(index);
        const fit::Question question = filters.Ask(snapshot, index);
        const model::Verdict verdict =
            question.rejected() ? question.rejection() : question.Check(nodes[i]);
        snapshot.Place(index, nodes[i]);
        if (!verdict.yes()) text = report::Sentence(verdict);
        asked[key] = text;
      }
      if (!text.empty()) misfits.push_back({i, pod, std::move(text)});
    }
  }
  return misfits;
}

}  // namespace coppice::provision
