// A week of three engines in one process and on one World, on a model cluster and a fake clock: a
// service that node groups grow and shrink for, one that node pools do, pods that node groups do
// not count, and gangs for which either is bought. Somebody watches all the time that no fork is
// open when anybody acts or has given the thread up.
//
// COPPICE_SEED and COPPICE_DAYS choose others.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "sim/load.h"
#include "test/simulation/gangs_rules.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/model_batch.h"
#include "whatif/model_host.h"
#include "whatif/model_loop.h"
#include "whatif/model_pools.h"

namespace coppice::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::TheFilters;
using test::ThePlugins;
using testing::IsEmpty;

constexpr char kThreeConf[] = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
)";
constexpr char kPool[] = "pool";
constexpr char kSide[] = "side";                // label of what node groups sell
constexpr Duration kLongestWait = minutes(45);  // of a pod that somebody buys for

int ThreeNumber(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

class ThreeEngines {
 public:
  explicit ThreeEngines(uint64_t seed) : rng_(seed) {
    flags_ = MUST(autoscale::ParseFlags(
        {"--scale-down-unneeded-time=5m", "--scale-down-delay-after-add=2m", "--expander=price"}));
    flags_.options.gang_scheduler_names = {"volcano"};
    yaml::Problems problems;
    auto cloud = MUST(ThePlugins().clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, yaml::Node(), problems}));
    cloud::GroupConfig group{
        .name = "group", .min_size = 0, .max_size = 40, .flavor = "medium-4-16", .zone = "north1"};
    group.labels[kSide] = "groups";
    model_ = MUST(sim::Model::Create(
        {.clock = clock_, .filters = TheFilters(), .cloud = std::move(cloud), .groups = {group}}));
    whatif::KeepBatchKinds(model_->api.objects);
    PutPool();
    whatif::GangLoadOptions gangs;
    gangs.gangs_per_hour = 1;
    gangs.largest = 16;
    gangs.hopeless = 0;
    gangs.most_at_once = 4;
    gangs.longest = minutes(60);
    gangs.queues = {{"gold", 3, 0}, {"silver", 1, 64}};
    gangs_ = std::make_unique<whatif::GangLoad>(*model_, gangs, seed);
    rules_ = std::make_unique<GangRules>(*model_, *gangs_, gangs.queues,
                                         [this](const std::string& what) { Break(what); });
    gangs_->started = [this](const whatif::PlayedGang&) { ++started_; };
    MakeHost(seed);
    AddServices();
    gangs_->Start();
    WatchForks();
  }

  void Play(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end && broken_.empty()) {
      const TimePoint until = std::min(end, clock_.Now() + minutes(5));
      while (loop_->Next(until, [this] { return !broken_.empty(); }) != nullptr) ++passes_;
      rules_->Look();
      NoticeMachines();
      NoticeWaiting();
    }
  }
  // Everybody goes home.
  void End() {
    gangs_->Stop();
    gangs_->EndAll();
    closing_ = true;
    for (const std::string& name : model_->controllers.names()) model_->controllers.Scale(name, 0);
  }
  void Restart() {
    ASSERT_OK(host_->Restart());
    rules_->Restarted();
  }

  size_t machines() const { return model_->cloud.Truth().size(); }
  std::vector<std::string> Held() const { return rules_->Held(); }
  const std::string& broken() const { return broken_; }
  size_t passes() const { return passes_; }
  size_t provisionings() const { return provisionings_; }
  size_t sessions() const { return sessions_; }
  size_t started() const { return started_; }
  size_t looks() const { return looks_; }
  size_t purchases() const { return rules_->counts().purchases; }
  size_t of_groups() const { return of_groups_.size(); }
  size_t of_pools() const { return of_pools_.size(); }
  size_t uncounted() const { return uncounted_.size(); }

 private:
  void Break(const std::string& what) {
    broken_ += fmt::format("after {} h: {}\n", (clock_.Now() - start_) / hours(1), what);
  }

  void PutPool() {
    model::NodeClass made;
    made.metadata.name = "default";
    made.spec.image = "any";
    CHECK(model_->api.objects.Put(made).ok());
    model::NodePool pool;
    pool.metadata.name = kPool;
    pool.spec.template_.spec.node_class_ref = {
        .group = cloud::kNodeClassGroup, .kind = cloud::kNodeClassKindName, .name = "default"};
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(60);
    pool.spec.disruption.consolidate_after = "2m";
    pool.spec.disruption.budgets = {{.nodes = "100%"}};
    model::FillDefaults(pool);
    CHECK(model_->api.objects.Put(pool).ok());
  }

  void MakeHost(uint64_t seed) {
    whatif::ModelPoolsOptions pools;
    pools.filters = &TheFilters();
    pools.not_ours = [](const model::Pod& pod) { return pod.spec.scheduler_name == "volcano"; };
    pools.passed = [this](const report::ProvisionReport& report) {
      if (report.provisioning) ++provisionings_;
    };
    whatif::ModelBatchOptions batch;
    batch.flags.engine.schedule_period = minutes(1);
    batch.flags.controllers = {.pod_groups = true, .queues = true, .jobs = true};
    batch.conf = MUST(batch::ParseConf(kThreeConf));
    batch.plugins = &ThePlugins().batch;
    batch.filters = &ThePlugins().filters;
    batch.scheduler_is = [this](batch::Scheduler* scheduler) { scheduler_ = scheduler; };
    batch.passed = [this](const report::SessionReport& report) {
      ++sessions_;
      rules_->AfterSession(report, *scheduler_);
    };
    host_ = MUST(whatif::ModelHost::Create(
        {.model = *model_,
         .clock = clock_,
         .plugins = ThePlugins(),
         .flags = flags_,
         .seed = seed,
         .log = log_,
         .metrics = metrics_,
         .engines = {whatif::ModelPools(std::move(pools)), whatif::ModelBatch(std::move(batch))}}));
    loop_ = std::make_unique<whatif::ModelLoop>(*host_, *model_, clock_, flags_);
  }

  // Each is taken by one side only: machines of node groups carry a label that nobody else's do, and
  // those of the pool the pool's.
  void AddServices() {
    sim::WorkloadSpec web{.name = "web", .pod = sim::PodAsking("700m", "2Gi")};
    web.pod.spec.node_selector[kSide] = "groups";
    sim::WorkloadSpec api{.name = "api", .pod = sim::PodAsking("900m", "2Gi")};
    api.pod.spec.node_selector[std::string(model::kNodePoolLabel)] = kPool;
    // Below --expendable-pods-priority-cutoff.
    sim::WorkloadSpec spare = api;
    spare.name = "spare";
    spare.pod.spec.priority = -20;
    for (sim::WorkloadSpec* spec : {&web, &api, &spare}) model_->controllers.Add(*spec);
    Scale();
  }
  void Scale() {
    if (closing_) return;
    const double day = 0.5 - 0.5 * std::cos(std::chrono::duration<double, std::ratio<86'400>>(
                                                clock_.Now().time_since_epoch())
                                                .count() *
                                            6.283185307);
    const auto wanted = [&](int night, int noon) {
      return night + static_cast<int>(std::lround((noon - night) * day)) +
             static_cast<int>(rng_.Below(3));
    };
    model_->controllers.Scale("web", wanted(1, 24));
    model_->controllers.Scale("api", wanted(1, 20));
    model_->controllers.Scale("spare", wanted(0, 6));
    model_->agenda.In(minutes(30), [this] { Scale(); });
  }

  void LookForForks(const char* when) {
    ++looks_;
    if (host_->world().snapshot().forks() != 0) Break(fmt::format("a fork is open while {}", when));
  }
  // What happens in the model happens while every engine has given the thread up; what an engine
  // writes it writes when its plan is made and taken back. (Turns ends the process besides if it
  // finds one open.)
  void WatchForks() {
    LookNowAndThen();
    sim::Api::Hooks& api = model_->api.hooks;
    api.event = [this](const cluster::Event& event) {
      LookForForks("an event is written");
      rules_->Heard(event);
    };
    api.before_change = [this](const std::string&) {
      LookForForks("a node is changed");
      return Status::Ok();
    };
    api.before_evict = [this](const model::Pod&) {
      LookForForks("a pod is evicted");
      return Status::Ok();
    };
    api.before_bind = [this](const model::Pod&) {
      LookForForks("a pod is bound");
      return Status::Ok();
    };
    model_->cloud.hooks.before_create = [this](const cloud::MachineSpec&) {
      LookForForks("a machine is ordered");
      return Status::Ok();
    };
    model_->cloud.hooks.before_delete = [this](const cloud::ProviderId&) {
      LookForForks("a machine is ended");
      return Status::Ok();
    };
  }
  void LookNowAndThen() {
    LookForForks("nobody plans");
    model_->agenda.In(seconds(20), [this] { LookNowAndThen(); });
  }

  void NoticeMachines() {
    model_->cluster.objects().ForEachNode([this](const cluster::NodePtr& node) {
      const auto& labels = node->metadata.labels;
      (labels.Find(model::kNodePoolLabel) != nullptr ? of_pools_ : of_groups_)
          .insert(node->metadata.name);
    });
    for (const auto* entry : host_->world().Pods()) {
      const model::Pod& pod = *entry->pod;
      if (pod.spec.priority.value_or(0) < 0 && !pod.spec.node_name.empty() &&
          entry->index == cluster::kNone)
        uncounted_.insert(pod.metadata.uid);
    }
  }
  void NoticeWaiting() {
    for (const auto* entry : model_->cluster.objects().Unbound()) {
      const model::Pod& pod = *entry->pod;
      if (pod.spec.scheduler_name == "volcano" || pod.metadata.deletion_timestamp) continue;
      const Duration waits = clock_.Now() - pod.metadata.creation_timestamp->at;
      if (waits > kLongestWait) {
        Break(fmt::format("{} waits for {} minutes", pod.metadata.name, waits / minutes(1)));
        return;
      }
    }
  }

  SeededRng rng_;
  FakeClock clock_;
  const TimePoint start_ = clock_.Now();
  Metrics metrics_;
  const Log log_ = Log::Null();
  autoscale::FlagValues flags_;
  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<whatif::GangLoad> gangs_;
  std::unique_ptr<GangRules> rules_;
  batch::Scheduler* scheduler_ = nullptr;
  std::unique_ptr<whatif::ModelHost> host_;
  std::unique_ptr<whatif::ModelLoop> loop_;
  std::string broken_;
  bool closing_ = false;
  size_t passes_ = 0;
  size_t provisionings_ = 0;
  size_t sessions_ = 0;
  size_t started_ = 0;
  size_t looks_ = 0;
  std::set<std::string> of_groups_;  // nodes
  std::set<std::string> of_pools_;
  std::set<std::string> uncounted_;  // uids of pods that ran and did not count
};

