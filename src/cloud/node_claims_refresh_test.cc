// Classes, drift, leaks and Nodes to register of CloudNodeClaims.

#include "cloud/claim_class.h"
#include "cloud/cloud_node_claims_fixture.h"
#include "cloud/guarded_claims.h"

namespace coppice::cloud {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(CloudNodeClaimsTest, ReadsSayThatNothingIsKnownYet) {
  auto fresh = CloudNodeClaims::Create({cloud, workers, clock, rng, log, metrics}, options);
  EXPECT_EQ(fresh->InstanceTypesFor(APool(), {}).code(), Code::kUnavailable);
  fresh->SetClasses({AClass()});
  EXPECT_EQ(fresh->InstanceTypesFor(APool(), {}).code(), Code::kUnavailable) << "no flavors yet";
  EXPECT_FALSE(fresh->ClassStates().front().known);
  EXPECT_EQ(fresh->Create(AClaim("one"), Soon()).code(), Code::kUnavailable)
      << "not judged is not the same as not ready";
  EXPECT_OK(fresh->Refresh(Soon()));
  EXPECT_THAT(*MUST(fresh->InstanceTypesFor(APool(), {})), SizeIs(3));
}

TEST_F(CloudNodeClaimsTest, TypesAreTheSameObjectUntilSomethingChanges) {
  const auto before = MUST(claims->InstanceTypesFor(APool(), {}));
  Pass(minutes(30));
  EXPECT_EQ(MUST(claims->InstanceTypesFor(APool(), {})), before);
  cloud.set_flavors(SpotFlavors());
  Pass(minutes(30));
  EXPECT_NE(MUST(claims->InstanceTypesFor(APool(), {})), before);
}

TEST_F(CloudNodeClaimsTest, KubeletReservesAreKeptBack) {
  auto input = AClass();
  input.node_class.spec.kubelet.emplace();
  input.node_class.spec.kubelet->kube_reserved["cpu"] = model::Quantity::FromMillis(300);
  input.node_class.spec.kubelet->eviction_hard["memory.available"] = "25%";
  input.node_class.spec.kubelet->max_pods = 17;
  Classes({input});
  const auto types = MUST(claims->InstanceTypesFor(APool(), {}));
  const auto small = std::ranges::find(*types, "small", &InstanceType::name);
  const auto left = AllocatableGroups(*small)[0].allocatable;
  EXPECT_EQ(left.Find("cpu")->MilliValue(), 1'700);
  EXPECT_EQ(left.Find("memory")->Value(), 3LL << 30);
  EXPECT_EQ(left.Find("pods")->Value(), 17);
}

TEST_F(CloudNodeClaimsTest, AClassSaysWhyItIsNotReady) {
  auto tags = AClass("tags"), reserves = AClass("reserves"), zones = AClass("zones"),
       secret = AClass("secret"), good = AClass("good");
  tags.node_class.spec.tags[kGroupTag] = "web";
  reserves.node_class.spec.kubelet.emplace();
  reserves.node_class.spec.kubelet->eviction_hard["memory.available"] = "a lot";
  zones.node_class.spec.zones = {"nowhere"};
  secret.user_data_status = NotFound("secret kube-system/boot has no key 'cloud-init'");
  good.node_class.metadata.generation = 3;
  Classes({tags, reserves, zones, secret, good});
  std::map<std::string, NodeClassState> states;
  for (const auto& state : claims->ClassStates()) states[state.name] = state;
  EXPECT_THAT(states["tags"].message, HasSubstr("k8s-autoscaler-group"));
  EXPECT_EQ(states["reserves"].reason, "SpecInvalid");
  EXPECT_EQ(states["zones"].reason, "NothingForSale");
  EXPECT_THAT(states["secret"].message, HasSubstr("cloud-init"));
  EXPECT_TRUE(states["good"].ready);
  EXPECT_EQ(states["good"].generation, 3);
}

TEST_F(CloudNodeClaimsTest, AChangedClassDriftsItsMachinesAndNewOnesAreTheNewOnes) {
  const auto old = Launched("old");
  auto changed = AClass();
  changed.node_class.spec.image = "debian-13";
  Classes({changed});
  EXPECT_EQ(MUST(claims->IsDrifted(old)), "NodeClassDrifted");
  const auto fresh = Launched("fresh");
  EXPECT_EQ(MUST(claims->IsDrifted(fresh)), "");
  EXPECT_EQ(fresh.status.image_id, "debian-13");
}

TEST_F(CloudNodeClaimsTest, WhatDoesNotMakeAnotherMachineIsNoDrift) {
  const auto claim = Launched("one");
  auto changed = AClass();
  changed.node_class.spec.zones = {"zone1", "zone9"};
  changed.user_data = "another token";
  Classes({changed});
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "");
  changed.node_class.spec.zones = {"zone9"};
  Classes({changed});
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "ZoneDrifted");
  Classes({});
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "") << "nothing to compare with";
}

