// ConditionTimes: how conditions of NodeClaims, NodePools and Nodes change, and how long objects take
// to go, for the metrics that every operator of Karpenter's house has.
//
// Changes are found by comparing with what was seen last, so that one which is taken back between
// two looks is not counted. Decision thread.

#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "provision/context.h"

namespace coppice::provision {

class ConditionTimes {
 public:
  explicit ConditionTimes(Context& context) : context_(context) {}

  void Look(const std::vector<ClaimPtr>& claims, TimePoint now);
  void Look(const std::vector<NodePoolPtr>& pools, TimePoint now);
  void Look(const std::vector<NodePtr>& nodes, TimePoint now);

 private:
  template <class T>
  struct Seen {
    struct Entry {
      std::shared_ptr<const T> object;
      uint64_t look = 0;
    };
    std::unordered_map<std::string, Entry> objects;  // by uid
    std::vector<std::shared_ptr<const T>> last;      // as they were listed
    uint64_t looks = 0;
  };

  template <class T>
  void Compare(const std::vector<std::shared_ptr<const T>>& objects, Seen<T>& seen, TimePoint now);

  Context& context_;
  Seen<model::NodeClaim> claims_;
  Seen<model::NodePool> pools_;
  Seen<model::Node> nodes_;
};

// What the families of a kind are called, and whether the ones without a kind in their name, which
// Karpenter keeps for old dashboards, are written as well.
struct StatusFamily {
  std::string kind;   // NodeClaim
  std::string group;  // karpenter.sh
  std::string name;   // operator_nodeclaim
  bool is_deprecated_too = true;
};
template <class T>
const StatusFamily& StatusFamilyOf();

// Labels of the object that its series carry, by the names that Prometheus allows: those of claims
// and nodes that name its class and its pool.
MetricLabels StatusLabels(const std::vector<std::string>& class_labels, const model::NodeClaim&);
MetricLabels StatusLabels(const std::vector<std::string>& class_labels, const model::NodePool&);
MetricLabels StatusLabels(const std::vector<std::string>& class_labels, const model::Node&);

}  // namespace coppice::provision