TEST(ThreeEnginesSimulationTest, AWeekOnOneWorldServesEverybodyAndNoForkIsEverLeftOpen) {
  ThreeEngines life(static_cast<uint64_t>(ThreeNumber("COPPICE_SEED", 1)));
  const int days = ThreeNumber("COPPICE_DAYS", 7);
  for (int day = 0; day < days && life.broken().empty(); ++day) {
    life.Play(hours(24));
    if (day == 1 || day == 4) life.Restart();
  }
  ASSERT_EQ(life.broken(), "");
  EXPECT_GT(life.passes(), 0U);
  EXPECT_GT(life.provisionings(), 0U);
  EXPECT_GT(life.sessions(), 0U);
  EXPECT_GT(life.started(), 10U) << "gangs";
  EXPECT_GT(life.purchases(), 0U);
  EXPECT_GT(life.of_groups(), 5U);
  EXPECT_GT(life.of_pools(), 5U);
  EXPECT_GT(life.uncounted(), 0U) << "pods that node groups leave out and node pools serve";
  // Nobody is there any more: each takes down what it has bought, and nothing is held.
  life.End();
  for (int i = 0; i < 12 && life.machines() > 0; ++i) life.Play(minutes(15));
  EXPECT_EQ(life.broken(), "");
  EXPECT_EQ(life.machines(), 0U);
  EXPECT_THAT(life.Held(), IsEmpty());
  fmt::print(
      "{} passes of node groups, {} decisions of node pools, {} sessions; {} gangs started, {} "
      "purchases; {} nodes of groups, {} of pools; {} looks for forks\n",
      life.passes(), life.provisionings(), life.sessions(), life.started(), life.purchases(),
      life.of_groups(), life.of_pools(), life.looks());
}

}  // namespace
}  // namespace coppice::simulation
