// Days of node pools on a model cluster and a fake clock, with faults drawn from a seed: machines
// that are lost, taken back, slow, bad or sick, a cloud that refuses and loses answers, an API server
// that refuses, solves and searches and calls that take their time, a process that dies in
// mid-flight. The seed also draws how the pools are set.
//
// COPPICE_SEED (first seed), COPPICE_RUNS (how many) and COPPICE_DAYS (each) choose others;
// COPPICE_TELL prints what happens.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>

#include "base/strings.h"
#include "sim/faults.h"
#include "sim/load.h"
#include "test/simulation/pools_rules.h"
#include "test/support/delayed_workers.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/model_host.h"
#include "whatif/model_pools.h"
#include "whatif/pools_account.h"

namespace coppice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::TheFilters;
using test::ThePlugins;

int PoolsNumber(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

constexpr int64_t kBudget = 2;  // nodes of a pool at a time
constexpr int64_t kMostReplicas = 4;

class PoolsLife {
 public:
  explicit PoolsLife(uint64_t seed) : seed_(seed), rng_(seed), draw_(seed + 2) {
    yaml::Problems problems;
    auto config = MUST(yaml::Parse(
        fmt::format("spotFactor: 0.4\nspotLifetime: 20h\nbootTime: 50s\nseed: {}\n", seed),
        "simulated"));
    auto cloud = MUST(ThePlugins().clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, config, problems}));
    model_ = MUST(sim::Model::Create(
        {.clock = clock_, .filters = TheFilters(), .cloud = std::move(cloud), .groups = {}}));
    rules_ = std::make_unique<PoolRules>(*model_, [this](const std::string& what) { Break(what); });
    SetScene();
    account_ = std::make_unique<whatif::PoolsAccount>(
        *model_, [this](const std::string& line) { Note(line); });
    model_->cloud.hooks.deleted =
        [this, before = model_->cloud.hooks.deleted](const cloud::ProviderId& id) {
          before(id);
          rules_->Ended(id);
        };
    MakeHost();
    load_ = std::make_unique<sim::Load>(*model_, sim::DefaultLoad(), seed);
    faults_ = std::make_unique<sim::Faults>(*model_, sim::FaultRates{}, seed + 1);
    faults_->restart = [this] { restart_ = true; };
    faults_->set_stale = [this](bool stale) {
      if (stale) {
        host_->view().Freeze();
      } else {
        host_->view().Thaw();
      }
    };
    faults_->tell = [this](const std::string& what) { account_->Line('*', "FAULT", what); };
    load_->Start();
  }

  void Faults(bool on) {
    if (on) {
      faults_->Start();
      NextSickness();
    } else {
      faults_->Stop();
    }
    faulty_ = on;
  }

  // False: something is broken.
  bool Play(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end && broken_.empty()) {
      if (std::exchange(restart_, false)) {
        CHECK(host_->Restart().ok());
        rules_->Restarted();
      }
      host_->AdvanceTo(std::min(end, clock_.Now() + seconds(30)), [this] { return restart_; });
      rules_->Look();
    }
    return broken_.empty();
  }

  // Nothing goes wrong any more: everybody runs, every machine is somebody's, nothing is stuck.
  void Heal() {
    Faults(false);
    for (int i = 0; i < 24 && broken_.empty(); ++i) {
      if (!Play(minutes(15))) return;
      if (rules_->Ill().empty()) return;
    }
    for (const std::string& what : rules_->Ill()) broken_.push_back("not healed: " + what);
  }

  std::string Story() const {
    std::string text = fmt::format("seed {}; play it again: COPPICE_SEED={} COPPICE_RUNS=1\n{}\n",
                                   seed_, seed_, scene_);
    for (const std::string& what : broken_) text += "BROKEN: " + what + "\n";
    for (const std::string& line : told_) text += line + "\n";
    return text;
  }
  bool broken() const { return !broken_.empty(); }
  const std::string& scene() const { return scene_; }
  size_t passes() const { return passes_; }
  // Passes during which a claim was in that stage.
  const std::map<std::string, size_t>& busy() const { return busy_; }
  size_t faults() const { return faults_->count(); }
  size_t joined() const { return model_->machines.joined(); }
  const PoolRules::Counts& counts() const { return rules_->counts(); }

 private:
  void Note(std::string line) {
    if (std::getenv("COPPICE_TELL") != nullptr) fmt::print("{}\n", line);
    told_.push_back(std::move(line));
    if (told_.size() > 80) told_.pop_front();
  }
  void Break(const std::string& what) {
    broken_.push_back(fmt::format(
        "after {} h: {}", std::chrono::duration_cast<hours>(clock_.Now() - start_).count(), what));
    Note("BROKEN: " + what);
  }
  const char* OneOf(const std::vector<const char*>& choices) {
    return choices[draw_.Below(choices.size())];
  }

  model::NodePool APool(const std::string& name, std::optional<int32_t> weight,
                        std::vector<std::string> ways) {
    model::NodePool pool;
    pool.metadata.name = name;
    pool.spec.weight = weight;
    pool.spec.template_.spec.node_class_ref = {
        .group = cloud::kNodeClassGroup, .kind = cloud::kNodeClassKindName, .name = "default"};
    pool.spec.template_.spec.requirements = {{.key = std::string(model::kCapacityTypeLabel),
                                              .operator_ = "In",
                                              .values = std::move(ways)}};
    const char* expires = OneOf({"13h", "30h", "96h"});
    const char* after = OneOf({"0s", "3m", "20m"});
    const char* policy = OneOf({"WhenEmptyOrUnderutilized", "Balanced", "WhenEmpty"});
    pool.spec.template_.spec.expire_after = expires;
    pool.spec.disruption.consolidate_after = after;
    pool.spec.disruption.consolidation_policy = policy;
    pool.spec.disruption.budgets = {{.nodes = std::to_string(kBudget)}};
    model::FillDefaults(pool);
    rules_->SetBudget(name, kBudget);
    scene_ += fmt::format("pool {}: expires after {}, consolidates {} after {}\n", name, expires,
                          policy, after);
    return pool;
  }

  void SetScene() {
    PutClass();
    model::NodePool spot = APool("spot", 10, {"spot"});
    spot.spec.limits["cpu"] = model::Quantity::FromUnits(48);
    ASSERT_OK(model_->api.objects.Put(spot));
    // Whoever is there when its time is over goes, whatever protects it.
    model::NodePool bounded = APool("bounded", 5, {"on-demand", "spot"});
    bounded.spec.template_.spec.termination_grace_period = OneOf({"30s", "5m", "40m"});
    bounded.spec.limits["cpu"] = model::Quantity::FromUnits(24);
    bounded.spec.limits["nodes"] = model::Quantity::FromUnits(4);
    ASSERT_OK(model_->api.objects.Put(bounded));
    model::NodePool steady = APool("steady", 1, {"on-demand", "spot"});
    steady.spec.limits["nodes"] = model::Quantity::FromUnits(60);
    ASSERT_OK(model_->api.objects.Put(steady));
    fixed_ = APool("fixed", std::nullopt, {"on-demand"});
    if (draw_.Chance(0.7))
      fixed_.spec.limits["nodes"] = model::Quantity::FromUnits(kMostReplicas + 1);
    NextReplicas();
  }

  // Every ten hours there is another image, and all machines have drifted.
  void PutClass() {
    model::NodeClass made;
    made.metadata.name = "default";
    made.spec.image = fmt::format("image-{}", ++images_);
    ASSERT_OK(model_->api.objects.Put(made));
    model_->agenda.In(hours(10), [this] { PutClass(); });
  }
  void NextReplicas() {
    fixed_.spec.replicas = static_cast<int64_t>(1 + draw_.Below(kMostReplicas));
    ASSERT_OK(model_->api.objects.Put(fixed_));
    model_->agenda.In(minutes(100 + draw_.Below(200)), [this] { NextReplicas(); });
  }
  // A kubelet that does not come back.
  void NextSickness() {
    model_->agenda.In(minutes(150 + draw_.Below(200)), [this] {
      if (!faulty_) return;
      const auto nodes = model_->cluster.objects().Nodes();
      if (!nodes.empty()) {
        const std::string name = nodes[draw_.Below(nodes.size())]->metadata.name;
        account_->Line('*', "FAULT", "node " + name + " falls sick for good");
        model_->machines.SetReady(name, false);
      }
      NextSickness();
    });
  }

  void MakeHost() {
    whatif::ModelPoolsOptions pools;
    pools.filters = &TheFilters();
    pools.passed = [this](const report::ProvisionReport& pass) { AfterPass(pass); };
    provision::EngineOptions& engine = pools.engine;
    engine.gates.static_capacity = true;
    engine.gates.node_repair = true;
    engine.gates.spot_to_spot_consolidation = draw_.Chance(0.5);
    engine.gates.terminate_first_drift = draw_.Chance(0.5);
    engine.gates.terminate_first_repair = draw_.Chance(0.5);
    const Duration longest = seconds(std::atoi(OneOf({"0", "3", "20", "50"})));
    if (longest > Duration::zero()) {
      pools.workers = [this, longest](Executor& executor) {
        return std::make_unique<test::DelayedWorkers>(
            [&executor]() -> Executor& { return executor; }, seed_ + 3, longest);
      };
    }
    scene_ += fmt::format(
        "spot to spot {}, terminate first {} (drift) {} (repair), work takes {} s at most\n",
        engine.gates.spot_to_spot_consolidation, engine.gates.terminate_first_drift,
        engine.gates.terminate_first_repair, longest / seconds(1));
    host_ = MUST(whatif::ModelHost::Create({.model = *model_,
                                            .clock = clock_,
                                            .plugins = ThePlugins(),
                                            .flags = {},
                                            .seed = seed_,
                                            .log = log_,
                                            .metrics = metrics_,
                                            .node_groups = false,
                                            .engines = {whatif::ModelPools(std::move(pools))}}));
  }

  void AfterPass(const report::ProvisionReport& pass) {
    ++passes_;
    for (const report::ClaimState& claim : pass.claims) {
      if (claim.stage == "Ready") continue;
      ++busy_[claim.stage];
      break;
    }
    account_->Tell(pass);
    rules_->AfterPass(pass);
  }

  const uint64_t seed_;
  SeededRng rng_;
  SeededRng draw_;
  FakeClock clock_;
  const TimePoint start_ = clock_.Now();
  Metrics metrics_;
  const Log log_ = Log::Null();
  std::string scene_;
  std::deque<std::string> told_;
  std::vector<std::string> broken_;
  model::NodePool fixed_;
  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<PoolRules> rules_;
  std::unique_ptr<whatif::PoolsAccount> account_;
  std::unique_ptr<whatif::ModelHost> host_;
  std::unique_ptr<sim::Load> load_;
  std::unique_ptr<sim::Faults> faults_;
  bool restart_ = false;
  bool faulty_ = false;
  int images_ = 0;
  size_t passes_ = 0;
  std::map<std::string, size_t> busy_;
};

