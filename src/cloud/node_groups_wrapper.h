// NodeGroupsWrapper: node groups that forward every question and change to others. Who stands in
// between overrides what it changes and inherits the rest.

#pragma once

#include "cloud/node_groups.h"

namespace coppice::cloud {

class NodeGroupsWrapper : public NodeGroups {
 public:
  // `inner` outlives this.
  explicit NodeGroupsWrapper(NodeGroups& inner) : inner_(&inner) {}

  uint64_t Version() const override { return inner_->Version(); }
  std::vector<GroupInfo> Groups() override { return inner_->Groups(); }
  Result<std::optional<std::string>> GroupOf(const NodeRef& node) override {
    return inner_->GroupOf(node);
  }
  Result<bool> HasInstance(const NodeRef& node) override { return inner_->HasInstance(node); }
  Result<int> TargetSize(std::string_view group) override { return inner_->TargetSize(group); }
  Result<std::vector<Instance>> Instances(std::string_view group) override {
    return inner_->Instances(group);
  }
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override {
    return inner_->Template(group);
  }
  Result<std::optional<ScalingOptions>> Options(std::string_view group,
                                                const ScalingOptions& defaults) override {
    return inner_->Options(group, defaults);
  }
  bool OrdersMayOverlap(std::string_view group) override { return inner_->OrdersMayOverlap(group); }
  Status Increase(std::string_view group, int delta, Deadline deadline) override {
    return inner_->Increase(group, delta, deadline);
  }
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override {
    return inner_->IncreaseAtomically(group, delta, deadline);
  }
  Status Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                Deadline deadline) override {
    return inner_->Delete(group, nodes, deadline);
  }
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override {
    return inner_->DecreaseTarget(group, delta, deadline);
  }
  void TellNodes(const EachNode& nodes) override { inner_->TellNodes(nodes); }
  Status Refresh(Deadline deadline) override { return inner_->Refresh(deadline); }
  Status Cleanup() override { return inner_->Cleanup(); }
  std::string GpuLabel() override { return inner_->GpuLabel(); }
  std::vector<std::string> GpuTypes() override { return inner_->GpuTypes(); }
  void LearnPrices(const PriceQuestions& questions, Deadline deadline) override {
    inner_->LearnPrices(questions, deadline);
  }
  Result<double> NodePrice(const NodeRef& node, const std::map<std::string, std::string>& labels,
                           TimePoint start, TimePoint end) override {
    return inner_->NodePrice(node, labels, start, end);
  }
  Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) override {
    return inner_->PodPrice(pod, start, end);
  }

 protected:
  // Who makes the others itself, before the first question.
  NodeGroupsWrapper() = default;
  void StandBefore(NodeGroups& inner) { inner_ = &inner; }
  NodeGroups& inner() const { return *inner_; }

 private:
  NodeGroups* inner_ = nullptr;
};

}  // namespace coppice::cloud
