// Days of a batch scheduler on a model cluster and a fake clock: three queues, gangs of 2 to 256 that
// are bought for from zero, priorities, preemption and reclaim; with faults drawn from a seed:
// machines that do not come up, are lost, slow or sold out, a cloud and an API server that refuse and
// lose answers, an extender that does not answer, a process that dies in mid-flight.
//
// COPPICE_SEED (first seed), COPPICE_RUNS (how many) and COPPICE_DAYS (each) choose others;
// COPPICE_TELL prints what happens. tools/soak gangs plays a hundred.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <deque>

#include "plugins/batch/extender/factory.h"
#include "sim/faults.h"
#include "sim/load.h"
#include "test/simulation/gangs_rules.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/model_batch.h"
#include "whatif/model_host.h"
#include "whatif/model_loop.h"
#include "whatif/run_words.h"

namespace coppice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::TheFilters;
using test::ThePlugins;

constexpr char kAskFor[] = "example.com/ask";
constexpr char kGangsConf[] = R"(actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: pdb
  - name: asked
    arguments:
      extender.urlPrefix: http://rules.example
      extender.httpTimeout: 100ms
      extender.predicateVerb: predicate
      extender.jobEnqueueableVerb: enqueueable
      extender.managedResources: [example.com/ask]
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
)";

