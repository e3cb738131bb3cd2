// Days of node pools on a model cluster and a fake clock, with faults drawn from a seed: machines
// that are lost, taken back, slow or bad, a cloud that refuses and loses answers, an API server that
// refuses, a process that dies in mid-flight.
//
// COPPICE_SEED (first seed), COPPICE_RUNS (how many) and COPPICE_DAYS (each) choose others;
// COPPICE_TELL prints what happens.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "base/strings.h"
#include "sim/faults.h"
#include "sim/load.h"
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

constexpr int64_t kCpuLimit = 48;  // of the pool on spot
constexpr int64_t kNodesLimit = 60;
constexpr int64_t kBudget = 2;  // nodes of a pool at a time
// A machine that is nobody's is ended after the grace and some refreshes.
constexpr auto kLeakGrace = minutes(10) + minutes(10);
// A claim whose machine is gone, or never came, is given up after a quarter of an hour.
constexpr auto kEmptyClaimGrace = minutes(15) + minutes(10);
// A process that was down, or a view that was stale, could not look.
constexpr auto kBlind = minutes(15);

class PoolsLife {
 public:
  explicit PoolsLife(uint64_t seed) : seed_(seed), rng_(seed) {
    yaml::Problems problems;
    auto config = MUST(yaml::Parse(
        fmt::format("spotFactor: 0.4\nspotLifetime: 20h\nbootTime: 50s\nseed: {}\n", seed),
        "simulated"));
    auto cloud = MUST(ThePlugins().clouds.Make(
        "simulated", cloud::CloudContext{clock_, rng_, log_, metrics_, config, problems}));
    model_ = MUST(sim::Model::Create(
        {.clock = clock_, .filters = TheFilters(), .cloud = std::move(cloud), .groups = {}}));
    SetScene();
    account_ = std::make_unique<whatif::PoolsAccount>(
        *model_, [this](const std::string& line) { Note(line); });
    model_->cloud.hooks.deleted =
        [this, before = model_->cloud.hooks.deleted](const cloud::ProviderId& id) {
          before(id);
          Ended(id);
        };
    host_ = MUST(whatif::ModelHost::Create(
        {.model = *model_,
         .clock = clock_,
         .plugins = ThePlugins(),
         .flags = {},
         .seed = seed,
         .log = log_,
         .metrics = metrics_,
         .node_groups = false,
         .engines = {whatif::ModelPools(
             {.filters = &TheFilters(),
              .passed = [this](const report::ProvisionReport& pass) { AfterPass(pass); }})}}));
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
    model_->api.hooks.evicted = [this](const model::Pod& pod) { Evicted(pod); };
    load_->Start();
  }

  void Faults(bool on) {
    if (on) {
      faults_->Start();
    } else {
      faults_->Stop();
    }
  }

