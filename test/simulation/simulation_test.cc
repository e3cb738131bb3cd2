// Days of the whole engine on a model cluster and a fake clock, with faults drawn from a seed.
//
// A failure prints the seed and what happened last; play it again with
//   tools/soak days 10 SEED
// COPPICE_SEED (first seed), COPPICE_RUNS (how many) and COPPICE_DAYS (each) choose others.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "app/main.h"
#include "base/strings.h"
#include "provider/open_cloud.h"
#include "sim/faults.h"
#include "sim/load.h"
#include "test/simulation/invariants.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/model_host.h"
#include "whatif/run_account.h"

namespace coppice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::TheFilters;
using test::ThePlugins;

cloud::GroupConfig Group(std::string name, std::string flavor, std::string zone, int min, int max) {
  return {.name = std::move(name),
          .min_size = min,
          .max_size = max,
          .flavor = std::move(flavor),
          .zone = std::move(zone)};
}

int Number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// One run: a cluster, its load, its autoscaler, and what is wrong with it.
class Life {
 public:
  explicit Life(uint64_t seed, const std::vector<std::string>& more_flags = {})
      : seed_(seed), rng_(seed) {
    std::vector<std::string> flags = DrawFlags();
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    told_.push_back("flags: " + Join(flags, " "));
    auto parsed = autoscale::ParseFlags(flags);
    CHECK(parsed.ok());
    options_ = parsed->options;
    yaml::Problems problems;
    auto cloud = MUST(ThePlugins().clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, yaml::Node(), problems}));
    model_ = MUST(sim::Model::Create({.clock = clock_,
                                      .filters = TheFilters(),
                                      .cloud = std::move(cloud),
                                      .groups = DrawGroups()}));
    for (const cloud::GroupConfig& group : model_->groups()) {
      for (int i = 0; i < group.min_size; ++i)
        CHECK(model_->AddNode(group.name, fmt::format("{}-{}", group.name, i), clock_.Now()).ok());
    }
    host_ = MUST(whatif::ModelHost::Create({.model = *model_,
                                            .clock = clock_,
                                            .plugins = ThePlugins(),
                                            .flags = *parsed,
                                            .seed = seed,
                                            .log = log_,
                                            .metrics = metrics_}));
    account_ = std::make_unique<whatif::RunAccount>(
        *model_, [this](const std::string& line) { Note(line); });
    invariants_ = std::make_unique<Invariants>(
        *model_, options_, [this](const std::string& what) { broken_.push_back(what); });
    load_ = std::make_unique<sim::Load>(*model_, sim::DefaultLoad(), seed);
    faults_ = std::make_unique<sim::Faults>(*model_, sim::FaultRates{}, seed + 1);
    faults_->restart = [this] {
      // Not from inside an event of the process that is to die.
      restart_ = true;
    };
    faults_->set_stale = [this](bool stale) {
      if (stale) {
        host_->view().Freeze();
      } else {
        host_->view().Thaw();
      }
    };
    faults_->tell = [this](const std::string& what) {
      account_->Line('*', "FAULT", what);
      // A bad machine is noticed when it fails, and then for what it is.
      if (what.find("will not come up") == std::string::npos) invariants_->SupplyShrank();
    };
    model_->api.hooks.event = [this](const cluster::Event& event) { account_->Event(event); };
    AddPodsOfNobody();
    load_->Start();
  }

  void Faults(bool on) {
    if (on) {
      faults_->Start();
    } else {
      faults_->Stop();
    }
  }

  // Passes as often as something is going on; idle time is skipped. False: something is broken.
  bool Play(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end && broken_.empty()) {
      if (std::exchange(restart_, false)) CHECK(host_->Restart().ok());
      const auto pass = host_->Pass();
      ++passes_;
      account_->Tell(*pass);
      if (Number("COPPICE_TELL", 0) > 1) account_->Table(*pass);
      invariants_->AfterPass(*pass, *host_);
      longest_wait_ = std::max(longest_wait_, LongestWait());
      const TimePoint next = clock_.Now() + Pause(*pass);
      const size_t waiting = model_->Pending().size();
      host_->AdvanceTo(std::min(next, end), [&] {
        // Somebody new waits: as the signal of a pending pod does.
        return restart_ || (waiting == 0 && !model_->cluster.objects().Unbound().empty() &&
                            clock_.Now() + options_.scan_interval < next);
      });
    }
    return broken_.empty();
  }

  void Heal() {
    Faults(false);
    const TimePoint end = clock_.Now() + hours(4);
    // Healed at some point of the next hours; the load goes on and makes new pods wait.
    while (clock_.Now() < end && broken_.empty()) {
      if (!Play(minutes(20))) return;
      std::vector<std::string> left;
      std::swap(left, broken_);
      invariants_->Healed();
      std::swap(left, broken_);
      if (left.empty()) return;
      still_ill_ = left;
    }
    broken_.insert(broken_.end(), still_ill_.begin(), still_ill_.end());
  }

  std::string Story() const {
    std::string text =
        fmt::format("seed {}; play it again: tools/soak days {} {}\n", seed_, 10, seed_);
    for (const std::string& what : broken_) text += "BROKEN: " + what + "\n";
    for (const std::string& line : told_) text += line + "\n";
    return text;
  }
  bool broken() const { return !broken_.empty(); }
  size_t passes() const { return passes_; }
  size_t faults() const { return faults_->count(); }
  size_t nodes() const { return model_->machines.joined(); }
  Duration longest_wait() const { return longest_wait_; }
  sim::Model& model() { return *model_; }
  whatif::ModelHost& host() { return *host_; }

 private:
  void Note(std::string line) {
    if (std::getenv("COPPICE_TELL") != nullptr) fmt::print("{}\n", line);
    told_.push_back(std::move(line));
    if (told_.size() > 80) told_.pop_front();
  }

  // Every run has other options: what most operators set.
  std::vector<std::string> DrawFlags() {
    const auto pick = [&](std::vector<std::string> of) { return of[rng_.Below(of.size())]; };
    std::vector<std::string> flags = {
        "--expander=" + pick({"least-waste", "random", "most-pods", "least-nodes", "price"}),
        "--scale-down-unneeded-time=" + pick({"2m", "5m", "10m"}),
        "--scale-down-delay-after-add=" + pick({"1m", "10m"}),
        "--scale-down-utilization-threshold=" + pick({"0.3", "0.5", "0.7"}),
        "--max-drain-parallelism=" + pick({"1", "4"}),
        "--balance-similar-node-groups=" + pick({"true", "false"}),
        "--cordon-node-before-terminating=" + pick({"true", "false"}),
        "--salvo-scale-up=" + pick({"true", "false"}),
        "--node-deletion-candidate-ttl=" + pick({"0s", "30m"}),
        "--scale-down-delay-type-local=" + pick({"true", "false"}),
        "--node-deletion-batcher-interval=" + pick({"0s", "0s", "20s"}),
        "--enforce-node-group-min-size=" + pick({"true", "false"})};
    return flags;
  }

  std::vector<cloud::GroupConfig> DrawGroups() {
    const auto below = [&](uint64_t n) { return static_cast<int>(rng_.Below(n)); };
    return {Group("general-a", "medium-4-16", "north1", 1 + below(3), 14 + below(10)),
            Group("general-b", "medium-4-16", "north2", below(2), 14 + below(10)),
            Group("compute", "compute-16-32", "north2", 0, 4 + below(6)),
            Group("small", "small-2-4", "south1", 0, 10 + below(20))};
  }

  // Now and then somebody starts a pod by hand, and nobody brings it back.
  void AddPodsOfNobody() {
    sim::WorkloadSpec solo{.name = fmt::format("solo-{}", ++solos_), .kind = ""};
    solo.pod = sim::PodAsking("500m", "1Gi");
    solo.replicas = 1;
    const std::string name = solo.name;
    model_->controllers.Add(std::move(solo));
    model_->agenda.In(hours(3 + rng_.Below(8)), [this, name] { model_->controllers.Delete(name); });
    model_->agenda.In(hours(1 + rng_.Below(10)), [this] { AddPodsOfNobody(); });
  }

  Duration Pause(const report::PassReport& pass) {
    const auto under_way = host_->engine().actuator().InProgress();
    if (!model_->Pending().empty() || !pass.upcoming.empty() || !under_way.empty.empty() ||
        !under_way.drained.empty() || host_->view().frozen() || !pass.error.empty()) {
      return options_.scan_interval;
    }
    if (!pass.scale_down.unneeded.empty()) return seconds(30);
    return minutes(5);
  }

  Duration LongestWait() const {
    Duration longest{};
    for (const sim::PodPtr& pod : model_->Pending())
      longest = std::max<Duration>(longest, clock_.Now() - pod->metadata.creation_timestamp->at);
    return longest;
  }

  const uint64_t seed_;
  SeededRng rng_;
  FakeClock clock_;
  Metrics metrics_;
  const Log log_ = Log::Null();
  autoscale::Options options_;
  std::deque<std::string> told_;
  std::vector<std::string> broken_;
  std::vector<std::string> still_ill_;
  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<whatif::ModelHost> host_;
  std::unique_ptr<whatif::RunAccount> account_;
  std::unique_ptr<Invariants> invariants_;
  std::unique_ptr<sim::Load> load_;
  std::unique_ptr<sim::Faults> faults_;
  bool restart_ = false;
  size_t passes_ = 0;
  int solos_ = 0;
  Duration longest_wait_{};
};

