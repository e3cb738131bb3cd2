#include "sim/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "model/batch.h"
#include "model/node_pool.h"
#include "sim/api.h"
#include "sim/view.h"
#include "test/support/must.h"

namespace coppice::sim {
namespace {

using testing::HasSubstr;

class ObjectsTest : public testing::Test {
 protected:
  template <class T>
  T Do(Task<T> task) {
    return executor_.BlockOn(std::move(task));
  }
  static cluster::ObjectName Claim(const std::string& name) {
    return {"karpenter.sh/v1", "nodeclaims", "", name};
  }
  static cluster::ObjectName NodeNamed(const std::string& name) {
    return {"v1", "nodes", "", name};
  }
  const model::NodeClaim* Shown(const std::string& name) {
    return world_.objects<model::NodeClaim>().Find(name);
  }

  FakeClock clock_;
  Executor executor_{clock_};
  Agenda agenda_{clock_};
  Cluster cluster_{agenda_};
  Api api_{cluster_};
  cluster::World world_;
  View view_{cluster_, world_};
};

TEST_F(ObjectsTest, AClaimIsShownAsAValueThroughAllItsLife) {
  ASSERT_TRUE(
      Do(api_.CreateObject(Claim("a"), R"({"metadata":{"finalizers":["karpenter.sh/termination"]},
      "spec":{"expireAfter":"720h"}})"))
          .ok());
  ASSERT_NE(Shown("a"), nullptr);
  EXPECT_EQ(Shown("a")->spec.expire_after, "720h");
  ASSERT_TRUE(Do(api_.UpdateStatus(Claim("a"), R"({"status":{"providerID":"x://1"}})")).ok());
  EXPECT_EQ(Shown("a")->status.provider_id, "x://1");
  ASSERT_OK(Do(api_.DeleteObject(Claim("a"))));
  ASSERT_NE(Shown("a"), nullptr);
  EXPECT_TRUE(Shown("a")->metadata.deletion_timestamp.has_value());
  ASSERT_OK(Do(api_.ChangeFinalizers(Claim("a"), {.remove = {"karpenter.sh/termination"}})));
  EXPECT_EQ(Shown("a"), nullptr);
}

TEST_F(ObjectsTest, WhoComesLaterIsToldOfEverythingInItsFirstList) {
  ASSERT_TRUE(Do(api_.CreateObject(Claim("a"), "{}")).ok());
  ASSERT_TRUE(
      Do(api_.CreateObject({"scheduling.volcano.sh/v1beta1", "queues", "", "q"}, "{}")).ok());
  cluster::World late;
  const View view(cluster_, late);
  EXPECT_NE(late.objects<model::NodeClaim>().Find("a"), nullptr);
  EXPECT_NE(late.objects<model::Queue>().Find("q"), nullptr);
}

TEST_F(ObjectsTest, APatchOfANodeKeepsWhatItsKubeletSaidMeanwhile) {
  cluster_.UpsertNode({.metadata = {.name = "n"}});
  const auto before = MUST(Do(api_.ObjectNow(NodeNamed("n"))));
  model::Node node = *cluster_.objects().FindNode("n");
  node.status.capacity["cpu"] = model::Quantity::FromUnits(4);
  cluster_.UpsertNode(node);  // the kubelet
  const auto stale = MUST(wire::FromJson<model::Node>(before));
  EXPECT_EQ(Do(api_.UpdateObject(NodeNamed("n"), R"({"metadata":{"resourceVersion":")" +
                                                     stale.metadata.resource_version +
                                                     R"(","labels":{"a":"b"}}})"))
                .status()
                .code(),
            Code::kAborted);
  const auto patched =
      Do(api_.UpdateObject(NodeNamed("n"), R"({"metadata":{"labels":{"a":"b"}}})"));
  ASSERT_TRUE(patched.ok());
  EXPECT_THAT(*patched, HasSubstr(R"("a":"b")"));
  const NodePtr now = world_.FindNode("n");
  EXPECT_EQ(now->metadata.labels.find("a")->second, "b");
  EXPECT_EQ(now->status.capacity.find("cpu")->second.Value(), 4);
}

TEST_F(ObjectsTest, ADeletedNodeStaysUntilItsFinalizerIsGoneWhoeverDeletesIt) {
  cluster_.UpsertNode({.metadata = {.name = "n", .finalizers = {"karpenter.sh/termination"}}});
  cluster_.DeleteNode("n");  // the node controller
  ASSERT_NE(world_.FindNode("n"), nullptr);
  EXPECT_TRUE(world_.FindNode("n")->metadata.deletion_timestamp.has_value());
  ASSERT_OK(Do(api_.ChangeFinalizers(NodeNamed("n"), {.remove = {"karpenter.sh/termination"}})));
  EXPECT_EQ(world_.FindNode("n"), nullptr);
  EXPECT_EQ(Do(api_.DeleteObject(NodeNamed("n"))).code(), Code::kNotFound);
}

TEST_F(ObjectsTest, ANodeCanBeCreatedWithItsStatus) {
  ASSERT_TRUE(
      Do(api_.CreateObject(NodeNamed("n"),
                           R"({"spec":{"providerID":"x://1"},"status":{"capacity":{"cpu":"2"}}})"))
          .ok());
  ASSERT_NE(world_.FindNode("n"), nullptr);
  EXPECT_EQ(world_.FindNode("n")->spec.provider_id, "x://1");
  EXPECT_EQ(world_.FindNode("n")->status.capacity.find("cpu")->second.Value(), 2);
  EXPECT_EQ(Do(api_.CreateObject(NodeNamed("n"), "{}")).status().code(), Code::kAlreadyExists);
}

TEST_F(ObjectsTest, APodIsCreatedPendingAndEndsInItsGraceWhenDeleted) {
  const cluster::ObjectName pod{"v1", "pods", "default", "p"};
  ASSERT_TRUE(Do(api_.CreateObject(pod, R"({"spec":{"containers":[{"name":"c"}]}})")).ok());
  ASSERT_NE(world_.FindPod("default", "p"), nullptr);
  EXPECT_EQ(world_.FindPod("default", "p")->status.phase, "Pending");
  ASSERT_OK(Do(api_.Bind({"default", "p"}, "n", {})));
  ASSERT_OK(Do(api_.DeleteObject(pod)));
  ASSERT_NE(world_.FindPod("default", "p"), nullptr);
  EXPECT_TRUE(world_.FindPod("default", "p")->metadata.deletion_timestamp.has_value());
  clock_.Advance(std::chrono::seconds(31));
  agenda_.RunDue();
  EXPECT_EQ(world_.FindPod("default", "p"), nullptr);
}

TEST_F(ObjectsTest, PutReplacesWhatIsThereAndCountsAsAnotherGeneration) {
  model::NodePool pool;
  pool.metadata.name = "pool";
  pool.spec.weight = 3;
  ASSERT_OK(api_.objects.Put(pool));
  pool.spec.weight = 7;
  pool.status.conditions = {{.type = "Ready", .status = "True"}};
  ASSERT_OK(api_.objects.Put(pool));
  const auto* shown = world_.objects<model::NodePool>().Find("pool");
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(shown->spec.weight, 7);
  EXPECT_EQ(shown->metadata.generation, 2);
  EXPECT_EQ(shown->status.conditions.size(), 1u);
}

TEST_F(ObjectsTest, ARefusedCallChangesNothing) {
  api_.objects.before = [](std::string_view verb, const cluster::ObjectName&) {
    return verb == "delete" ? Status(Code::kUnavailable, "not now") : Status::Ok();
  };
  ASSERT_TRUE(Do(api_.CreateObject(Claim("a"), "{}")).ok());
  EXPECT_EQ(Do(api_.DeleteObject(Claim("a"))).code(), Code::kUnavailable);
  EXPECT_NE(Shown("a"), nullptr);
}

TEST_F(ObjectsTest, AKindThatTheWireHasNoTableForIsShownAsItsReaderReadsIt) {
  struct Train {
    model::ObjectMeta metadata;
    std::string json;
  };
  const std::function<Result<Train>(std::string_view)> read =
      [](std::string_view json) -> Result<Train> {
    if (json.find("broken") != std::string_view::npos) return InvalidArgument("broken");
    return Train{.metadata = {}, .json = std::string(json)};
  };
  api_.objects.KeepAs<Train>("example.com/v1", "trains", read);
  const cluster::ObjectName name{"example.com/v1", "trains", "ns", "t"};
  ASSERT_TRUE(Do(api_.CreateObject(name, R"({"kind":"Train","spec":{"cars":3}})")).ok());
  const auto* shown = world_.objects<Train>().Find("ns", "t");
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(shown->metadata.name, "t");
  EXPECT_FALSE(shown->metadata.uid.empty());
  EXPECT_THAT(shown->json, HasSubstr("\"cars\":3"));
  ASSERT_TRUE(Do(api_.UpdateObject(name, R"({"spec":{"cars":"broken"}})")).ok());
  EXPECT_EQ(api_.objects.unreadable(), 1u);
  api_.objects.Remove(name);
  EXPECT_EQ(world_.objects<Train>().Find("ns", "t"), nullptr);
}

TEST_F(ObjectsTest, AnObjectThatCannotBeReadIsNotShown) {
  ASSERT_TRUE(Do(api_.CreateObject(Claim("a"), R"({"spec":{"taints":7}})")).ok());
  EXPECT_EQ(Shown("a"), nullptr);
  EXPECT_EQ(api_.objects.unreadable(), 1u);
}

}  // namespace
}  // namespace coppice::sim