int GangsNumber(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// An extender that has nothing against anybody, while it is there.
class Rules final : public net::HttpClient {
 public:
  explicit Rules(const std::atomic<bool>& down, std::atomic<size_t>& calls)
      : down_(down), calls_(calls) {}
  Result<net::HttpResponse> Send(const net::HttpRequest& request, Deadline) override {
    ++calls_;
    if (down_) return DeadlineExceeded("no answer in time");
    const bool vote = request.url.ends_with("/enqueueable");
    return net::HttpResponse{.status = 200,
                             .headers = {},
                             .body = vote ? R"({"status":0})" : R"({"status":"","code":0})"};
  }

 private:
  const std::atomic<bool>& down_;
  std::atomic<size_t>& calls_;
};

class GangsLife {
 public:
  explicit GangsLife(uint64_t seed) : seed_(seed), rng_(seed) {
    flags_ = MUST(autoscale::ParseFlags(
        {"--scale-down-unneeded-time=5m", "--scale-down-delay-after-add=2m", "--expander=price"}));
    flags_.options.gang_scheduler_names = {"volcano"};
    yaml::Problems problems;
    auto cloud = MUST(ThePlugins().clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, yaml::Node(), problems}));
    model_ = MUST(sim::Model::Create({.clock = clock_,
                                      .filters = TheFilters(),
                                      .cloud = std::move(cloud),
                                      .groups = {Sold("compute", "compute-16-32", "north1", 30),
                                                 Sold("compute-b", "compute-16-32", "north2", 16),
                                                 Sold("medium", "medium-4-16", "north2", 20)}}));
    whatif::KeepBatchKinds(model_->api.objects);
    options_.asks_for = kAskFor;
    gangs_ = std::make_unique<whatif::GangLoad>(*model_, options_, seed + 2);
    rules_ = std::make_unique<GangRules>(*model_, *gangs_, options_.queues,
                                         [this](const std::string& what) { Break(what); });
    RegisterPlugins();
    MakeHost();
    MakeFaults();
    TellOfGangs();
    sim::LoadOptions few;
    few.services = {{.name = "web", .at_night = 2, .at_noon = 10, .cpu = "700m", .memory = "1Gi"}};
    few.jobs_per_hour = few.bursts_per_day = 0;
    load_ = std::make_unique<sim::Load>(*model_, few, seed);
    load_->Start();
    gangs_->Start();
  }

  void Faults(bool on) {
    if (on) {
      faults_->Start();
      faulty_ = true;
      model_->agenda.In(minutes(30 + rng_.Below(120)), [this] { LoseExtender(); });
    } else {
      faults_->Stop();
      faulty_ = false;
    }
  }

  // False: something is broken.
  bool Play(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end && broken_.empty()) {
      if (std::exchange(restart_, false)) {
        CHECK(host_->Restart().ok());
        rules_->Restarted();
      }
      const TimePoint until = std::min(end, clock_.Now() + seconds(30));
      while (loop_->Next(until, [this] { return restart_ || !broken_.empty(); }) != nullptr)
        ++passes_;
      rules_->Look();
    }
    return broken_.empty();
  }

  // Nothing goes wrong any more, and nobody new comes: everybody runs to his end, nothing is held,
  // and the machines go.
  void Heal() {
    Faults(false);
    extender_down_ = false;
    rules_->ExtenderIsDown(false);
    gangs_->Stop();
    for (int i = 0; i < 48 && broken_.empty(); ++i) {
      if (!Play(minutes(15)) || Ill().empty()) return;
    }
    for (const std::string& what : Ill()) broken_.push_back("not healed: " + what);
  }

  std::string Story() const {
    std::string text =
        fmt::format("seed {}; play it again: COPPICE_SEED={} COPPICE_RUNS=1\n", seed_, seed_);
    text += fmt::format("{} sessions, {} passes, {} gangs, {} pods, {} objects unreadable\n",
                        sessions_, passes_, gangs_->gangs().size(),
                        model_->cluster.objects().pod_count(), model_->api.objects.unreadable());
    for (const std::string& what : broken_) text += "BROKEN: " + what + "\n";
    for (const std::string& line : told_) text += line + "\n";
    return text;
  }
  bool broken() const { return !broken_.empty(); }
  const GangRules::Counts& counts() const { return rules_->counts(); }
  size_t sessions() const { return sessions_; }
  size_t passes() const { return passes_; }
  size_t faults() const { return faults_->count(); }
  size_t asked() const { return calls_; }
  size_t came() const { return gangs_->ever(); }
  size_t started() const { return started_; }
  size_t joined() const { return model_->machines.joined(); }

 private:
  static cloud::GroupConfig Sold(std::string name, std::string flavor, std::string zone, int max) {
    return {.name = std::move(name),
            .min_size = 0,
            .max_size = max,
            .flavor = std::move(flavor),
            .zone = std::move(zone)};
  }
  void Note(char mark, const std::string& what, const std::string& why) {
    std::string line = whatif::AccountLine(start_, clock_.Now(), mark, what, why);
    if (std::getenv("COPPICE_TELL") != nullptr) fmt::print("{}\n", line);
    told_.push_back(std::move(line));
    if (told_.size() > 120) told_.pop_front();
  }
  void Break(const std::string& what) {
    broken_.push_back(fmt::format("after {} h: {}", (clock_.Now() - start_) / hours(1), what));
  }

  void RegisterPlugins() {
    plugins_ = ThePlugins().batch;
    plugins_.Add("asked",
                 batch::extender::MakeFactory(clock_, [this](const net::HttpClientOptions&) {
                   return Result<std::unique_ptr<net::HttpClient>>(
                       std::make_unique<Rules>(extender_down_, calls_));
                 }));
  }

  void MakeHost() {
    whatif::ModelBatchOptions batch;
    batch.flags.engine.schedule_period = seconds(30);
    batch.flags.controllers = {.pod_groups = true, .queues = true, .jobs = true};
    batch.conf = MUST(batch::ParseConf(kGangsConf));
    batch.plugins = &plugins_;
    batch.filters = &ThePlugins().filters;
    batch.scheduler_is = [this](batch::Scheduler* scheduler) { scheduler_ = scheduler; };
    batch.passed = [this](const report::SessionReport& report) {
      ++sessions_;
      if (!report.error.empty()) Note('!', "session", report.error);
      rules_->AfterSession(report, *scheduler_);
    };
    host_ = MUST(whatif::ModelHost::Create({.model = *model_,
                                            .clock = clock_,
                                            .plugins = ThePlugins(),
                                            .flags = flags_,
                                            .seed = seed_,
                                            .log = log_,
                                            .metrics = metrics_,
                                            .engines = {whatif::ModelBatch(std::move(batch))}}));
    loop_ = std::make_unique<whatif::ModelLoop>(*host_, *model_, clock_, flags_);
  }

  void MakeFaults() {
    sim::FaultRates rates;
    rates.failed_boot = 0.04;
    faults_ = std::make_unique<sim::Faults>(*model_, rates, seed_ + 1);
    faults_->restart = [this] { restart_ = true; };
    faults_->set_stale = [this](bool stale) {
      rules_->ViewIsStale(stale);
      if (stale) {
        host_->view().Freeze();
      } else {
        host_->view().Thaw();
      }
    };
    faults_->tell = [this](const std::string& what) { Note('*', "FAULT", what); };
    model_->api.hooks.before_bind = [this](const model::Pod&) -> Status {
      return faulty_ && rng_.Chance(0.01) ? Unavailable("try again later") : Status::Ok();
    };
    model_->api.hooks.after_bind = [this](const model::Pod&) -> Status {
      return faulty_ && rng_.Chance(0.01) ? DeadlineExceeded("no answer") : Status::Ok();
    };
    model_->api.hooks.event = [this](const cluster::Event& event) {
      rules_->Heard(event);
      const bool buys = event.reason == "TriggeredScaleUp" || event.reason == "FailedToScaleUp" ||
                        event.reason == "HoldRanOut" || event.reason == "NotTriggerScaleUp";
      if (event.kind == "PodGroup" && buys) Note('+', event.name, event.reason + ": " + event.text);
    };
  }

  void TellOfGangs() {
    gangs_->came = [this](const whatif::PlayedGang& gang) {
      Note('.', gang.name,
           fmt::format("comes to {}: {} pods of {} m, at least {}, priority {}{}{}", gang.queue,
                       gang.size, gang.cpu_millis, gang.min, gang.priority,
                       gang.as_job ? ", a Job" : "", gang.hopeless ? ", hopeless" : ""));
    };
    gangs_->started = [this](const whatif::PlayedGang& gang) {
      ++started_;
      Note('>', gang.name, "runs after " + whatif::Short(clock_.Now() - gang.came));
    };
    gangs_->ended = [this](const whatif::PlayedGang& gang) { Note('-', gang.name, "is over"); };
  }

  // For one to twenty minutes nobody answers.
  void LoseExtender() {
    if (!faulty_) return;
    extender_down_ = true;
    rules_->ExtenderIsDown(true);
    Note('*', "FAULT", "the extender does not answer");
    model_->agenda.In(minutes(1 + rng_.Below(20)), [this] {
      extender_down_ = false;
      rules_->ExtenderIsDown(false);
    });
    model_->agenda.In(hours(2 + rng_.Below(6)), [this] { LoseExtender(); });
  }

  std::vector<std::string> Ill() const {
    std::vector<std::string> ill = rules_->Held();
    for (const auto& [name, gang] : gangs_->gangs())
      ill.push_back("gang " + name + (gang.started ? " does not end" : " waits"));
    const size_t machines = model_->cloud.Truth().size();
    constexpr size_t kForTheService = 4;
    if (machines > kForTheService) ill.push_back(fmt::format("{} machines are left", machines));
    return ill;
  }

  const uint64_t seed_;
  SeededRng rng_;
  FakeClock clock_;
  const TimePoint start_ = clock_.Now();
  Metrics metrics_;
  const Log log_ =
      std::getenv("COPPICE_LOG") != nullptr ? Log::ToStderr(clock_, LogLevel::kInfo) : Log::Null();
  autoscale::FlagValues flags_;
  whatif::GangLoadOptions options_;
  std::deque<std::string> told_;
  std::vector<std::string> broken_;
  std::atomic<bool> extender_down_ = false;
  std::atomic<size_t> calls_ = 0;
  batch::PluginRegistry plugins_;
  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<whatif::GangLoad> gangs_;
  std::unique_ptr<GangRules> rules_;
  batch::Scheduler* scheduler_ = nullptr;
  std::unique_ptr<whatif::ModelHost> host_;
  std::unique_ptr<whatif::ModelLoop> loop_;
  std::unique_ptr<sim::Load> load_;
  std::unique_ptr<sim::Faults> faults_;
  bool faulty_ = false;
  bool restart_ = false;
  size_t sessions_ = 0;
  size_t passes_ = 0;
  size_t started_ = 0;
};

