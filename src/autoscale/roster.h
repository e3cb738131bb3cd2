// Roster: the nodes that a pass reckons with.

#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "autoscale/imagined.h"
#include "autoscale/listed_node.h"
#include "autoscale/quotas.h"

namespace coppice::autoscale {

class Roster {
 public:
  // Both stay as they are for as long as this is read.
  void Update(const std::vector<ListedNode>& listed, const Imagined& imagined) {
    registered_ = &listed;
    if (!imagined.replaced().empty()) {
      const std::set<std::string_view> replaced(imagined.replaced().begin(),
                                                imagined.replaced().end());
      fewer_.clear();
      std::ranges::copy_if(listed, std::back_inserter(fewer_), [&](const ListedNode& of) {
        return !replaced.contains(of.node->metadata.name);
      });
      registered_ = &fewer_;
    }
    all_.clear();
    all_.reserve(registered_->size() + imagined.stand_ins().size());
    for (const ListedNode& of : *registered_) all_.push_back({of.node.get(), of.group});
    for (const StandIn& one : imagined.stand_ins()) all_.push_back({&one.node.node, one.group});
  }

  // Those that have a Node, without those whose place a stand-in takes; in list order.
  const std::vector<ListedNode>& registered() const { return *registered_; }
  // And the stand-ins.
  const std::vector<Quotas::NodeOf>& all() const { return all_; }

 private:
  const std::vector<ListedNode>* registered_ = nullptr;
  std::vector<ListedNode> fewer_;
  std::vector<Quotas::NodeOf> all_;
};

}  // namespace coppice::autoscale