TEST(SimulationTest, AHundredDaysWithFaultsBreakNoRule) {
  const int first = Number("COPPICE_SEED", 1);
  const int runs = Number("COPPICE_RUNS", 10);
  const int days = Number("COPPICE_DAYS", 10);
  size_t passes = 0;
  size_t faults = 0;
  size_t nodes = 0;
  for (int seed = first; seed < first + runs; ++seed) {
    Life run(static_cast<uint64_t>(seed));
    run.Faults(true);
    if (run.Play(hours(24 * days))) run.Heal();
    ASSERT_FALSE(run.broken()) << run.Story();
    passes += run.passes();
    faults += run.faults();
    nodes += run.nodes();
  }
  fmt::print("{} days: {} passes, {} faults, {} nodes joined\n", runs * days, passes, faults,
             nodes);
}

// If the rules could not be broken, keeping them would prove nothing.
TEST(SimulationTest, ARuleIsBrokenWhereAKnownWeaknessIsSwitchedOn) {
  bool broken = false;
  for (uint64_t seed = 1; seed <= 10 && !broken; ++seed) {
    Life run(seed, {"--count-machines-on-their-way=false"});
    run.Faults(true);
    run.Play(hours(24 * 4));
    broken = run.broken();
    if (broken) {
      EXPECT_THAT(run.Story(), testing::HasSubstr("is on its way"));
    }
  }
  EXPECT_TRUE(broken);
}

TEST(SimulationTest, ACalmDayServesEverybodySoonAndShrinksAtNight) {
  Life run(4711);
  ASSERT_TRUE(run.Play(hours(12))) << run.Story();
  const size_t at_noon = run.model().cluster.objects().node_count();
  ASSERT_TRUE(run.Play(hours(13))) << run.Story();
  const size_t at_night = run.model().cluster.objects().node_count();
  EXPECT_LT(at_night, at_noon);
  EXPECT_LT(run.longest_wait(), minutes(5)) << run.Story();
  EXPECT_GT(run.nodes(), at_noon);
}

TEST(SimulationTest, TheSameSeedIsTheSameDay) {
  const auto story = [] {
    Life run(99);
    run.Faults(true);
    run.Play(hours(24));
    return run.Story() + std::to_string(run.passes());
  };
  EXPECT_EQ(story(), story());
}

}  // namespace
}  // namespace coppice::simulation
