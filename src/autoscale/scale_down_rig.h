// ScaleDownRig: a whole engine without plug-ins, for tests of which nodes are not needed and why the
// others stay.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {

class ScaleDownRig : public PlainEngineRig {
 protected:
  std::shared_ptr<const report::PassReport> Start(std::vector<std::string> args = {}) {
    args.emplace_back("--scale-down-delay-after-add=0s");
    Assemble(std::move(args), inline_, writer_);
    return Pass();
  }
  std::shared_ptr<const report::PassReport> PassAfter(Duration time) {
    clock_.Set(clock_.Now() + time);
    return Pass();
  }
  void Change(const std::string& name, const std::function<void(model::Node&)>& change) {
    model::Node node = *world_.FindNode(name);
    change(node);
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  // Runs on the node, and nobody makes it anew.
  void AddBarePod(const std::string& name, const std::string& node) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.uid = name;
    pod.spec.node_name = node;
    pod.status.phase = "Running";
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  // Whether upstream has a word for it or not; kNoReason: it does not stay.
  static report::StayingNode WhyStays(const report::PassReport& report, const std::string& node) {
    for (const auto* list : {&report.scale_down.staying, &report.scale_down.staying_untold}) {
      for (const report::StayingNode& staying : *list) {
        if (staying.node == node) return staying;
      }
    }
    return {};
  }
  static std::vector<std::string> Removed(const report::PassReport& report) {
    std::vector<std::string> names;
    for (const auto& node : report.scale_down.removed) names.push_back(node.node);
    return names;
  }
};

}  // namespace coppice::autoscale
