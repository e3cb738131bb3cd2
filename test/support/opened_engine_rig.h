// An engine on a provider that was opened as the command line says, every plug-in at hand: for tests
// of what flags and files make of both.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/assembly.h"
#include "base/fake_clock.h"
#include "seats/open_node_groups.h"
#include "test/support/agreeing_writer.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {

class OpenedEngineRig : public testing::Test {
 protected:
  // One group on a simulated cloud.
  static constexpr char kGroups[] =
      "clusterTag: a\ncloud: {kind: simulated, seed: 1}\n"
      "nodeGroups: [{name: web, maxSize: 5, flavor: small-2-4, zone: north1}]\n";

  OpenedEngineRig() { seats::RegisterDiscoveredPlugins(plugins_); }

  // The provider and, behind it, an engine.
  struct Assembled {
    std::unique_ptr<cloud::NodeGroups> behind;
    std::unique_ptr<autoscale::Assembly> autoscaler;
    cloud::NodeGroups& groups() { return *behind; }
    autoscale::Engine& engine() { return autoscaler->engine(); }
  };
  Result<std::unique_ptr<Assembled>> Make(std::vector<std::string> args) {
    auto flags = TRY(autoscale::ParseFlags(args));
    auto made = std::make_unique<Assembled>();
    made->behind =
        TRY(seats::OpenNodeGroups(flags, plugins_, clock_, rng_, log_, metrics_, &workers_));
    made->autoscaler = TRY(autoscale::Assembly::Create({.flags = std::move(flags),
                                                        .plugins = plugins_,
                                                        .world = world_,
                                                        .writer = writer_,
                                                        .executor = executor_,
                                                        .workers = workers_,
                                                        .rng = rng_,
                                                        .log = log_,
                                                        .metrics = metrics_,
                                                        .groups = *made->behind}));
    return made;
  }
  std::shared_ptr<const report::PassReport> PassOf(Assembled& assembled) {
    return executor_.BlockOn(assembled.engine().Pass(clock_.Now()));
  }
  // Its scheduler has found no place for it.
  void AddPendingPod(Duration age = std::chrono::minutes(1), const std::string& name = "web-1",
                     std::string_view cpu = "0") {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.uid = name;
    pod.spec.containers.push_back({.name = "main"});
    pod.spec.containers[0].resources.requests["cpu"] = MUST(model::Quantity::Parse(cpu));
    pod.metadata.creation_timestamp = model::Time{clock_.Now() - age};
    pod.status.phase = "Pending";
    pod.status.conditions.push_back(
        {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"});
    world_.UpsertPod(std::make_shared<const model::Pod>(pod));
  }

  seats::Plugins plugins_;
  FakeClock clock_;
  Executor executor_{clock_};
  SeededRng rng_{1};
  Metrics metrics_;
  Log log_ = Log::Null();
  InlineWorkers workers_;
  cluster::World world_;
  AgreeingWriter writer_;
  TempDirectory dir_;
};

}  // namespace coppice::test
