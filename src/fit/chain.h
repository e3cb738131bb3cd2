// Chain: all filters in kube-scheduler's order, and one pod's question to them.
//
// The first refusal is the one that kube-scheduler would name. PreFilter runs over the whole chain
// before any node is asked, so that a rejection of the last filter comes before a refusal of the
// first.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/snapshot.h"
#include "fit/filter.h"
#include "fit/verdict_table.h"
#include "model/verdict.h"

namespace coppice::fit {

class Question;

class Chain {
 public:
  // The filters that `config` names, in its order, then whatever else is registered that is not
  // kube-scheduler's own. NotFound if a named one is not registered; at most 64.
  static Result<Chain> Create(const FilterRegistry& registry, const SchedulerConfig& config);

  // Prepares every filter for the pod. Good until the snapshot changes. The chain must outlive it.
  Question Ask(const cluster::Snapshot& snapshot, cluster::PodIndex pod) const;

  std::vector<std::string> names() const;

 private:
  friend class Question;
  struct Link {
    std::string name;
    bool pre_filter = true;
    bool filter = true;
    std::unique_ptr<Filter> filter_object;
  };

  Chain();

  std::vector<Link> links_;
  uint64_t memory_id_;
};

class Question {
 public:
  // PreFilter: a no here is a no for every node.
  const model::Verdict& rejection() const { return rejection_; }
  bool rejected() const { return !rejection_.yes(); }
  // The names that PreFilter narrowed the search to, sorted; absent: all nodes.
  const std::optional<std::vector<std::string>>& only() const { return only_; }
  // The nodes behind these names that exist.
  const std::vector<cluster::NodeIndex>& only_nodes() const { return only_nodes_; }

  // As kube-scheduler answers for this node: yes, or the first refusal.
  model::Verdict Check(cluster::NodeIndex node) const;
  // Up to 64 nodes at once: `alive` without those that refuse. Faster than Check, and never
  // disagrees.
  uint64_t Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const;
  bool Fits(cluster::NodeIndex node) const { return !rejected() && Narrow({&node, 1}, 1) != 0; }

  // Narrow in two halves. The first asks what depends on the pod's spec shape and on the one node
  // alone: its no stands, for every pod of the spec shape with the same own_links(), until
  // something is taken off the node.
  uint64_t NarrowOwn(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const;
  uint64_t NarrowRest(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const;
  uint64_t own_links() const { return own_links_; }
  // There is no second half, and no narrowing by name.
  bool OwnNodeOnly() const { return rest_.empty() && !only_; }
  // Good for every plain pod of this spec shape and these labels, for as long as
  // Preparation::ForKind says.
  bool for_kind() const { return for_kind_; }
  bool for_spec() const { return for_spec_; }  // and whatever its labels
  // All that is asked beside shapes is room; null: more than that.
  const std::vector<ResourceNeed>* Needs() const;

 private:
  friend class Chain;
  struct Stage {
    uint32_t link;
    std::unique_ptr<NodeCheck> check;
  };

  Question(const Chain& chain, const cluster::Snapshot& snapshot, cluster::PodIndex pod);
  bool Take(uint32_t link, Preparation preparation);  // false: rejected for good
  void Restrict(const std::string& plugin, std::vector<std::string> names);
  uint8_t AskShape(cluster::NodeShapeId shape) const;
  uint64_t NarrowByShape(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const;

  const Chain* chain_;
  const cluster::Snapshot* snapshot_;
  const cluster::PodSpecShape* spec_;
  model::Verdict rejection_ = model::Verdict::Yes();
  std::optional<std::vector<std::string>> only_;
  std::vector<cluster::NodeIndex> only_nodes_;
  std::vector<std::string> narrowing_;  // the filters that narrowed
  uint64_t asks_shapes_ = 0;            // bit i: link i
  std::shared_ptr<ShapeRow> row_;
  std::vector<Stage> stages_;
  std::vector<const NodeCheck*> own_;   // of stages_
  std::vector<const NodeCheck*> rest_;  // of stages_
  uint64_t own_links_ = 0;
  bool for_kind_ = true;
  bool for_spec_ = true;
};

}  // namespace coppice::fit
