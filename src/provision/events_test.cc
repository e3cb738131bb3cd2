// Every event that Karpenter documents is told under its name. A busy hour is played: a reason that
// nobody ever writes is missed here, and by whoever watches for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
namespace names = model::karpenter;

// The section on events of Karpenter's specification: the reason, and about what.
const std::set<std::pair<std::string, std::string>> kEvents = {
    {"Nominated", "Pod"},
    {"FailedScheduling", "Pod"},
    {"NoCompatibleInstanceTypes", "NodePool"},
    {"InsufficientCapacityError", "NodeClaim"},
    {"UnregisteredTaintMissing", "NodeClaim"},
    {"FailedConsistencyCheck", "NodeClaim"},
    {"DisruptionLaunching", "NodeClaim"},
    {"DisruptionWaitingReadiness", "NodeClaim"},
    {"DisruptionTerminating", "Node"},
    {"DisruptionTerminating", "NodeClaim"},
    {"DisruptionBlocked", "Node"},
    {"DisruptionBlocked", "NodeClaim"},
    {"DisruptionBlocked", "NodePool"},
    {"Unconsolidatable", "Node"},
    {"Unconsolidatable", "NodeClaim"},
    {"ConsolidationCandidate", "Node"},
    {"ConsolidationCandidate", "NodeClaim"},
    {"ConsolidationRejected", "Node"},
    {"ConsolidationRejected", "NodeClaim"},
    {"ConsolidationApproved", "Node"},
    {"ConsolidationApproved", "NodeClaim"},
    {"NodeRepairBlocked", "Node"},
    {"Evicted", "Pod"},
    {"Disrupted", "Pod"},
    {"FailedDraining", "Node"},
    {"AwaitingVolumeDetachment", "Node"},
    {"TerminationGracePeriodExpiring", "Node"},
    {"TerminationGracePeriodExpiring", "NodeClaim"},
    {"InvalidDoNotDisruptAnnotation", "Pod"},
    {"DoNotDisruptUntil", "Pod"},
    {"DoNotDisruptGracePeriodElapsed", "Pod"},
};

