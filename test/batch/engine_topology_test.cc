// Gangs that have to be close together, on a cluster: where they are is written down, and machines are
// bought within one stretch of the network.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/buying/gang_buyer.h"
#include "market/fake_seller.h"
#include "test/batch/batch_cluster.h"
#include "test/support/hyper_node_objects.h"

namespace coppice {
namespace {

using namespace std::chrono_literals;
using test::BatchCluster;
using test::ByLabel;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kRacks = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: proportion
  - name: network-topology-aware
)";
constexpr char kInARack[] = R"({"mode":"hard","highestTierAllowed":1})";

// Racks are told by a label of nodes.
class RackRig {
 public:
  RackRig() {
    cluster.Queue("default");
    for (const char* rack : {"a", "b"})
      Network(ByLabel(std::string("rack-") + rack, 1, "rack", rack));
  }
  void Network(std::shared_ptr<model::HyperNode> object) {
    cluster.seen->Upsert(HyperNodePtr(object));
  }
  void Node(const std::string& name, const std::string& rack) {
    model::Labels labels;
    labels["rack"] = rack;
    cluster.Node(name, "4", "110", labels);
  }
  void GangInARack(const std::string& name, int size, int32_t min_member = -1) {
    cluster.network_topology = kInARack;
    cluster.Gang(name, size, "4", "default", min_member);
  }
  void StartWithMarket() {
    seller.stock["cpu"] = BatchCluster::Amount("400");
    seller.stock["memory"] = BatchCluster::Amount("4000Gi");
    seller.stock["pods"] = BatchCluster::Amount("10k");
    buyer = std::make_unique<batch::GangBuyer>(batch::GangBuyer::Parts{
        .options = {},
        .market = market,
        .world = *cluster.seen,
        .writer = cluster,
        .executor = cluster.executor,
        .log = cluster.log,
        .assumed = [this]() -> const cluster::World* {
          return cluster.engine == nullptr ? nullptr : &cluster.engine->world();
        }});
    cluster.waiting = buyer.get();
    cluster.Start(kRacks);
  }
  std::string NoteOf(const std::string& group) {
    const auto json = cluster.executor.BlockOn(
        cluster.objects.ObjectNow({"scheduling.volcano.sh/v1beta1", "podgroups", "ns", group}));
    if (!json.ok()) return "gone";
    const auto object = wire::FromJson<model::PodGroup>(*json);
    const std::string* text =
        object->metadata.annotations.Find("volcano.sh/job-allocated-hypernode");
    return text == nullptr ? "" : *text;
  }
  std::string WhyOf(const std::string& gang) {
    for (const auto& told : buyer->Report()) {
      if (told.gang == "ns/" + gang) return told.why;
    }
    return "";
  }

  BatchCluster cluster;
  market::FakeSeller seller{"shop"};
  market::Market market{{&seller}};
  std::unique_ptr<batch::GangBuyer> buyer;

 private:
  using HyperNodePtr = std::shared_ptr<const model::HyperNode>;
};

TEST(TopologyOnACluster, WhereAGangIsIsWrittenDownAndWhatComesLaterGoesThere) {
  RackRig rig;
  for (const char* name : {"a-1", "a-2"}) rig.Node(name, "a");
  for (const char* name : {"b-1", "b-2", "b-3"}) rig.Node(name, "b");
  rig.GangInARack("gang", 3);
  rig.cluster.Start(kRacks);
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 3);
  EXPECT_EQ(rig.NoteOf("gang"), "rack-b");
  EXPECT_EQ(rig.cluster.PhaseOf("gang"), "Running");
  rig.Node("b-4", "b");
  rig.cluster.Pod("gang-w-3", "gang", "4");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.NodeOf("gang-w-3"), "b-4");
  rig.cluster.Pod("gang-w-4", "gang", "4");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.NodeOf("gang-w-4"), "") << "there is room elsewhere only";
}

