// NodeRequirements: requirements by label, as a pool, a claim, an instance type or a pod has them.
//
// Two questions. Intersects: do both allow something for every label that both name? Compatible: is
// what one side demands also known to the other? It is not symmetric: *this is the offer.
//
// Plain values, sorted by key. The solver interns them (provision/algebra.h) and does not ask here
// in its loops; error texts come from here.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/requirement.h"

namespace coppice::model {

class NodeRequirements {
 public:
  using const_iterator = std::vector<NodeRequirement>::const_iterator;

  NodeRequirements() = default;
  static NodeRequirements From(const std::vector<RequirementSpec>& specs, const LabelRules& rules);
  static NodeRequirements From(const std::vector<NodeSelectorRequirement>& specs,
                               const LabelRules& rules);
  static NodeRequirements FromLabels(const Labels& labels, const LabelRules& rules);

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  const_iterator begin() const { return all_.begin(); }
  const_iterator end() const { return all_.end(); }

  const NodeRequirement* Find(std::string_view key) const;  // null if not defined
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  NodeRequirement Get(std::string_view key) const;  // Exists if not defined
  bool HasMinValues() const;

  void Add(NodeRequirement requirement);  // intersects with what is there
  void Add(const NodeRequirements& others);
  void Set(NodeRequirement requirement);  // replaces what is there
  void Remove(std::string_view key);

  bool Intersects(const NodeRequirements& other) const;
  // `allowed` may be undefined here although `demand` asks for them (rules.well_known for claims);
  // null: nothing may (nodes that exist).
  bool Compatible(const NodeRequirements& demand, const LabelRules* allowed) const;

  // Why not, one sentence per label, in the order of the labels; empty if so.
  std::vector<std::string> WhyNotIntersects(const NodeRequirements& other) const;
  std::vector<std::string> WhyNotCompatible(const NodeRequirements& demand,
                                            const LabelRules* allowed) const;

  // Without those on restricted labels.
  std::string ToString(const LabelRules& rules = LabelRules::Default()) const;
  std::vector<RequirementSpec> ToSpec() const;

  friend bool operator==(const NodeRequirements&, const NodeRequirements&) = default;

 private:
  std::vector<NodeRequirement> all_;  // sorted by key
};

// What a pod demands of a node's labels: nodeSelector and the first required node-affinity term
// (others are tried by relaxing), and with kPreferred also the heaviest preferred term.
enum class PodDemands { kRequired, kPreferred };
NodeRequirements RequirementsOf(const Pod& pod, PodDemands demands, const LabelRules& rules);

}  // namespace coppice::model
