// What upstream does by timers and memories of its own, seen from outside: a whole engine with
// --upstream-exact.

#include <gmock/gmock.h>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UpstreamExactTest : public test::EngineRig {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    flags.emplace_back("--upstream-exact");
    Assemble(std::move(flags), inline_, writer_);
    start_ = clock_.Now();
    executor_.RunUntilIdle();
  }
  void Gains(const std::string& id) {
    groups_.Change("web", [&](cloud::FakeNodeGroups::Group& group) {
      group.instances.push_back({.id = id, .state = cloud::InstanceState::kRunning});
      ++group.target;
    });
  }
  // So long after the start.
  std::shared_ptr<const report::PassReport> PassAt(int after) {
    executor_.RunUntil(start_ + seconds(after));
    return Pass();
  }
  int UnregisteredAt(int after) { return PassAt(after)->status->counts.unregistered; }
  void SetReady(const std::string& name, bool ready) {
    model::Node node = *world_.FindNode(name);
    node.status.conditions.front().status = ready ? "True" : "False";
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }

  TimePoint start_;
};

TEST_F(UpstreamExactTest, MachinesAreReadAtTheStartAndEveryTwoMinutesByATimer) {
  AddGroup("web", 9, 1);
  AddNode("web-1", "web");
  Start();
  Gains("fake://a");
  EXPECT_EQ(UnregisteredAt(10), 0);
  executor_.RunUntil(start_ + seconds(125));  // what a reading at 120 s found
  Gains("fake://b");
  EXPECT_EQ(UnregisteredAt(150), 1);  // a pass that comes late knows no more
  EXPECT_EQ(UnregisteredAt(239), 1);
  EXPECT_EQ(UnregisteredAt(250), 2);
}

TEST_F(UpstreamExactTest, TheTimerEndsWithItsEngine) {
  AddGroup("web", 9);
  Start();
  assembly_.reset();
  executor_.RunUntil(start_ + seconds(500));
  EXPECT_EQ(executor_.tasks(), 0U);
}

TEST_F(UpstreamExactTest, TheStatusCountsTheCandidatesOfTheLastEvaluation) {
  AddGroup("web", 9, 2);
  for (const std::string name : {"web-1", "web-2"}) AddNode(name, "web");
  AddPod("busy", "cpu", 3, "web-1");
  Start({"--ok-total-unready-count=0", "--max-total-unready-percentage=0"});
  const auto healthy = PassAt(10);
  EXPECT_THAT(healthy->scale_down.unneeded, ElementsAre("web-2"));
  EXPECT_EQ(healthy->status->candidates, 1);
  SetReady("web-1", false);
  const auto unhealthy = PassAt(20);
  EXPECT_FALSE(unhealthy->status->healthy);
  EXPECT_THAT(unhealthy->scale_down.unneeded, IsEmpty());
  EXPECT_EQ(unhealthy->status->candidates, 1);
  EXPECT_EQ(unhealthy->status->groups.at(0).candidates, 1);
}

}  // namespace
}  // namespace coppice::autoscale