TEST(TopologyOnACluster, ANetworkThatChangesIsSeen) {
  RackRig rig;
  rig.Node("a-1", "a");
  rig.Node("b-1", "b");
  rig.GangInARack("gang", 2);
  rig.cluster.Start(kRacks);
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 0);
  rig.Network(test::ARack("both", 1, {"a-1", "b-1"}));
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 2);
  EXPECT_EQ(rig.NoteOf("gang"), "both");
}

TEST(TopologyOnACluster, MachinesAreBoughtWithinTheRackThatLacksTheFewest) {
  RackRig rig;
  rig.Node("a-1", "a");
  for (const char* name : {"b-1", "b-2"}) rig.Node(name, "b");
  rig.GangInARack("gang", 4);
  rig.StartWithMarket();
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.quoted, SizeIs(1));
  const market::Want& want = rig.seller.quoted.front();
  EXPECT_EQ(want.topology.key, "rack");
  EXPECT_EQ(want.topology.value, "b");
  EXPECT_THAT(want.placed, SizeIs(2));
  ASSERT_EQ(want.count(), 2);
  EXPECT_EQ(rig.seller.target, 2);
  for (const char* name : {"b-3", "b-4"}) {
    rig.Node(name, "b");
    rig.seller.arrived.push_back(name);
  }
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 4);
  EXPECT_EQ(rig.NoteOf("gang"), "rack-b");
}

TEST(TopologyOnACluster, WhereNobodySellsAnotherPlaceIsAskedFor) {
  RackRig rig;
  rig.Node("a-1", "a");
  rig.GangInARack("gang", 2);
  rig.seller.refusal = "is closed";
  rig.StartWithMarket();
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.quoted, SizeIs(2));
  EXPECT_EQ(rig.seller.quoted[0].topology.value, "a");
  EXPECT_EQ(rig.seller.quoted[0].count(), 1);
  EXPECT_EQ(rig.seller.quoted[1].topology.value, "b");
  EXPECT_EQ(rig.seller.quoted[1].count(), 2) << "what has room in rack-a is of no use there";
  EXPECT_THAT(rig.WhyOf("gang"), AllOf(HasSubstr("in rack-a: "), HasSubstr("in rack-b: ")));
}

// Two racks under one spine: a machine in either will do.
TEST(TopologyOnACluster, OfSeveralLabelsThePodsAskForAny) {
  RackRig rig;
  rig.Network(test::ASpine("spine", 2, {"rack-a", "rack-b"}));
  rig.Network(ByLabel("rack-c", 1, "rack", "c"));
  rig.Network(test::ASpine("other", 2, {"rack-c"}));
  rig.Node("a-1", "a");
  rig.Node("b-1", "b");
  rig.cluster.network_topology = R"({"mode":"hard","highestTierAllowed":2})";
  rig.cluster.Gang("gang", 4, "4");
  rig.StartWithMarket();
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.quoted, SizeIs(1));
  const market::Want& want = rig.seller.quoted.front();
  EXPECT_EQ(want.topology.key, "");
  ASSERT_EQ(want.count(), 2);
  const auto& asked = want.classes.front().pod->spec.affinity->node_affinity->required;
  const auto& label = asked->node_selector_terms.front().match_expressions.front();
  EXPECT_EQ(label.key, "rack");
  EXPECT_THAT(label.values, ElementsAre("a", "b"));
}

TEST(TopologyOnACluster, WhereNobodyKnowsWhereAMachineWouldBeNothingIsBought) {
  RackRig rig;
  rig.Network(test::ARack("rack-a", 1, {"x"}));
  rig.Network(test::ByPattern("rack-b", 1, "^b-"));
  rig.GangInARack("gang", 2);
  rig.StartWithMarket();
  rig.cluster.Run(3s);
  EXPECT_THAT(rig.seller.quoted, IsEmpty());
  EXPECT_THAT(rig.WhyOf("gang"), HasSubstr("none of them goes by a label of nodes"));
}

}  // namespace
}  // namespace coppice
