// What a processor is made from and what it sees of a pass, for the tests of processors.

#pragma once

#include <any>
#include <map>
#include <string>
#include <utility>

#include "autoscale/processor_registry.h"
#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"

namespace coppice::test {

class ProcessorWorld {
 public:
  autoscale::ProcessorContext Context(std::string argument = "") {
    return {.options = options,
            .groups = groups,
            .world = world,
            .clock = clock,
            .rng = rng,
            .log = log,
            .metrics = metrics,
            .argument = std::move(argument)};
  }
  autoscale::PassView View() {
    return {.now = clock.Now(),
            .world = world,
            .groups = groups,
            .disable_scale_down = [this] { scale_down_disabled = true; },
            .forget_unneeded = [this] { unneeded_forgotten = true; },
            .extra = extra};
  }
  static fit::PendingPod Pod(std::string namespace_, std::string name) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = std::move(namespace_);
    pod->metadata.name = std::move(name);
    return {pod, cluster::kNone};
  }

  autoscale::Options options;
  cloud::FakeNodeGroups groups;
  cluster::World world;
  FakeClock clock;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  std::map<std::string, std::any> extra;
  bool scale_down_disabled = false;
  bool unneeded_forgotten = false;
};

}  // namespace coppice::test
