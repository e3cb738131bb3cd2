#include "app/commands/run_pools.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "rehearse/recorder.h"
#include "sim/load.h"
#include "whatif/model_loop.h"
#include "whatif/model_pools.h"
#include "whatif/model_scene.h"
#include "whatif/pools_account.h"
#include "whatif/run_account.h"

namespace coppice::app {
namespace {

// The image of the class changes at lunch.
constexpr auto kNewImage = std::chrono::hours(6);
constexpr Duration kTurn = std::chrono::minutes(1);

// The machines of the node groups' model, and spot of each; the cloud takes some of that back.
constexpr char kPoolsConfig[] = R"(clusterTag: model
cloud:
  kind: simulated
  bootTime: 60s
  faults: {{bootFailure: 0.02}}
  spotFactor: 0.35
  spotLifetime: 12h
  seed: {}
)";

Result<std::unique_ptr<whatif::ModelScene>> MakePoolsScene(const ModelCommand& command,
                                                           const Plugins& plugins) {
  auto config = TRY(whatif::SimulatedConfig(command.flags.cloud_config,
                                            fmt::format(kPoolsConfig, command.seed % 1'000'000'000),
                                            "a model cluster", provider::Groups::kOptional));
  auto scene = TRY(whatif::ModelScene::Create({.plugins = plugins,
                                               .clouds = plugins.clouds,
                                               .config = std::move(config),
                                               .start = kModelStart,
                                               .seed = command.seed,
                                               .verbose = command.verbose}));
  return scene;
}

model::NodeClass ModelClass(const std::string& image) {
  model::NodeClass made;
  made.metadata.name = "default";
  made.spec.image = image;
  return made;
}

// Spot first, as far as its limit goes; then whatever there is.
model::NodePool ModelPool(const std::string& name, int32_t weight, const std::string& way,
                          const char* cpu_limit) {
  model::NodePool pool;
  pool.metadata.name = name;
  pool.spec.weight = weight;
  pool.spec.template_.spec.node_class_ref = {
      .group = cloud::kNodeClassGroup, .kind = cloud::kNodeClassKindName, .name = "default"};
  // Without machines with GPUs, as operators have it: pods are packed as long as any type takes
  // them all, whatever it costs.
  pool.spec.template_.spec.requirements = {
      {.key = std::string(model::kInstanceTypeLabel),
       .operator_ = "NotIn",
       .values = {"gpu-16-128-2"}},
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {way}},
      {.key = std::string(model::kArchLabel), .operator_ = "In", .values = {"amd64"}}};
  pool.spec.disruption.consolidate_after = "5m";
  pool.spec.disruption.budgets = {{.nodes = "20%"}};
  if (cpu_limit != nullptr)
    pool.spec.limits["cpu"] = model::Quantity::FromUnits(std::atoll(cpu_limit));
  model::FillDefaults(pool);
  return pool;
}

Status AddPools(sim::Model& model) {
  TRY(model.api.objects.Put(ModelClass("image-1")));
  TRY(model.api.objects.Put(ModelPool("spot", 10, cloud::kSpotCapacity, "64")));
  TRY(model.api.objects.Put(ModelPool("on-demand", 1, cloud::kOnDemandCapacity, nullptr)));
  return Status::Ok();
}

void Introduce(double speed, uint64_t seed) {
  std::printf(
      "A model cluster with node pools on a simulated cloud, %s, seed %llu. Ctrl-C ends it with a "
      "summary.\n  + bought   - taken away   . waits   ! went wrong   * somebody changed "
      "something\n\n",
      speed > 0 ? fmt::format("{}x as fast as life", speed).c_str() : "as fast as it goes",
      static_cast<unsigned long long>(seed));
  std::fflush(stdout);
}

}  // namespace

Status PlayPools(const ModelCommand& command, Plugins& plugins, const Clock& real,
                 const std::function<Result<Watching>(const whatif::ModelScene&)>& watch) {
  const auto scene = TRY(MakePoolsScene(command, plugins));
  FakeClock& clock = scene->clock;
  sim::Model& model = *scene->model;
  const provider::ProviderConfig& config = scene->config;
  TRY(AddPools(model));
  TRY(scene->AddFirstNodes());
  sim::Load load(model, sim::DefaultLoad(), command.seed);
  const auto print = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  whatif::PoolsAccount account(model, print);
  std::optional<whatif::RunAccount> groups_account;
  if (!config.groups.empty()) groups_account.emplace(model, print);
  const Watching watching = TRY(watch(*scene));
  provision::EngineOptions options = command.node_pools->options;
  const auto host = TRY(whatif::ModelHost::Create(
      {.model = model,
       .clock = clock,
       .plugins = plugins,
       .flags = command.flags,
       .seed = command.seed,
       .log = scene->log,
       .metrics = scene->metrics,
       .pace = watching.pace,
       .node_groups = !config.groups.empty(),
       .engines = {whatif::ModelPools(
           {.engine = options,
            .filters = &scene->filters,
            .passed =
                [&](const report::ProvisionReport& report) {
                  account.Tell(report);
                  watching.pools_passed(report);
                },
            .claims_is = [&](const cloud::NodeClaims* now) { *watching.claims = now; }})}}));
  Introduce(watching.speed, command.seed);
  watching.opened(*host);

  const TimePoint real_start = real.Now();
  const TimePoint start = clock.Now();
  const TimePoint end = Later(start, watching.lasts);
  TimePoint next_table =
      command.table > Duration::zero() ? start + command.table : TimePoint::max();
  model.agenda.At(start + kNewImage, [&] {
    account.Line('*', "NodeClass default", "gets another image: its machines have drifted");
    CHECK(model.api.objects.Put(ModelClass("image-2")).ok());
  });
  load.Start();
  host->AdvanceTo(start);
  InlineWorkers recording;
  const auto recorder =
      TRY(rehearse::OpenRecorder(command.record, host->world(), recording, scene->log));
  std::optional<whatif::ModelLoop> loop;
  if (!config.groups.empty()) loop.emplace(*host, model, clock, command.flags);
  while (clock.Now() < end && !watching.stop()) {
    if (loop) {
      const auto pass = loop->Next(end, watching.stop);
      if (pass != nullptr) {
        groups_account->Tell(*pass);
        watching.pass_ended(pass);
      }
    } else {
      host->AdvanceTo(std::min(end, clock.Now() + (recorder ? rehearse::kLookEvery : kTurn)),
                      watching.stop);
    }
    if (recorder) recorder->Look(loop ? &host->groups() : nullptr, clock.Now(), *watching.claims);
    if (clock.Now() >= next_table) {
      account.Table();
      next_table += command.table;
    }
  }
  const double took = std::chrono::duration<double>(real.Now() - real_start).count();
  account.Summary(took, config.groups.empty() && command.flags.cloud_config.empty()
                            ? CostOfGroups(command, plugins, clock.Now() - start)
                            : -1);
  return Status::Ok();
}

}  // namespace coppice::app