TEST(GangsSimulationTest, DaysWithFaultsBreakNothingAndHeal) {
  const int runs = GangsNumber("COPPICE_RUNS", 1);
  const int days = GangsNumber("COPPICE_DAYS", 1);
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<uint64_t>(GangsNumber("COPPICE_SEED", 1) + run);
    GangsLife life(seed);
    ASSERT_TRUE(life.Play(hours(4))) << life.Story();
    EXPECT_GT(life.started(), 0u) << life.Story();
    EXPECT_GT(life.counts().purchases, 0u) << life.Story();
    life.Faults(true);
    ASSERT_TRUE(life.Play(hours(24) * days)) << life.Story();
    life.Heal();
    ASSERT_FALSE(life.broken()) << life.Story();
    const GangRules::Counts& counts = life.counts();
    EXPECT_GT(life.faults(), 0u);
    EXPECT_GT(life.asked(), 0u) << "the extender was never asked";
    fmt::print(
        "seed {}: {} gangs came, {} started; {} sessions, {} pods bound, {} evicted, {} not "
        "carried "
        "out; {} purchases, {} refused, {} failed, {} holds ran out; {} machines joined, {} "
        "passes, "
        "{} faults, extender asked {} times\n",
        seed, life.came(), life.started(), life.sessions(), counts.placements, counts.evictions,
        counts.not_carried_out, counts.purchases, counts.refusals, counts.orders_failed,
        counts.holds_run_out, life.joined(), life.passes(), life.faults(), life.asked());
  }
}

}  // namespace
}  // namespace coppice::simulation
