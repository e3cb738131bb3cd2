// Acme's plug-ins inside the real engine: two pending pods, one of them patient; one machine is
// bought, in the green group. No test framework: the example shall need nothing but Coppice.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "acme.h"
#include "autoscale/assembly.h"
#include "base/fake_clock.h"
#include "batch/session.h"
#include "seats/open_node_groups.h"
#include "test/support/agreeing_writer.h"

namespace {

using namespace coppice;  // NOLINT

#define REQUIRE(condition)                                         \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      std::exit(1);                                                \
    }                                                              \
  } while (false)

cluster::PodPtr PendingPod(const std::string& name, TimePoint created, bool patient) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = name;
  pod.metadata.creation_timestamp = model::Time{created};
  if (patient) pod.metadata.annotations["acme.example/no-scale-up"] = "true";
  pod.status.phase = "Pending";
  pod.status.conditions.push_back(
      {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"});
  return std::make_shared<const model::Pod>(std::move(pod));
}

// A machine of the shelf for a claim, once, and none when it is empty; a name that is taken twice is
// told with both places.
void TryNodeClaims() {
  cloud::NodeClaimsRegistry registry("node claim provider");
  acme::Register(registry);
  FakeClock clock;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  yaml::Problems problems;
  auto shelf = registry.Make(
      "acme-shelf", cloud::NodeClaimsContext{clock, rng, log, metrics, yaml::Node(), problems});
  REQUIRE(shelf.ok());
  model::NodeClaim claim;
  for (const char* uid : {"1", "1", "2", "3"}) {
    claim.metadata.uid = uid;
    REQUIRE((*shelf)->Create(claim, Deadline::Never()).ok());
  }
  claim.metadata.uid = "4";
  const auto refused = (*shelf)->Create(claim, Deadline::Never());
  REQUIRE(!refused.ok() && cloud::TroubleOf(refused.status()).give_up);
  acme::Register(registry);
  const std::string twice = registry.Check().message();
  REQUIRE(twice.find("acme_claims.cc") != twice.rfind("acme_claims.cc"));
}

// Two jobs of one pod each, and room for one: at the end of the month it is finance's.
std::string FirstJobOn(std::chrono::sys_days day, const seats::Plugins& plugins) {
  const auto conf = batch::ParseConf(
      "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: acme-month-end\n  - name: gang\n");
  REQUIRE(conf.ok());
  cluster::Facts facts;
  cluster::Snapshot snapshot(facts);
  batch::SessionInput input;
  input.now = day;
  auto node = std::make_shared<model::Node>();
  node->metadata.name = "node";
  node->status.allocatable["cpu"] = model::Quantity::FromUnits(1);
  node->status.allocatable["pods"] = model::Quantity::FromUnits(10);
  const auto index = snapshot.AddNode(*node);
  REQUIRE(index.ok());
  input.nodes.push_back({.object = node, .index = *index, .images = {}});
  model::Queue& queue = input.queues.emplace_back();
  queue.metadata.name = "default";
  queue.spec.weight = 1;
  queue.status.state = "Open";
  for (const std::string team : {"art", "finance"}) {
    model::PodGroup& group = input.groups.emplace_back();
    group.metadata.name = "report";
    group.metadata.namespace_ = team;
    group.spec.min_member = 1;
    group.status.phase = "Inqueue";
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = "report-0";
    pod->metadata.namespace_ = team;
    pod->metadata.uid = team;
    pod->metadata.annotations["scheduling.k8s.io/group-name"] = "report";
    pod->spec.scheduler_name = "volcano";
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromUnits(1);
    pod->spec.containers.push_back(container);
    pod->status.phase = "Pending";
    const auto at = snapshot.AddPod(pod, cluster::kNone);
    input.pods.push_back({.object = std::move(pod), .index = at});
  }
  auto session = batch::Session::Open(*conf, {}, plugins.batch, plugins.filters, snapshot, input);
  REQUIRE(session.ok());
  (*session)->Run();
  const batch::Outcome outcome = (*session)->Close();
  REQUIRE(outcome.binds.size() == 1);
  return outcome.binds[0].pod.namespace_;
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  TryNodeClaims();
  seats::Plugins plugins;
  seats::RegisterDiscoveredPlugins(plugins);
  acme::Register(plugins.clouds);
  acme::Register(plugins.expanders);
  acme::Register(plugins.processors);
  acme::Register(plugins.batch);
  using namespace std::chrono;
  REQUIRE(FirstJobOn(2026y / January / 10, plugins) == "art");
  REQUIRE(FirstJobOn(2026y / January / 30, plugins) == "finance");
  auto flags = autoscale::ParseFlags(
      {"--cloud-provider=acme", std::string("--cloud-config=") + argv[1],
       "--expander=acme-green,least-waste", "--processor=pod-list=acme-patient"});
  REQUIRE(flags.ok());

  FakeClock clock;
  Executor executor(clock);
  InlineWorkers workers;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  cluster::World world;
  test::AgreeingWriter writer;
  auto groups =
      seats::OpenNodeGroups(*flags, plugins, clock, rng, log, metrics, /*cloud_workers=*/&workers);
  if (!groups.ok()) std::fprintf(stderr, "%s\n", groups.status().message().c_str());
  REQUIRE(groups.ok());
  auto assembly = autoscale::Assembly::Create({.flags = *std::move(flags),
                                               .plugins = plugins,
                                               .world = world,
                                               .writer = writer,
                                               .executor = executor,
                                               .workers = workers,
                                               .rng = rng,
                                               .log = log,
                                               .metrics = metrics,
                                               .groups = **groups});
  if (!assembly.ok()) std::fprintf(stderr, "%s\n", assembly.status().message().c_str());
  REQUIRE(assembly.ok());

  const TimePoint created = clock.Now() - std::chrono::minutes(1);
  world.UpsertPod(PendingPod("patient", created, true));
  world.UpsertPod(PendingPod("eager", created, false));
  const auto report = executor.BlockOn((*assembly)->engine().Pass(clock.Now()));
  REQUIRE(report->scale_up.resizes.size() == 1);
  REQUIRE(report->scale_up.resizes[0].group == "green");
  REQUIRE(report->scale_up.triggered.size() == 1);
  REQUIRE(report->scale_up.triggered[0]->metadata.name == "eager");
  std::printf("bought 1 machine in %s for %s\n", report->scale_up.resizes[0].group.c_str(),
              report->scale_up.triggered[0]->metadata.name.c_str());
  return 0;
}