class EventsTest : public testing::Test {
 protected:
  static EngineOptions WithRepair() {
    EngineOptions options;
    options.gates.node_repair = true;
    return options;
  }
  // A pod for one pool alone.
  void AddPod(const std::string& name, const std::string& pool, int64_t cpu_millis,
              const std::string& protection = "") {
    rig_.AddPod(name, cpu_millis, [&](model::Pod& pod) {
      pod.spec.node_selector[std::string(model::kNodePoolLabel)] = pool;
      if (!protection.empty())
        pod.metadata.annotations[names::kDoNotDisruptAnnotation] = protection;
    });
  }
  // A pool of machines on demand, with a dear one that has little to do in a moment.
  void AddDearMachine(const std::string& pool,
                      const std::function<void(model::NodePool&)>& change = nullptr) {
    rig_.AddPool(pool, [&](model::NodePool& made) {
      made.spec.template_.spec.requirements = {
          {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
      if (change) change(made);
    });
    AddPod(pool + "-big", pool, 6000);
    AddPod(pool + "-small", pool, 1000);
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
  }
  model::Node NodeOf(const std::string& pool) const {
    for (model::Node& node : rig_.Nodes()) {
      if (*node.metadata.labels.Find(model::kNodePoolLabel) == pool) return node;
    }
    return {};
  }
  // Closed, so that nothing but what is asked for happens in it.
  static void Closed(model::NodePool& pool) {
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "0"}}};
  }

  void NothingToBuy() {
    rig_.AddPool("none", [](model::NodePool& pool) {
      pool.spec.template_.spec.requirements = {
          {std::string(model::kArchLabel), "In", {"s390x"}, {}}};
    });
    rig_.AddPool("soldout");
    rig_.cloud.on_create = [](const model::NodeClaim&) {
      return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
    };
    AddPod("sold", "soldout", 1000);
    AddPod("giant", "soldout", 10'000'000);
    rig_.RunFor(seconds(15));
    rig_.cloud.on_create = nullptr;
    rig_.RemovePod("sold");
    rig_.RemovePod("giant");
    rig_.RunFor(minutes(2));
  }
  void Consolidate() {
    AddDearMachine("dear", [](model::NodePool& pool) {
      pool.spec.disruption.consolidation_policy = "Balanced";
    });
    rig_.RemovePod("dear-big");
    // Looked at, and filled meanwhile.
    const auto looked_at = [&] {
      const auto& commands = rig_.engine().report()->commands;
      return std::ranges::any_of(commands, [](const report::DisruptionCommand& command) {
        return command.stage == "Validating" && command.reason == "Underutilized";
      });
    };
    ASSERT_TRUE(rig_.RunUntil(looked_at, minutes(2)));
    AddPod("dear-more", "dear", 6000);
    rig_.RunFor(seconds(30));
    rig_.RemovePod("dear-more");
    rig_.RunFor(minutes(5));
  }
  void Protect() {
    AddDearMachine("kept");
    AddPod("always", "kept", 100, "true");
    AddPod("wrong", "kept", 100, "soon");
    AddPod("until", "kept", 100, "2m");
    rig_.RunFor(minutes(4));
    rig_.AddPool("closed", Closed);
    AddPod("c", "closed", 1000);
    rig_.RunFor(minutes(2));
  }
  void DrainByForce() {
    rig_.boot_taints.clear();
    AddDearMachine("forced", [](model::NodePool& pool) {
      Closed(pool);
      pool.spec.template_.spec.termination_grace_period = "3m";
    });
    const model::Node node = NodeOf("forced");
    rig_.protected_pods = {"forced-small"};
    auto attachment = std::make_shared<model::VolumeAttachment>();
    attachment->metadata.name = "attached";
    attachment->spec.node_name = node.metadata.name;
    attachment->spec.source.persistent_volume_name = "volume";
    rig_.world().Upsert<model::VolumeAttachment>(attachment);
    for (const auto& claim : rig_.Claims()) {
      if (claim.status.provider_id == node.spec.provider_id) rig_.DeleteClaim(claim.metadata.name);
    }
    rig_.RunFor(minutes(6));
  }
  void FallSick() {
    rig_.AddPool("sick");
    AddPod("s", "sick", 5000);
    AddPod("t", "sick", 5000);
    rig_.RunFor(minutes(2));
    for (const model::Node& node : rig_.Nodes()) {
      if (*node.metadata.labels.Find(model::kNodePoolLabel) == "sick")
        rig_.SetReady(node.metadata.name, "False");
    }
    model::Node shrunk = NodeOf("kept");
    shrunk.status.capacity["cpu"] = model::Quantity::FromUnits(1);
    rig_.PutStatus(shrunk);
    rig_.RunFor(minutes(20));
  }

  EngineRig rig_{WithRepair()};
};

TEST_F(EventsTest, EveryReasonOfTheSpecificationIsToldInABusyHour) {
  NothingToBuy();
  Consolidate();
  Protect();
  DrainByForce();
  FallSick();
  std::set<std::pair<std::string, std::string>> told;
  for (const cluster::Event& event : rig_.events) told.emplace(event.reason, event.kind);
  std::vector<std::string> missing;
  for (const auto& [reason, kind] : kEvents) {
    if (!told.contains({reason, kind})) missing.push_back(reason + " of a " + kind);
  }
  EXPECT_THAT(missing, testing::IsEmpty());
  EXPECT_THAT(rig_.EventText("ConsolidationRejected"), testing::HasSubstr("reason: "));
  EXPECT_THAT(rig_.EventText("Evicted"), testing::Not(testing::HasSubstr("node is going")));
}

TEST_F(EventsTest, AnEvictionAgainstABudgetIsToldOfTheNode) {
  AddDearMachine("forced", Closed);
  rig_.protected_pods = {"forced-small"};
  rig_.DeleteClaim(rig_.Claims()[0].metadata.name);
  rig_.RunFor(seconds(20));
  EXPECT_TRUE(std::ranges::any_of(rig_.events, [](const cluster::Event& event) {
    return event.reason == "FailedDraining" &&
           event.text ==
               "Failed to drain node, evicting pod violates a PDB (Pod=default/forced-small)";
  }));
  EXPECT_THAT(rig_.metrics.Render(),
              testing::HasSubstr("karpenter_pods_eviction_requests_total{code=\"200\"} 1\n"));
  EXPECT_THAT(
      rig_.metrics.Render(),
      testing::HasSubstr("karpenter_pods_drained_total{reason=\"Forceful Termination\"} 1\n"));
}

}  // namespace
}  // namespace coppice::provision