  // False: something is broken.
  bool Play(Duration time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end && broken_.empty()) {
      if (std::exchange(restart_, false)) {
        CHECK(host_->Restart().ok());
        Restarted();
      }
      host_->AdvanceTo(std::min(end, clock_.Now() + seconds(30)), [this] { return restart_; });
      Check();
    }
    return broken_.empty();
  }

  // Nothing goes wrong any more: everybody runs, every machine is somebody's, nothing is stuck.
  void Heal() {
    Faults(false);
    for (int i = 0; i < 24 && broken_.empty(); ++i) {
      if (!Play(minutes(15))) return;
      if (Ill().empty()) return;
    }
    for (const std::string& what : Ill()) broken_.push_back("not healed: " + what);
  }

  std::string Story() const {
    std::string text =
        fmt::format("seed {}; play it again: COPPICE_SEED={} COPPICE_RUNS=1\n", seed_, seed_);
    for (const std::string& what : broken_) text += "BROKEN: " + what + "\n";
    for (const std::string& line : told_) text += line + "\n";
    return text;
  }
  size_t passes() const { return passes_; }
  // Passes during which a claim was in that stage.
  const std::map<std::string, size_t>& busy() const { return busy_; }
  size_t faults() const { return faults_->count(); }
  size_t joined() const { return model_->machines.joined(); }
  // That there was something to keep to: pods that must not be disturbed, machines that went by our
  // hand, a limit that was near.
  size_t guarded() const { return guarded_; }
  size_t gone() const { return gone_; }
  int64_t most_spot() const { return most_spot_; }

 private:
  void Note(std::string line) {
    if (std::getenv("COPPICE_TELL") != nullptr) fmt::print("{}\n", line);
    told_.push_back(std::move(line));
    if (told_.size() > 80) told_.pop_front();
  }
  void Break(const std::string& what) {
    broken_.push_back(fmt::format(
        "after {} h: {}", std::chrono::duration_cast<hours>(clock_.Now() - start_).count(), what));
  }

  static model::NodePool Pool(const std::string& name, int32_t weight,
                              std::vector<std::string> ways) {
    model::NodePool pool;
    pool.metadata.name = name;
    pool.spec.weight = weight;
    pool.spec.template_.spec.node_class_ref = {
        .group = cloud::kNodeClassGroup, .kind = cloud::kNodeClassKindName, .name = "default"};
    pool.spec.template_.spec.requirements = {{.key = std::string(model::kCapacityTypeLabel),
                                              .operator_ = "In",
                                              .values = std::move(ways)}};
    pool.spec.template_.spec.expire_after = "96h";
    pool.spec.disruption.consolidate_after = "3m";
    pool.spec.disruption.budgets = {{.nodes = std::to_string(kBudget)}};
    model::FillDefaults(pool);
    return pool;
  }

  void SetScene() {
    PutClass();
    model::NodePool spot = Pool("spot", 10, {"spot"});
    spot.spec.limits["cpu"] = model::Quantity::FromUnits(kCpuLimit);
    ASSERT_OK(model_->api.objects.Put(spot));
    model::NodePool steady = Pool("steady", 1, {"on-demand", "spot"});
    steady.spec.limits["nodes"] = model::Quantity::FromUnits(kNodesLimit);
    ASSERT_OK(model_->api.objects.Put(steady));
  }

  // Every two days there is another image, and all machines have drifted.
  void PutClass() {
    model::NodeClass made;
    made.metadata.name = "default";
    made.spec.image = fmt::format("image-{}", ++images_);
    ASSERT_OK(model_->api.objects.Put(made));
    model_->agenda.In(hours(48), [this] { PutClass(); });
  }

  // The API server would have refused one against a budget; so an eviction that got here was allowed.
  // What is left to check is that nobody is evicted who says no.
  void Evicted(const model::Pod& pod) {
    if (IsGuarded(pod))
      Break("a pod that is not to be disturbed was evicted: " + pod.metadata.name);
  }
  static bool IsGuarded(const model::Pod& pod) {
    const std::string* mark = pod.metadata.annotations.Find("karpenter.sh/do-not-disrupt");
    return mark != nullptr && *mark == "true";
  }

  // By our hand, and not because the cloud took it back: nobody may still be working there.
  void Ended(const cloud::ProviderId& id) {
    const auto nodes = model_->cluster.objects().Nodes();
    const auto node = std::ranges::find_if(
        nodes, [&](const sim::NodePtr& one) { return one->spec.provider_id == id; });
    if (node == nodes.end() || !sim::IsReady(**node)) return;
    for (const auto* entry : model_->cluster.objects().BoundTo((*node)->metadata.name)) {
      const model::Pod& pod = *entry->pod;
      const bool daemon = std::ranges::any_of(
          pod.metadata.owner_references,
          [](const model::OwnerReference& owner) { return owner.kind == "DaemonSet"; });
      if (daemon || pod.metadata.deletion_timestamp || pod.status.phase == "Succeeded" ||
          pod.status.phase == "Failed")
        continue;
      Break("machine of " + (*node)->metadata.name + " was ended under " + pod.metadata.name);
    }
  }

  void AfterPass(const report::ProvisionReport& pass) {
    ++passes_;
    for (const report::ClaimState& claim : pass.claims) {
      if (claim.stage == "Ready") continue;
      ++busy_[claim.stage];
      break;
    }
    account_->Tell(pass);
    CheckBudgets(pass);
  }

  using ClaimPtr = std::shared_ptr<const model::NodeClaim>;
  void ForEachClaim(const std::function<void(const model::NodeClaim&)>& look) const {
    model_->cluster.objects().objects<model::NodeClaim>().ForEach(
        [&](const ClaimPtr& claim) { look(*claim); });
  }
  static std::string PoolOf(const model::NodeClaim& claim) {
    const std::string* pool = claim.metadata.labels.Find(model::kNodePoolLabel);
    return pool == nullptr ? "" : *pool;
  }

  // By our hand: machines in commands that are under way, and those that such a command has deleted
  // and that still drain. From when the cloud was told to end it a machine counts no longer.
  void CheckBudgets(const report::ProvisionReport& pass) {
    std::set<std::string> in_command;  // nodes
    for (const report::DisruptionCommand& command : pass.commands) {
      if (command.stage == "RolledBack" && taken_back_.emplace(command.id, command.since).second)
        may_exceed_.insert(command.pools.begin(), command.pools.end());
      if (command.stage == "Deleting" || command.stage == "Launching")
        in_command.insert(command.nodes.begin(), command.nodes.end());
    }
    std::map<std::string, int64_t> leaving;
    std::set<std::string> going;
    ForEachClaim([&](const model::NodeClaim& claim) {
      const std::string& name = claim.metadata.name;
      const bool now =
          !claim.status.node_name.empty() && in_command.contains(claim.status.node_name);
      if (!now && !(going_.contains(name) && claim.metadata.deletion_timestamp)) return;
      if (!going_.contains(name)) ++gone_;
      going.insert(name);
      // Neither does one whose Node is gone, as that of a machine that was taken back.
      const bool stands = model_->cluster.objects().FindNode(claim.status.node_name) != nullptr;
      if (stands && !model::IsTrue(claim.status.conditions, model::karpenter::kInstanceTerminating))
        ++leaving[PoolOf(claim)];
    });
    going_ = std::move(going);
    for (const auto& [pool, count] : leaving) {
      if (count > kBudget)
        Break(fmt::format("{} machines of pool {} go at once, its budget is {}", count, pool,
                          kBudget));
    }
  }

  // What the process before had begun and not carried out is taken back.
  void Restarted() {
    std::set<std::string> going;
    ForEachClaim([&](const model::NodeClaim& claim) {
      if (claim.metadata.deletion_timestamp && going_.contains(claim.metadata.name))
        going.insert(claim.metadata.name);
      may_exceed_.insert(PoolOf(claim));
    });
    going_ = std::move(going);
  }

  void Check() {
    CheckMachines();
    CheckClaims();
    CheckLimits();
    for (const auto* entry : model_->cluster.objects().Pods()) {
      if (IsGuarded(*entry->pod) && !entry->pod->spec.node_name.empty()) ++guarded_;
    }
  }

  // No machine without a claim for longer than the grace.
  void CheckMachines() {
    std::set<std::string> ids;
    ForEachClaim([&](const model::NodeClaim& claim) { ids.insert(claim.status.provider_id); });
    std::map<std::string, TimePoint> nobodys;
    std::map<std::string, int> by_claim;
    for (const cloud::Machine& machine : model_->cloud.Truth()) {
      if (machine.state == cloud::MachineState::kDeleting) continue;
      if (const auto claim = machine.tags.find(cloud::kClaimTag); claim != machine.tags.end()) {
        if (++by_claim[claim->second] > 1) Break("two machines of the claim " + claim->second);
      }
      if (ids.contains(machine.id)) continue;
      const auto since = nobodys_.find(machine.id);
      nobodys[machine.id] = since == nobodys_.end() ? clock_.Now() : since->second;
      const Duration alone = clock_.Now() - nobodys[machine.id];
      if (alone > kLeakGrace + kBlind)
        Break(fmt::format("machine {} is nobody's for {} minutes", machine.name,
                          std::chrono::duration_cast<minutes>(alone).count()));
    }
    nobodys_ = std::move(nobodys);
  }

  // No claim without a machine for longer than its grace.
  void CheckClaims() {
    std::set<std::string> machines;
    for (const cloud::Machine& machine : model_->cloud.Truth()) machines.insert(machine.id);
    std::map<std::string, TimePoint> empty;
    ForEachClaim([&](const model::NodeClaim& claim) {
      if (machines.contains(claim.status.provider_id)) return;
      const auto since = empty_.find(claim.metadata.uid);
      const TimePoint from = since == empty_.end() ? clock_.Now() : since->second;
      empty[claim.metadata.uid] = from;
      if (clock_.Now() - from > kEmptyClaimGrace + kBlind)
        Break(fmt::format("claim {} has no machine for {} minutes", claim.metadata.name,
                          std::chrono::duration_cast<minutes>(clock_.Now() - from).count()));
    });
    empty_ = std::move(empty);
  }

  // Exactly. A machine that goes by our hand makes room before it is gone; if that is taken back it
  // may be one too many, until there is room again.
  void CheckLimits() {
    std::map<std::string, int64_t> used;  // millicores of spot, nodes of the other
    ForEachClaim([&](const model::NodeClaim& claim) {
      if (claim.metadata.deletion_timestamp || going_.contains(claim.metadata.name)) return;
      const std::string pool = PoolOf(claim);
      if (pool == "steady") {
        ++used[pool];
      } else if (const auto cpu = claim.status.capacity.find("cpu");
                 cpu != claim.status.capacity.end()) {
        used[pool] += cpu->second.MilliValue();
      }
    });
    const std::map<std::string, int64_t> limits = {{"spot", kCpuLimit * 1000},
                                                   {"steady", kNodesLimit}};
    for (const auto& [pool, limit] : limits) {
      if (used[pool] <= limit) {
        may_exceed_.erase(pool);
      } else if (!may_exceed_.contains(pool)) {
        Break(fmt::format("pool {} has {} of at most {}", pool, used[pool], limit));
      }
    }
    most_spot_ = std::max(most_spot_, used["spot"]);
  }

  std::vector<std::string> Ill() const {
    std::vector<std::string> ill;
    for (const sim::PodPtr& pod : model_->Pending()) {
      if (clock_.Now() - pod->metadata.creation_timestamp->at > minutes(30))
        ill.push_back("pod " + pod->metadata.name + " waits");
    }
    std::set<std::string> machines;
    for (const cloud::Machine& machine : model_->cloud.Truth()) machines.insert(machine.id);
    model_->cluster.objects().objects<model::NodeClaim>().ForEach([&](const auto& claim) {
      const Duration age = clock_.Now() - claim->metadata.creation_timestamp->at;
      if (claim->metadata.deletion_timestamp &&
          clock_.Now() - claim->metadata.deletion_timestamp->at > hours(1))
        ill.push_back("claim " + claim->metadata.name + " does not go");
      if (!claim->metadata.deletion_timestamp && age > hours(1) &&
          !machines.contains(claim->status.provider_id))
        ill.push_back("claim " + claim->metadata.name + " has no machine");
    });
    model_->cluster.objects().ForEachNode([&](const auto& node) {
      if (node->metadata.deletion_timestamp &&
          clock_.Now() - node->metadata.deletion_timestamp->at > hours(1))
        ill.push_back("node " + node->metadata.name + " does not go");
    });
    for (const auto& [machine, since] : nobodys_) {
      if (clock_.Now() - since > kLeakGrace) ill.push_back("machine " + machine + " is nobody's");
    }
    return ill;
  }

  const uint64_t seed_;
  SeededRng rng_;
  FakeClock clock_;
  const TimePoint start_ = clock_.Now();
  Metrics metrics_;
  const Log log_ = Log::Null();
  std::deque<std::string> told_;
  std::vector<std::string> broken_;
  std::map<std::string, TimePoint> nobodys_;  // machines without a claim, since when
  std::map<std::string, TimePoint> empty_;    // claims without a machine, by uid, since when
  std::set<std::string> going_;               // claims that go by our hand
  std::set<std::pair<std::string, TimePoint>> taken_back_;  // commands
  std::set<std::string> may_exceed_;                        // pools
  size_t guarded_ = 0;
  size_t gone_ = 0;
  int64_t most_spot_ = 0;
  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<whatif::PoolsAccount> account_;
  std::unique_ptr<whatif::ModelHost> host_;
  std::unique_ptr<sim::Load> load_;
  std::unique_ptr<sim::Faults> faults_;
  bool restart_ = false;
  int images_ = 0;
  size_t passes_ = 0;
  std::map<std::string, size_t> busy_;
};

TEST(PoolsSimulationTest, DaysWithFaultsBreakNothingAndHeal) {
  const int runs = PoolsNumber("COPPICE_RUNS", 1);
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
    ASSERT_EQ(life.Story().find("BROKEN"), std::string::npos) << life.Story();
    EXPECT_GT(life.faults(), 0u);
    EXPECT_GT(life.guarded(), 0u) << "nobody asked not to be disturbed";
    EXPECT_GT(life.gone(), 0u) << "no machine went by our hand";
    fmt::print(
        "seed {}: {} passes, {} faults, {} machines joined, {} taken away, at most {} of {} "
        "millicores\n",
        seed, life.passes(), life.faults(), life.joined(), life.gone(), life.most_spot(),
        kCpuLimit * 1000);
    for (const auto& [stage, passes] : life.busy()) fmt::print("  {}: {} passes\n", stage, passes);
  }
}

}  // namespace
}  // namespace coppice::simulation
