// What would have to be otherwise for a group to grow, whatever the pod. That the proposals of
// filters are true is tried in nearest_miss_full_test.cc.

#include "autoscale/nearest_miss.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using report::ChangeKind;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class NearestMissTest : public PlainEngineRig {
 protected:
  std::shared_ptr<const report::PassReport> Start(std::vector<std::string> args = {}) {
    Assemble(std::move(args), inline_, writer_);
    return Pass();
  }
  static std::vector<report::NearMiss> Misses(const report::PassReport& report) {
    for (const auto* list : {&report.scale_up.unhelped, &report.scale_up.unserved}) {
      if (!list->empty()) return list->front().misses;
    }
    return {};
  }
};

TEST_F(NearestMissTest, AFullGroupWouldDoIfItMightBeOneLarger) {
  AddGroup("web", 1, 1);
  AddNode("web-1", "web");
  AddPod("busy", "cpu", 4, "web-1");
  AddPod("p", "cpu", 3);
  const auto misses = Misses(*Start());
  ASSERT_THAT(misses, SizeIs(1));
  EXPECT_EQ(misses[0].group, "web");
  ASSERT_THAT(misses[0].changes, SizeIs(1));
  EXPECT_EQ(misses[0].changes[0].kind, ChangeKind::kRaiseMaxSize);
  EXPECT_EQ(misses[0].changes[0].amount, 2);
  EXPECT_EQ(misses[0].changes[0].text, "its max size were 2");
}

TEST_F(NearestMissTest, ALimitOfTheClusterIsNamedByItsFlag) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 3);
  const auto misses = Misses(*Start({"--cores-total=0:2"}));
  ASSERT_THAT(misses, SizeIs(1));
  ASSERT_THAT(misses[0].changes, SizeIs(1));
  EXPECT_EQ(misses[0].changes[0].kind, ChangeKind::kRaiseLimit);
  EXPECT_EQ(misses[0].changes[0].text, "the maximum of --cores-total were 2 higher");
}

TEST_F(NearestMissTest, AGroupThatIsBackedOffWouldDoLater) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 3);
  groups_.Fail("Increase", Unavailable("sold out"));
  Start();
  clock_.Advance(seconds(20));
  const auto misses = Misses(*Pass());
  ASSERT_THAT(misses, SizeIs(1));
  ASSERT_THAT(misses[0].changes, SizeIs(1));
  EXPECT_EQ(misses[0].changes[0].kind, ChangeKind::kWait);
  EXPECT_THAT(misses[0].changes[0].text, StartsWith("its back-off were over (in 4m40s; "));
}

TEST_F(NearestMissTest, TheGroupThatNeedsLessIsTheNearest) {
  AddGroup("far", 0);
  AddGroup("near", 0);
  groups_.Change("far", [](cloud::FakeNodeGroups::Group& g) {  // eight cores: above the limit, too
    model::Node node = *g.node_template;
    for (auto* list : {&node.status.capacity, &node.status.allocatable})
      (*list)["cpu"] = model::Quantity::FromUnits(8);
    g.node_template = std::make_shared<const model::Node>(std::move(node));
  });
  AddPod("p", "cpu", 3);
  const auto misses = Misses(*Start({"--cores-total=0:4"}));
  ASSERT_THAT(misses, SizeIs(2));
  EXPECT_EQ(misses[0].group, "near");
  EXPECT_THAT(misses[1].changes, SizeIs(2));
}

TEST_F(NearestMissTest, WhereNoFilterKnowsAWayNothingIsProposed) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 64);
  EXPECT_THAT(Misses(*Start()), IsEmpty());
}

TEST_F(NearestMissTest, TheSnapshotIsAsItWas) {
  AddGroup("web", 1, 1);
  AddNode("web-1", "web");
  AddPod("p", "cpu", 64);
  Start();
  EXPECT_EQ(world_.snapshot().forks(), 0U);
  EXPECT_THAT(world_.snapshot().nodes(), SizeIs(1));
  EXPECT_EQ(world_.snapshot().pod_count(), 1U);
}

}  // namespace
}  // namespace coppice::autoscale
