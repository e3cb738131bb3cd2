// Why a task does not fit: one node's answer, and all of them together.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coppice::batch {

struct NodeInfo;

// kube-scheduler's codes, as numbers: extenders answer with numbers, and with unknown ones, too.
inline constexpr int kFitSuccess = 0;
inline constexpr int kFitError = 1;
inline constexpr int kFitUnschedulable = 2;
inline constexpr int kFitUnresolvable = 3;  // unschedulable, and evicting would not help
inline constexpr int kFitWait = 4;
inline constexpr int kFitSkip = 5;

struct FitStatus {
  int code = kFitError;
  std::string reason;
  std::string plugin;
};

// A refusal. Null is a yes; who refuses many nodes for one reason makes it once.
struct Refusal {
  std::vector<FitStatus> statuses;
  // Not about this node, but something that failed on the way.
  bool plain_error = false;

  bool Has(int code) const;
  bool HasErrorSkipOrWait() const { return Has(kFitError) || Has(kFitSkip) || Has(kFitWait); }
  std::string Text() const;  // the reasons, ", " between them
};
using Fit = std::shared_ptr<const Refusal>;
Fit Refuse(int code, std::string reason, std::string plugin = "");

// Of one task on the nodes that were asked.
class FitErrors {
 public:
  void SetError(std::string text) { error_ = std::move(text); }
  void SetHyperNode(std::string name) { hyper_node_ = std::move(name); }  // whose nodes were asked
  void Set(const NodeInfo& node, Fit refusal);                            // replaces the node's
  const std::vector<std::pair<const NodeInfo*, Fit>>& nodes() const { return nodes_; }
  bool IsUnresolvable(const NodeInfo& node) const;
  bool HasUnresolvable() const;
  std::string Text() const;  // "0/3 nodes are unavailable: 2 Insufficient cpu, 1 ...."

 private:
  std::string error_;
  std::string hyper_node_;
  std::vector<std::pair<const NodeInfo*, Fit>> nodes_;
};

}  // namespace coppice::batch
