// Gangs on a model cluster that has node pools and no node groups: GangBuyer and the pools' seller
// together, with a process that dies in between.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/simulation/gangs_rules.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/model_batch.h"
#include "whatif/model_host.h"
#include "whatif/model_pools.h"

namespace coppice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::TheFilters;
using test::ThePlugins;

constexpr char kPoolGangsConf[] = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
)";

class PoolGangs {
 public:
  explicit PoolGangs(uint64_t seed) : rng_(seed) {
    yaml::Problems problems;
    auto cloud = MUST(ThePlugins().clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, yaml::Node(), problems}));
    model = MUST(sim::Model::Create(
        {.clock = clock_, .filters = TheFilters(), .cloud = std::move(cloud), .groups = {}}));
    whatif::KeepBatchKinds(model->api.objects);
    PutPool();
    whatif::GangLoadOptions options;
    options.largest = 32;
    options.hopeless = 0;
    options.queues = {{"gold", 3, 0}, {"silver", 1, 64}};
    gangs = std::make_unique<whatif::GangLoad>(*model, options, seed);
    rules = std::make_unique<GangRules>(*model, *gangs, options.queues,
                                        [this](const std::string& what) { broken += what + "\n"; });
    model->api.hooks.event = [this](const cluster::Event& event) { rules->Heard(event); };
    gangs->started = [this](const whatif::PlayedGang&) { ++started; };
    MakeHost(seed);
    gangs->Start();
  }

  void Play(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end && broken.empty()) {
      host_->AdvanceTo(std::min(end, clock_.Now() + seconds(30)));
      rules->Look();
    }
  }
  void Restart() {
    ASSERT_OK(host_->Restart());
    rules->Restarted();
  }
  size_t Claims() const {
    return model->cluster.objects().objects<model::NodeClaim>().List().size();
  }
  // A gang waits for machines that are on their way.
  bool IsBetween() const {
    return std::ranges::any_of(rules->Held(),
                               [](const std::string& held) { return held.starts_with("group"); });
  }

  std::unique_ptr<sim::Model> model;
  std::unique_ptr<whatif::GangLoad> gangs;
  std::unique_ptr<GangRules> rules;
  std::string broken;
  size_t started = 0;

 private:
  void PutPool() {
    model::NodeClass made;
    made.metadata.name = "default";
    made.spec.image = "any";
    ASSERT_OK(model->api.objects.Put(made));
    model::NodePool pool;
    pool.metadata.name = "pool";
    pool.spec.template_.spec.node_class_ref = {
        .group = cloud::kNodeClassGroup, .kind = cloud::kNodeClassKindName, .name = "default"};
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(100);
    pool.spec.disruption.consolidate_after = "1m";
    pool.spec.disruption.budgets = {{.nodes = "100%"}};
    model::FillDefaults(pool);
    ASSERT_OK(model->api.objects.Put(pool));
  }
  void MakeHost(uint64_t seed) {
    whatif::ModelPoolsOptions pools;
    pools.filters = &TheFilters();
    pools.not_ours = [](const model::Pod& pod) { return pod.spec.scheduler_name == "volcano"; };
    whatif::ModelBatchOptions batch;
    batch.flags.engine.schedule_period = seconds(30);
    batch.flags.controllers = {.pod_groups = true, .queues = true, .jobs = true};
    batch.conf = MUST(batch::ParseConf(kPoolGangsConf));
    batch.plugins = &ThePlugins().batch;
    batch.filters = &ThePlugins().filters;
    batch.scheduler_is = [this](batch::Scheduler* scheduler) { scheduler_ = scheduler; };
    batch.passed = [this](const report::SessionReport& report) {
      rules->AfterSession(report, *scheduler_);
    };
    host_ = MUST(whatif::ModelHost::Create(
        {.model = *model,
         .clock = clock_,
         .plugins = ThePlugins(),
         .flags = {},
         .seed = seed,
         .log = log_,
         .metrics = metrics_,
         .node_groups = false,
         .engines = {whatif::ModelPools(std::move(pools)), whatif::ModelBatch(std::move(batch))}}));
  }

  SeededRng rng_;
  FakeClock clock_;
  Metrics metrics_;
  const Log log_ = Log::Null();
  batch::Scheduler* scheduler_ = nullptr;
  std::unique_ptr<whatif::ModelHost> host_;
};

TEST(PoolGangsSimulationTest, PoolsSellToGangsWholeAlsoAcrossRestartsAndTakeItBack) {
  PoolGangs life(7);
  int restarts = 0;
  for (int i = 0; i < 600 && life.broken.empty(); ++i) {
    life.Play(minutes(1));
    if (restarts < 5 && life.IsBetween()) {
      ++restarts;
      life.Restart();
    }
  }
  ASSERT_EQ(life.broken, "");
  const GangRules::Counts& counts = life.rules->counts();
  EXPECT_EQ(restarts, 5);
  EXPECT_GT(life.started, 10u);
  EXPECT_GT(counts.purchases, 5u);
  EXPECT_EQ(counts.orders_failed, 0u);
  // Nobody new comes: all that was bought goes, and nothing is held.
  life.gangs->EndAll();
  for (int i = 0; i < 60 && (life.Claims() > 0 || !life.rules->Held().empty()); ++i)
    life.Play(minutes(1));
  EXPECT_EQ(life.broken, "");
  EXPECT_EQ(life.Claims(), 0u);
  EXPECT_THAT(life.rules->Held(), testing::IsEmpty());
  fmt::print("{} gangs came, {} started, {} purchases, {} machines joined, {} restarts\n",
             life.gangs->ever(), life.started, counts.purchases, life.model->machines.joined(),
             restarts);
}

}  // namespace
}  // namespace coppice::simulation
