// HyperNodes: how the nodes lie in the network, as a tree. A HyperNode is a stretch of it: nodes, and
// smaller HyperNodes, that are close to each other; the lower its tier, the closer. Above all that the
// cluster has there is one of our own, with every node.
//
// Made of the objects and of a list of nodes, which it knows by their places in that list: it outlives
// sessions, for as long as neither changes (hyper_node_keeper.h). Immutable.
//
// An object that cannot be right (a member that is neither, a pattern that is none, a second parent, a
// member of no lower tier) is left out, or the member is, with a sentence; the rest stands.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/batch.h"
#include "model/node.h"

namespace coppice::batch {

inline constexpr std::string_view kTopHyperNode = "<cluster-top-hypernode>";
// Of a PodGroup: the HyperNode that its job has been placed in.
inline constexpr std::string_view kAllocatedHyperNodeKey = "volcano.sh/job-allocated-hypernode";

struct HyperNode {
  std::string name;
  int64_t tier = 0;
  std::string tier_name;
  uint32_t index = 0;                      // by name, the top last
  const HyperNode* parent = nullptr;       // null: the top
  std::vector<const HyperNode*> children;  // by name
  // Their places in the list, ascending. Of the top none are named: all are in it.
  std::vector<uint32_t> nodes;
  // If all of it goes by one label: a new node with one of these values will be part of it.
  std::string label_key;
  std::vector<std::string> label_values;

  bool Has(uint32_t node) const;
};

using HyperNodeObject = std::shared_ptr<const model::HyperNode>;

class HyperNodeTree {
 public:
  HyperNodeTree(std::vector<HyperNodeObject> objects,
                std::span<const std::shared_ptr<const model::Node>> nodes);
  explicit HyperNodeTree(size_t node_count);  // there are none but the top
  HyperNodeTree(const HyperNodeTree&) = delete;
  HyperNodeTree& operator=(const HyperNodeTree&) = delete;

  bool empty() const { return hyper_nodes_.size() == 1; }  // but for the top
  size_t node_count() const { return node_count_; }
  const HyperNode& top() const { return *hyper_nodes_.back(); }
  const HyperNode* Find(std::string_view name) const;  // null: there is none
  // By name, the top last.
  std::span<const std::unique_ptr<const HyperNode>> all() const { return hyper_nodes_; }
  int64_t min_tier() const { return tiers_.front(); }
  int64_t max_tier() const { return tiers_.back(); }
  const std::vector<int64_t>& tiers() const { return tiers_; }  // ascending, the top's too
  std::optional<int64_t> TierCalled(std::string_view tier_name) const;

  // Those that the node is in, by tier and name; the top last.
  const std::vector<const HyperNode*>& Of(uint32_t node) const {
    return of_node_.empty() ? top_only_ : of_node_[node];
  }
  // The smallest with both; null stands for nothing.
  static const HyperNode* LowestCommon(const HyperNode* a, const HyperNode* b);
  // The smallest that has all of these nodes; null: there are none.
  const HyperNode* Smallest(std::span<const uint32_t> nodes) const;
  static bool IsWithin(const HyperNode& inner, const HyperNode& outer);

  // What was left out, a sentence each.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Draft;
  void Read(std::vector<HyperNodeObject> objects, std::vector<Draft>& drafts);
  void Connect(std::vector<Draft>& drafts);
  void NameTiers(const std::vector<Draft>& drafts);
  static void Label(Draft& draft);
  void Finish(std::vector<Draft>& drafts);

  std::vector<std::unique_ptr<const HyperNode>> hyper_nodes_;
  std::vector<int64_t> tiers_;
  std::map<std::string, int64_t, std::less<>> tier_by_name_;
  size_t node_count_;
  std::vector<std::vector<const HyperNode*>> of_node_;  // none: all are in the top only
  std::vector<const HyperNode*> top_only_;
  std::vector<std::string> complaints_;
};

}  // namespace coppice::batch