TEST_F(CloudNodeClaimsTest, AMachineWithoutTheHashHasNotDrifted) {
  const auto claim = Launched("one");
  Tags tags = cloud.alive().front().tags;
  tags.erase(kClassHashTag);
  cloud.SetTags(claim.status.provider_id, tags);
  auto changed = AClass();
  changed.node_class.spec.image = "debian-13";
  Classes({changed});
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "");
  tags[kClassHashTag] = "v0-0123456789abcdef";
  cloud.SetTags(claim.status.provider_id, tags);
  Pass(minutes(1));
  EXPECT_EQ(MUST(claims->IsDrifted(claim)), "") << "a hash of another version says nothing";
}

TEST_F(CloudNodeClaimsTest, EveryFieldThatMakesAnotherMachineIsInTheHash) {
  const model::NodeClass plain = AClass().node_class;
  std::set<std::string> hashes = {HashOfClass(plain)};
  const auto differs = [&](const auto& change) {
    model::NodeClass other = plain;
    change(other.spec);
    return hashes.insert(HashOfClass(other)).second;
  };
  EXPECT_TRUE(differs([](auto& spec) { spec.image = "x"; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.networks = {"a"}; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.networks = {"a", "b"}; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.user_data_secret = {"ns", "name", "key"}; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.tags["a"] = "b"; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.extra["a"] = "b"; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.register_node = true; }));
  EXPECT_TRUE(differs([](auto& spec) { spec.kubelet = {.max_pods = 5}; }));
  EXPECT_FALSE(differs([](auto& spec) { spec.zones = {"z"}; }));
}

TEST_F(CloudNodeClaimsTest, AMachineThatIsNoClaimsIsEndedAfterTheGraceTime) {
  const auto kept = Launched("kept");
  const auto lost = Launched("lost");
  const auto tell = [&] { claims->SetClaims({{"uid-kept", kept.status.provider_id}}); };
  clock.Advance(minutes(1));
  tell();
  Pass(minutes(0));
  ASSERT_THAT(claims->Leaks(), SizeIs(1));
  EXPECT_EQ(claims->Leaks().front().machine.id, lost.status.provider_id);
  Pass(minutes(30));
  EXPECT_THAT(cloud.alive(), SizeIs(2)) << "nobody has renewed the list of claims";
  tell();
  Pass(minutes(0));
  ASSERT_THAT(cloud.alive(), SizeIs(1));
  EXPECT_EQ(cloud.alive().front().id, kept.status.provider_id);
  EXPECT_THAT(claims->Leaks(), SizeIs(1));
  Pass(minutes(2));
  EXPECT_THAT(claims->Leaks(), IsEmpty());
}

TEST_F(CloudNodeClaimsTest, AMachineThatIsYoungerThanTheListOfClaimsIsNoLeak) {
  claims->SetClaims({});
  Pass(minutes(1));
  Launched("one");
  Pass(minutes(20));
  EXPECT_THAT(claims->Leaks(), IsEmpty());
  EXPECT_THAT(cloud.alive(), SizeIs(1));
}

