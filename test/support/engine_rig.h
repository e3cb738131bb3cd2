// A whole engine as the product assembles it, with every plug-in, on groups that answer as they are
// told, one pass at a time: for tests of what needs one to be seen.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/main.h"
#include "autoscale/assembly.h"
#include "autoscale/engine_world_rig.h"
#include "test/support/must.h"

namespace coppice::test {

using autoscale::ANode;

class EngineRig : public autoscale::EngineWorldRig {
 protected:
  EngineRig() { app::RegisterDiscoveredPlugins(plugins_); }

  void Assemble(std::vector<std::string> args, Workers& workers, cluster::Writer& writer) override {
    std::destroy_at(&executor_);  // its tasks work on the engine: they go first
    std::construct_at(&executor_, clock_);
    assembly_ = MUST(autoscale::Assembly::Create({.flags = MUST(autoscale::ParseFlags(args)),
                                                  .plugins = plugins_,
                                                  .world = world_,
                                                  .writer = writer,
                                                  .executor = executor_,
                                                  .workers = workers,
                                                  .rng = rng_,
                                                  .log = log_,
                                                  .metrics = metrics_,
                                                  .groups = groups_,
                                                  .view_age = view_age_,
                                                  .oldest_kind = [] { return "Pod"; },
                                                  .wake = wake_}));
  }
  std::shared_ptr<const report::PassReport> Pass() override {
    return executor_.BlockOn(assembly_->engine().Pass(clock_.Now()));
  }

  app::Plugins plugins_;
  std::unique_ptr<autoscale::Assembly> assembly_;
  Executor executor_{clock_};
};

}  // namespace coppice::test
