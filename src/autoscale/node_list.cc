#include "autoscale/node_list.h"

#include <memory>
#include <utility>

#include "autoscale/gpu.h"
#include "autoscale/readiness.h"

namespace coppice::autoscale {

bool NodeList::LacksGpu(const model::Node& node) const {
  return !gpu_label_.empty() && node.metadata.labels.contains(gpu_label_) &&
         AllocatableGpus(node) == 0;
}

void NodeList::SetGroup(ListedNode& of) const {
  auto group = owners_.GroupOf(*of.node);
  of.group_known = group.has_value();
  of.group = std::move(group).value_or("");
}

// A ready node whose devices have not appeared yet, or that still carries a startup taint, is not
// ready to us.
ListedNode NodeList::Read(const cluster::NodePtr& node) const {
  ListedNode of{.node = node};
  of.ready = ReadinessOf(*node).ready && !node->spec.unschedulable;
  of.candidate = HasTaint(*node, kDeletionCandidateTaint);
  const auto no_gpu = [this](const model::Node& one) { return LacksGpu(one); };
  std::string_view override_reason;
  if (of.ready && (slots_.custom_resources ? slots_.custom_resources->DevicesMissing(*node, no_gpu)
                                           : no_gpu(*node))) {
    override_reason = kResourceNotReady;
  } else if (of.ready && taints_.HasStartupTaint(*node)) {
    override_reason = kStartupTaintReason;
  }
  if (!override_reason.empty()) {
    of.node = std::make_shared<const model::Node>(UnreadyCopy(*node, override_reason));
    of.ready = false;
  }
  SetGroup(of);
  of.index = world_.snapshot().FindNode(node->metadata.name);
  return of;
}

void NodeList::Update() {
  if (std::string gpu_label = groups_.GpuLabel(); gpu_label != gpu_label_) {
    read_ = {};
    gpu_label_ = std::move(gpu_label);
  }
  const uint64_t version = groups_.Version();
  const bool same_groups = version != 0 && version == groups_version_;
  const bool same_indexes = node_set_ == world_.node_set_version();
  ready_ = 0;
  unknown_ = 0;
  read_.Begin(world_.node_count());
  nodes_.clear();
  nodes_.reserve(world_.node_count());
  world_.ForEachNode([&](const cluster::NodePtr& node) {
    bool fresh = false;
    ListedNode& of = read_.Next(node, [&] {
      fresh = true;
      return Read(node);
    });
    // What a processor says of a node may change by itself; all else is read off the object.
    if (!fresh && slots_.custom_resources) {
      of = Read(node);
    } else if (!fresh) {
      if (!same_groups) SetGroup(of);
      if (!same_indexes) of.index = world_.snapshot().FindNode(node->metadata.name);
    }
    ready_ += of.ready ? 1 : 0;
    unknown_ += of.group_known ? 0 : 1;
    nodes_.push_back(of);
  });
  groups_version_ = version;
  node_set_ = world_.node_set_version();
}

}  // namespace coppice::autoscale