TEST_F(CloudNodeClaimsTest, AClaimIsKnownByItsUidBeforeItSaysItsMachine) {
  Launched("one");
  clock.Advance(minutes(1));
  for (int i = 0; i < 3; ++i) {
    claims->SetClaims({{"uid-one", ""}});
    Pass(minutes(10));
  }
  EXPECT_THAT(cloud.alive(), SizeIs(1));
}

TEST_F(CloudNodeClaimsTest, WithoutALeaseNoLeakIsEnded) {
  options.gate.may_change = [] { return FailedPrecondition("the lease is somebody else's"); };
  Restart();
  Launched("one");
  for (int i = 0; i < 3; ++i) {
    clock.Advance(minutes(20));
    claims->SetClaims({});
    EXPECT_OK(claims->Refresh(Soon()));
  }
  EXPECT_THAT(claims->Leaks(), SizeIs(1));
  EXPECT_THAT(cloud.alive(), SizeIs(1));
}

TEST_F(CloudNodeClaimsTest, AnOrderOfAClaimThatIsGoneIsGivenUp) {
  AnswerCreates({{.status = Unavailable("connection reset"), .happens = true}});
  cloud.draw_lag = [] { return minutes(15); };
  EXPECT_FALSE(claims->Create(AClaim("one"), Soon()).ok());
  for (int i = 0; i < 4; ++i) {
    clock.Advance(minutes(11));
    claims->SetClaims({});
    EXPECT_OK(claims->Refresh(Soon()));
  }
  EXPECT_THAT(cloud.alive(), IsEmpty());
}

TEST_F(CloudNodeClaimsTest, TheEngineIsToldWhichNodeToRegister) {
  auto claim = Launched("one");
  EXPECT_FALSE(claims->NodeFor(claim)) << "the kubelet does it";
  auto input = AClass();
  input.node_class.spec.register_node = true;
  input.node_class.spec.node_registration_delay = "30s";
  Classes({input});
  claim.spec.startup_taints = {{.key = "boot", .effect = "NoSchedule"}};
  const auto node = claims->NodeFor(claim);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->after, std::chrono::seconds(30));
  EXPECT_EQ(node->node.metadata.name, cloud.alive().front().name);
  EXPECT_EQ(node->node.spec.provider_id, claim.status.provider_id);
  EXPECT_EQ(*node->node.metadata.labels.Find(model::kInstanceTypeLabel), "small");
  ASSERT_THAT(node->node.spec.taints, SizeIs(2));
  EXPECT_EQ(node->node.spec.taints.back().key, model::karpenter::kUnregisteredTaint);
  EXPECT_EQ(node->node.status.allocatable, claim.status.allocatable);
}

TEST_F(CloudNodeClaimsTest, TheGateIsAskedBeforeAnythingIsBoughtOrEnded) {
  bool leader = true;
  const auto guarded = GuardClaims(
      *claims, {.may_change = [&] { return leader ? Status::Ok() : Unavailable("no lease"); }},
      log);
  model::NodeClaim claim = AClaim("one");
  EXPECT_OK(TakeOver(MUST(guarded->Create(claim, Soon())), claim));
  leader = false;
  EXPECT_EQ(guarded->Create(AClaim("two"), Soon()).code(), Code::kUnavailable);
  EXPECT_EQ(guarded->Delete(claim, Soon()).code(), Code::kUnavailable);
  EXPECT_THAT(cloud.alive(), SizeIs(1));
  const auto dry = GuardClaims(*claims, {.dry_run = true}, log);
  EXPECT_EQ(TroubleOf(dry->Create(AClaim("two"), Soon()).status()).reason, "DryRun");
  EXPECT_OK(dry->Delete(claim, Soon()));
  EXPECT_THAT(cloud.alive(), SizeIs(1));
}

}  // namespace
}  // namespace coppice::cloud
