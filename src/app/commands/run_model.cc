// `coppice run` without a cluster: a model one, and the real engine on top.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/commands/run_gangs.h"
#include "app/commands/run_pools.h"
#include "app/dashboard.h"
#include "app/model_steering.h"
#include "cloud/group_limits.h"
#include "rehearse/recorder.h"
#include "sim/load.h"
#include "whatif/model_loop.h"
#include "whatif/model_scene.h"
#include "whatif/run_account.h"
#include "whatif/terminal_look.h"

namespace coppice::app {
namespace {

constexpr double kSpeed = 60;
// Where nobody watches: a day in a minute.
constexpr auto kUnwatched = std::chrono::hours(24);
constexpr double kUnwatchedSpeed = 1440;

// Several groups, zones and prices; a stock-out in the middle of the first day; now and then a boot
// that fails.
constexpr char kConfig[] = R"(clusterTag: model
cloud:
  kind: simulated
  bootTime: 60s
  faults: {{bootFailure: 0.02}}
  stockOuts:
    - {{flavor: compute-16-32, after: 5h, for: 90m}}
  seed: {}
nodeGroups:
  - {{name: general-north1, minSize: 1, maxSize: 12, flavor: medium-4-16, zone: north1}}
  - {{name: general-north2, minSize: 1, maxSize: 12, flavor: medium-4-16, zone: north2}}
  - {{name: compute-north2, minSize: 0, maxSize: 4, flavor: compute-16-32, zone: north2}}
  - {{name: memory-north1, minSize: 0, maxSize: 6, flavor: memory-8-64, zone: north1}}
  - {{name: small-south1, minSize: 0, maxSize: 20, flavor: small-2-4, zone: south1}}
)";

volatile std::sig_atomic_t interrupted = 0;
void Interrupt(int) { interrupted = 1; }

Result<std::unique_ptr<whatif::ModelScene>> MakeScene(const ModelCommand& command,
                                                      const Plugins& plugins) {
  auto config = TRY(whatif::SimulatedConfig(command.flags.cloud_config,
                                            fmt::format(kConfig, command.seed % 1'000'000'000),
                                            "a model cluster"));
  // The model is a cluster of its own, whatever the file is for.
  for (cloud::GroupConfig& group : config.groups) group.tags.erase(cloud::kClusterTag);
  TRY(cloud::LimitGroups(command.flags.nodes, config.groups));
  auto scene = TRY(whatif::ModelScene::Create({.plugins = plugins,
                                               .clouds = plugins.clouds,
                                               .config = std::move(config),
                                               .start = kModelStart,
                                               .seed = command.seed,
                                               .verbose = command.verbose}));
  TRY(scene->AddFirstNodes());
  return scene;
}

Result<std::unique_ptr<Dashboard>> OpenDashboard(const ModelCommand& command,
                                                 const Plugins& plugins, double speed,
                                                 const Metrics& metrics, ModelSteering& steering) {
  DashboardOptions options = command.web;
  // Nobody can watch what is over in a moment; who wants to says where.
  if (speed <= 0 && !options.address_is_given) options.address.clear();
  return Dashboard::Open(
      {.options = std::move(options),
       .flags = command.flags,
       .plugins = plugins,
       .node_pools = command.node_pools,
       .metrics = &metrics,
       .decide = [&](Dashboard::WithWorld errand) { steering.Post(std::move(errand)); },
       .control_state = [&] { return steering.Json(); },
       .control = [&](const web::Control& control) { steering.Set(control); }});
}

// Null if nobody asked for gangs.
std::unique_ptr<ModelGangs> GangsOf(const ModelCommand& command, whatif::ModelScene& scene,
                                    whatif::RunAccount& account) {
  if (!command.batch) return nullptr;
  return std::make_unique<ModelGangs>(
      command, scene,
      whatif::GangsAccount::Print{
          .line = [&](char mark, const std::string& what,
                      const std::string& why) { account.Line(mark, what, why); },
          .table = [&](const std::string& line) { account.Text(line); },
          .ordered = [&](int machines) { account.Ordered(machines); }});
}

std::vector<whatif::MakeModelEngine> EnginesOf(ModelGangs* gangs, const Plugins& plugins) {
  if (gangs == nullptr) return {};
  return {gangs->Engine(plugins)};
}

void IntroduceModel(double speed, uint64_t seed, bool gangs) {
  std::printf(
      "A model cluster%s on a simulated cloud, %s, seed %llu. Ctrl-C ends it with a summary.\n"
      "  + bought   * joined   - removed   . waits   ! went wrong\n%s\n",
      gangs ? " with queues and gangs" : "",
      speed > 0 ? fmt::format("{}x as fast as life", speed).c_str() : "as fast as it goes",
      static_cast<unsigned long long>(seed), gangs ? "  > a gang comes   = starts   < ends\n" : "");
}

Status Play(const ModelCommand& command, Plugins& plugins) {
  const bool watched = isatty(STDOUT_FILENO) != 0 || command.speed || command.lasts;
  const double speed = command.speed.value_or(watched ? kSpeed : kUnwatchedSpeed);
  const Duration lasts = command.lasts.value_or(watched ? Duration::max() : Duration(kUnwatched));

  const auto scene = TRY(MakeScene(command, plugins));
  FakeClock& clock = scene->clock;
  sim::Model& model = *scene->model;
  sim::Load load(model, sim::DefaultLoad(), command.seed);
  const whatif::TerminalLook look =
      whatif::LookOf(STDOUT_FILENO, std::getenv("NO_COLOR"), std::getenv("TERM"));
  whatif::RunAccount account(model, [look](const std::string& line) {
    std::printf("%s\n", whatif::Shown(line, look).c_str());
    std::fflush(stdout);
  });
  model.api.hooks.event = [&](const cluster::Event& event) { account.Event(event); };
  const auto gangs = GangsOf(command, *scene, account);
  ModelSteering steering(speed);
  const auto stopped = [] { return interrupted != 0; };
  const auto host = TRY(whatif::ModelHost::Create(
      {.model = model,
       .clock = clock,
       .plugins = plugins,
       .flags = command.flags,
       .seed = command.seed,
       .log = scene->log,
       .metrics = scene->metrics,
       .pace = [&](TimePoint next) { steering.Wait(clock.Now(), next, stopped); },
       .engines = EnginesOf(gangs.get(), plugins)}));
  const auto dashboard = TRY(OpenDashboard(command, plugins, speed, scene->metrics, steering));
  if (gangs && dashboard) {
    gangs->session_ended = [&](std::shared_ptr<const report::SessionReport> session) {
      dashboard->SessionEnded(std::move(session));
    };
  }
  steering.meanwhile = [&] {
    if (!dashboard) return;
    for (const Dashboard::WithWorld& errand : steering.TakeErrands())
      errand({.world = &host->world(), .groups = &host->groups(), .now = clock.Now()});
    dashboard->LookIfDue(host->world(), &host->groups(), clock.Now());
  };

  IntroduceModel(speed, command.seed, gangs != nullptr);
  if (dashboard) std::printf("Dashboard: %s\n\n", dashboard->url().c_str());
  std::fflush(stdout);
  const auto real_start = std::chrono::steady_clock::now();
  const TimePoint start = clock.Now();
  const TimePoint end = Later(start, lasts);
  TimePoint next_table =
      command.table > Duration::zero() ? start : TimePoint::max();  // the first at once
  load.Start();
  if (gangs) gangs->Start();
  host->AdvanceTo(start);
  InlineWorkers recording;
  const auto recorder =
      TRY(rehearse::OpenRecorder(command.record, host->world(), recording, scene->log));
  whatif::ModelLoop loop(*host, model, clock, command.flags);
  while (const auto pass = loop.Next(end, stopped)) {
    account.Tell(*pass);
    if (recorder) recorder->Look(&host->groups(), clock.Now());
    if (dashboard) {
      dashboard->PassEnded(pass, host->last_pass_took());
      steering.meanwhile();
    }
    if (clock.Now() >= next_table) {
      account.Table(*pass);
      if (gangs) gangs->account().Table();
      next_table += command.table;
    }
  }
  account.Summary(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - real_start).count());
  if (gangs) gangs->account().Summary();
  return Status::Ok();
}

Status PlayWithPools(const ModelCommand& command, Plugins& plugins) {
  const bool watched = isatty(STDOUT_FILENO) != 0 || command.speed || command.lasts;
  const double speed = command.speed.value_or(watched ? kSpeed : kUnwatchedSpeed);
  const Duration lasts = command.lasts.value_or(watched ? Duration::max() : Duration(kUnwatched));
  ModelSteering steering(speed);
  const auto stopped = [] { return interrupted != 0; };
  const SystemClock real;
  whatif::ModelHost* host = nullptr;
  const cloud::NodeClaims* claims = nullptr;
  const auto watch = [&](const whatif::ModelScene& scene) -> Result<Watching> {
    const std::shared_ptr<Dashboard> dashboard =
        TRY(OpenDashboard(command, plugins, speed, scene.metrics, steering));
    const Clock& clock = scene.clock;
    steering.meanwhile = [&, shown = dashboard.get()] {
      if (shown == nullptr || host == nullptr) return;
      cloud::NodeGroups* const theirs = host->groups_or_null();
      for (const Dashboard::WithWorld& errand : steering.TakeErrands())
        errand({&host->world(), theirs, claims, clock.Now()});
      shown->LookIfDue(host->world(), theirs, clock.Now());
    };
    return Watching{
        .pace = [&](TimePoint next) { steering.Wait(clock.Now(), next, stopped); },
        .stop = stopped,
        .speed = speed,
        .lasts = lasts,
        .opened =
            [&, dashboard](whatif::ModelHost& opened) {
              host = &opened;
              if (dashboard) std::printf("Dashboard: %s\n\n", dashboard->url().c_str());
              std::fflush(stdout);
            },
        .pools_passed =
            [dashboard](const report::ProvisionReport& report) {
              if (dashboard)
                dashboard->PoolsPassed(std::make_shared<const report::ProvisionReport>(report));
            },
        .pass_ended =
            [&, dashboard](const std::shared_ptr<const report::PassReport>& report) {
              if (dashboard) dashboard->PassEnded(report, host->last_pass_took());
            },
        .claims = &claims};
  };
  return PlayPools(command, plugins, real, watch);
}

// The same without a word, and what it cost.
Result<double> PlayQuietly(ModelCommand command, Plugins& plugins, Duration lasts) {
  command.verbose = false;
  const auto scene = TRY(MakeScene(command, plugins));
  FakeClock& clock = scene->clock;
  sim::Model& model = *scene->model;
  sim::Load load(model, sim::DefaultLoad(), command.seed);
  whatif::RunAccount account(model, [](const std::string&) {});
  const auto host = TRY(whatif::ModelHost::Create({.model = model,
                                                   .clock = clock,
                                                   .plugins = plugins,
                                                   .flags = command.flags,
                                                   .seed = command.seed,
                                                   .log = scene->log,
                                                   .metrics = scene->metrics}));
  const TimePoint end = clock.Now() + lasts;
  load.Start();
  host->AdvanceTo(clock.Now());
  whatif::ModelLoop loop(*host, model, clock, command.flags);
  while (loop.Next(end) != nullptr) account.Charge();
  account.Charge();
  return account.spent();
}

}  // namespace

double CostOfGroups(const ModelCommand& command, Plugins& plugins, Duration lasts) {
  const auto cost = PlayQuietly(command, plugins, lasts);
  return cost.ok() ? *cost : -1;
}

int RunModel(const ModelCommand& command, Plugins& plugins) {
  interrupted = 0;
  const auto before = std::signal(SIGINT, Interrupt);
  const auto before_term = std::signal(SIGTERM, Interrupt);
  const Status played =
      command.node_pools ? PlayWithPools(command, plugins) : Play(command, plugins);
  std::signal(SIGINT, before);
  std::signal(SIGTERM, before_term);
  if (played.ok()) return 0;
  // --nodes names a group that is not there.
  if (played.message().starts_with("--nodes=")) return WrongUsage("run", played);
  return Failed("run", played);
}

}  // namespace coppice::app
