// What any NodeGroups must do, done over the wire: the client, mutual TLS, our server, and behind
// it groups over a fake cloud, over the simulated one, and scripted ones.

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "cloud/fake_node_groups.h"
#include "cloud/template.h"
#include "plugins/clouds/simulated/options.h"
#include "plugins/clouds/simulated/verbs.h"
#include "test/conformance/node_groups_suite.h"
#include "test/externalgrpc/served.h"

namespace coppice::conformance {

struct FakeCloudOverTheWire {
  FakeClock fake_clock;
  cloud::FakeCloud fake{fake_clock};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  std::unique_ptr<cloud::CloudNodeGroups> behind = MUST(cloud::CloudNodeGroups::Create(
      {fake, workers, fake_clock, rng, log, metrics}, {.cluster = "c"},
      {{.name = "first", .max_size = 5, .flavor = "small", .zone = "zone1"},
       {.name = "second", .max_size = 5, .flavor = "large", .zone = "zone1"}}));
  test::ServedGroups served{*behind, fake_clock};

  cloud::NodeGroups& groups() { return *served.client; }
  Clock& clock() { return served.real_clock; }
  int CallsOut() { return served.calls; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(FakeCloudOverTheWire, NodeGroupsSuite, FakeCloudOverTheWire);

struct SimulatedOverTheWire {
  FakeClock fake_clock;
  Metrics metrics;
  clouds::simulated::SimulatedCloud simulated{clouds::simulated::DefaultOptions(), fake_clock, 1,
                                              metrics};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  std::unique_ptr<cloud::CloudNodeGroups> behind = MUST(cloud::CloudNodeGroups::Create(
      {simulated, workers, fake_clock, rng, log, metrics}, {.cluster = "c"},
      {{.name = "first", .max_size = 5, .flavor = "small-2-4", .zone = "north1"},
       {.name = "second", .max_size = 5, .flavor = "gpu-16-128-2", .zone = "north1"}}));
  test::ServedGroups served{*behind, fake_clock, "group_prefix: sim-\n"};

  cloud::NodeGroups& groups() { return *served.client; }
  Clock& clock() { return served.real_clock; }
  int CallsOut() { return served.calls; }
  std::string Group() { return "sim-first"; }
  std::string OtherGroup() { return "sim-second"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedOverTheWire, NodeGroupsSuite, SimulatedOverTheWire);

struct ScriptedOverTheWire {
  ScriptedOverTheWire() {
    for (const char* name : {"first", "second"}) {
      const cloud::Flavor flavor{.name = "f", .cpu_millis = 2'000, .memory_bytes = 4LL << 30};
      fake.Add({.info = {.id = name, .max_size = 5},
                .node_template = std::make_shared<const model::Node>(
                    MUST(cloud::MakeTemplate({.name = name}, flavor, "")))});
    }
  }
  SystemClock system_clock;
  cloud::FakeNodeGroups fake;
  test::ServedGroups served{fake, system_clock};

  cloud::NodeGroups& groups() { return *served.client; }
  Clock& clock() { return served.real_clock; }
  int CallsOut() { return served.calls; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() { fake.Fulfil(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ScriptedOverTheWire, NodeGroupsSuite, ScriptedOverTheWire);

}  // namespace coppice::conformance
