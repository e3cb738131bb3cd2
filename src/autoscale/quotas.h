// Cluster-wide limits on cores, memory and GPUs: how many more nodes of a kind are allowed, and how
// many may go.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/options.h"
#include "model/node.h"

namespace coppice::autoscale {

struct QuotaAnswer {
  int allowed = 0;                    // of the nodes asked for
  std::vector<std::string> exceeded;  // resources, by name; empty: all are allowed
};

// Counts down from what is left to a limit: to the maxima for scale-up, from the minima for
// scale-down. What a node counts for is its capacity; all nodes of a group count like the first one
// seen, as upstream reckons.
class Quotas {
 public:
  struct NodeOf {
    const model::Node* node;
    std::string_view group;  // "" if none
  };
  using Amounts = std::map<std::string, int64_t, std::less<>>;
  // What a node counts for beside cpu and memory. Null: its GPUs, under the value of the label.
  using DevicesOf = std::function<Amounts(const NodeOf& of)>;
  static Quotas ToMaxima(const LimitOptions& options, const std::vector<NodeOf>& nodes,
                         std::string gpu_label, DevicesOf devices_of = nullptr);
  static Quotas ToMinima(const LimitOptions& options, const std::vector<NodeOf>& nodes,
                         std::string gpu_label, DevicesOf devices_of = nullptr);
  static Amounts GpusOf(const model::Node& node, std::string_view gpu_label);

  QuotaAnswer Check(const NodeOf& like, int count);
  // By how much each exceeded limit is exceeded.
  std::vector<std::pair<std::string, int64_t>> Missing(const NodeOf& like, int count);
  // The same, and takes it; nothing is taken unless all of it is allowed.
  QuotaAnswer Consume(const NodeOf& like, int count);

 private:
  Quotas(std::string gpu_label, DevicesOf devices_of)
      : gpu_label_(std::move(gpu_label)), devices_of_(std::move(devices_of)) {}
  Amounts Usage(const std::vector<NodeOf>& nodes);
  const Amounts& AmountsOf(const NodeOf& of);

  std::string gpu_label_;
  DevicesOf devices_of_;
  Amounts left_;  // of limited resources only
  Amounts over_;  // what is used beyond a limit already
  std::map<std::string, Amounts, std::less<>> by_group_;
  Amounts ungrouped_;  // of the last node asked about that has no group
};

}  // namespace coppice::autoscale