TEST(PoolsSimulationTest, DaysWithFaultsBreakNothingAndHeal) {
  const int runs = PoolsNumber("COPPICE_RUNS", 2);
  const int days = PoolsNumber("COPPICE_DAYS", 1);
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<uint64_t>(PoolsNumber("COPPICE_SEED", 1) + run);
    PoolsLife life(seed);
    ASSERT_TRUE(life.Play(hours(2))) << life.Story();
    EXPECT_GT(life.joined(), 0u) << life.Story();
    life.Faults(true);
    ASSERT_TRUE(life.Play(hours(24) * days)) << life.Story();
    life.Heal();
    ASSERT_FALSE(testing::Test::HasFailure());
    ASSERT_FALSE(life.broken()) << life.Story();
    const PoolRules::Counts& counts = life.counts();
    EXPECT_GT(life.faults(), 0u);
    EXPECT_GT(counts.guarded, 0u) << "nobody asked not to be disturbed";
    EXPECT_GT(counts.gone, 0u) << "no machine went by our hand";
    fmt::print(
        "seed {}: {} passes, {} faults, {} machines joined, {} taken away ({} sick), {} pods by "
        "force, {} plans too late\n{}",
        seed, life.passes(), life.faults(), life.joined(), counts.gone, counts.repaired,
        counts.forced, counts.refused, life.scene());
    for (const auto& [limit, most] : counts.most)
      fmt::print("  at most {} thousandths of {}\n", most, limit);
    for (const auto& [stage, passes] : life.busy()) fmt::print("  {}: {} passes\n", stage, passes);
  }
}

}  // namespace
}  // namespace coppice::simulation
