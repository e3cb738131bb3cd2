// A second engine beside the autoscaler, in one process and on one World: both plan, neither sees
// what the other imagines, and a node that one takes down is left alone by the other.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "host/turns.h"
#include "seats/autoscaler.h"
#include "test/support/engine_rig.h"
#include "test/support/held_workers.h"

namespace coppice::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Notes = std::vector<std::string>;

// The toy: wants nodes gone, one at a time and in this order. Plans on a cluster in which it
// imagines every node empty; holds the node, waits so long for its API server, and lets go of it.
class Gardener final : public Engine {
 public:
  Gardener(cluster::World& world, Executor& executor, Notes& notes)
      : world_(world), executor_(executor), notes_(notes) {}

  std::string_view name() const override { return "gardener"; }
  TimePoint Due() const override { return due; }
  bool Told(const Event&, TimePoint) override { return false; }

  Task<PassEnd> Pass(TimePoint now) override {
    notes_.emplace_back("gardener begins");
    due = Later(now, seconds(10));
    const std::string node = Plan();
    if (!node.empty()) {
      const std::string uid = world_.FindNode(node)->metadata.uid;
      const Status held = world_.held_nodes().Hold(node, uid, name());
      notes_.push_back(held.ok() ? "gardener holds " + node : held.message());
      co_await executor_.Sleep(takes);
      LookAround();  // the thread was given up: somebody else may have had it
      world_.held_nodes().Release(node, name());
    }
    notes_.emplace_back("gardener ends");
    co_return PassEnd{};
  }

  TimePoint due = TimePoint::max();
  Duration takes = seconds(1);
  std::vector<std::string> wanted;

 private:
  // What is there is what the World knows of: no stand-ins of somebody else's plan, no pod that is
  // only imagined to have moved.
  void LookAround() {
    cluster::Snapshot& snapshot = world_.snapshot();
    EXPECT_EQ(snapshot.forks(), 0u);
    EXPECT_EQ(snapshot.nodes().size(), world_.node_count());
    for (const cluster::World::PodEntry* entry : world_.Pods()) {
      if (entry->home != cluster::kNone) {
        EXPECT_EQ(snapshot.node(entry->home).name, entry->pod->spec.node_name);
      }
    }
  }
  std::string Plan() {
    LookAround();
    cluster::Snapshot& snapshot = world_.snapshot();
    const auto fork = snapshot.Fork();
    for (const cluster::NodeIndex node : snapshot.nodes()) {
      const std::vector<cluster::PodIndex> pods(snapshot.pods_on(node).begin(),
                                                snapshot.pods_on(node).end());
      for (const cluster::PodIndex pod : pods) snapshot.Unplace(pod);
    }
    for (const std::string& node : wanted) {
      const cluster::NodeIndex index = snapshot.FindNode(node);
      if (index != cluster::kNone && snapshot.pods_on(index).empty()) return node;
    }
    return "";
  }

  cluster::World& world_;
  Executor& executor_;
  Notes& notes_;
};

// Tells when its passes begin and end. A pass takes a moment, as it does on a real clock: "the last
// one changed something" is told by comparing times.
class Noted final : public Engine {
 public:
  Noted(Engine& engine, Executor& executor, Notes& notes)
      : engine_(engine), executor_(executor), notes_(notes) {}
  std::string_view name() const override { return engine_.name(); }
  TimePoint Due() const override { return engine_.Due(); }
  bool Told(const Event& event, TimePoint now) override { return engine_.Told(event, now); }
  bool keeps_others_out() const override { return engine_.keeps_others_out(); }
  Task<PassEnd> Pass(TimePoint now) override {
    notes_.emplace_back("autoscale begins");
    const PassEnd end = co_await engine_.Pass(now);
    co_await executor_.Sleep(milliseconds(1));
    notes_.emplace_back("autoscale ends");
    co_return end;
  }

 private:
  Engine& engine_;
  Executor& executor_;
  Notes& notes_;
};

class TwoEnginesTest : public test::EngineRig {
 protected:
  ~TwoEnginesTest() override {
    std::destroy_at(&executor_);  // its tasks work on what goes now
    std::construct_at(&executor_, clock_);
  }
  void Start(std::vector<std::string> args) {
    flags_ = MUST(autoscale::ParseFlags(args));
    wake_ = [this] { autoscaler_->WorkEnded(); };
    Assemble(std::move(args), workers_, writer_);
    numbers_.emplace(metrics_, flags_.ForMetrics());
    turns_.emplace(executor_, world_, health_);
    autoscaler_.emplace(seats::Autoscaler::Parts{.flags = flags_,
                                                 .world = world_,
                                                 .clock = clock_,
                                                 .log = log_,
                                                 .numbers = *numbers_,
                                                 .reasons = reasons_,
                                                 .look_again = [this] { turns_->LookAgain(); },
                                                 .idle = [this] { return executor_.idle(); }});
    autoscaler_->Open({.assembly = std::move(assembly_), .groups = groups_});
    noted_.emplace(*autoscaler_, executor_, notes_);
    gardener_.emplace(world_, executor_, notes_);
    turns_->Add(*noted_);
    turns_->Add(*gardener_);
    executor_.Spawn(turns_->Run());
  }
  Notes In(Duration time) {
    executor_.RunFor(time);
    return std::exchange(notes_, {});
  }
  // The cloud answers whatever it has been asked, as soon as it is.
  Notes InWithAQuickCloud(Duration time) {
    workers_.let_through = 1'000'000;
    workers_.RunAll();
    return In(time);
  }
  // A pod that is on the only node, and one that needs another.
  void AddAFullNodeAndAPendingPod() {
    AddGroup("web", 5, 1);
    AddNode("web-1", "web");
    AddPod("busy", "cpu", 4, "web-1");
    AddPod("waits", "cpu", 3);
  }
  std::string Explain(const std::string& node) {
    const Result<std::string> told = reasons_.Explain(nullptr, &node);
    return told.ok() ? *told : told.status().message();
  }

  autoscale::FlagValues flags_;
  Notes notes_;
  test::HeldWorkers workers_;
  HealthCheck health_{{}, clock_};
  autoscale::Reasons reasons_{log_};
  std::optional<autoscale::AutoscalerMetrics> numbers_;
  std::optional<seats::Autoscaler> autoscaler_;
  std::optional<Noted> noted_;
  std::optional<Gardener> gardener_;
  std::optional<Turns> turns_;
};

TEST_F(TwoEnginesTest, WhileOneWaitsForTheCloudTheOtherPlansAndNeitherSeesTheOthersImagination) {
  AddAFullNodeAndAPendingPod();
  Start({"--expander=least-waste", "--scale-down-enabled=false"});
  gardener_->wanted = {"web-1"};  // in its imagination there is room for everybody
  gardener_->takes = milliseconds(20);
  gardener_->due = clock_.Now() + milliseconds(100);
  workers_.let_through = 1;  // the refresh is answered, the order is not
  EXPECT_THAT(In(milliseconds(150)), ElementsAre("autoscale begins", "gardener begins",
                                                 "gardener holds web-1", "gardener ends"));
  EXPECT_THAT(InWithAQuickCloud(seconds(1)), Contains("autoscale ends"));
  EXPECT_EQ(CallsOf("Increase"), 1u) << "for the autoscaler web-1 is as full as it is";
  EXPECT_EQ(MUST(groups_.TargetSize("web")), 2);
}

TEST_F(TwoEnginesTest, TheyTakeTurnsForMinutesAndBothSeeTheWorldAsItIs) {
  AddAFullNodeAndAPendingPod();
  Start({"--expander=least-waste"});
  gardener_->wanted = {"web-1"};
  gardener_->takes = seconds(7);
  gardener_->due = clock_.Now() + seconds(3);
  const Notes notes = InWithAQuickCloud(minutes(5));
  EXPECT_GE(std::ranges::count(notes, "autoscale ends"), 20);
  EXPECT_GE(std::ranges::count(notes, "gardener ends"), 20);
  EXPECT_EQ(CallsOf("Increase"), 1u) << "what is on its way counts, however often they plan";
}

TEST_F(TwoEnginesTest, ANodeThatTheOtherTakesDownIsLeftAloneUntilItLetsGo) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  Start({"--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s", "--fuses=false",
         "--scale-down-delay-after-delete=0s"});
  gardener_->wanted = {"web-1"};
  gardener_->takes = minutes(3);
  gardener_->due = clock_.Now();
  InWithAQuickCloud(minutes(2));
  EXPECT_EQ(world_.held_nodes().HolderOf("web-1", ""), "gardener");
  EXPECT_THAT(Explain("web-1"), HasSubstr("is taken down by another engine (gardener)"));
  EXPECT_EQ(CallsOf("Delete"), 1u);
  EXPECT_EQ(MUST(groups_.TargetSize("web")), 1) << "web-2 is nobody else's";
  EXPECT_EQ(world_.held_nodes().HolderOf("web-2", ""), "autoscale");

  // And the other way round.
  gardener_->wanted = {"web-2"};
  EXPECT_THAT(InWithAQuickCloud(minutes(2)), Contains("node 'web-2' is held by autoscale"));
  EXPECT_EQ(CallsOf("Delete"), 2u) << "web-1 is free to go";
}

TEST_F(TwoEnginesTest, WithUpstreamExactNobodyElseHasATurnBeforeThePlansAreMade) {
  AddAFullNodeAndAPendingPod();
  clock_.Advance(seconds(20));  // a pod as new as it is would have to wait
  Start({"--expander=least-waste", "--upstream-exact"});
  gardener_->due = clock_.Now() + milliseconds(100);
  EXPECT_THAT(In(seconds(3)), ElementsAre("autoscale begins")) << "the refresh is not answered";
  workers_.RunAll();
  EXPECT_THAT(In(seconds(3)), Not(Contains("gardener begins"))) << "nor is the order";
  const Notes notes = InWithAQuickCloud(seconds(3));
  EXPECT_EQ(CallsOf("Increase"), 1u);
  EXPECT_THAT(notes, Contains("gardener begins"));
}

TEST_F(TwoEnginesTest, ByDefaultTheRefreshKeepsNobodyWaiting) {
  AddAFullNodeAndAPendingPod();
  Start({"--expander=least-waste"});
  gardener_->due = clock_.Now() + milliseconds(100);
  EXPECT_THAT(In(seconds(3)), ElementsAre("autoscale begins", "gardener begins", "gardener ends"));
}

TEST_F(TwoEnginesTest, AfterARefreshThatTookSecondsNewsAreFollowedAsSoonAsAfterAQuickOne) {
  AddAFullNodeAndAPendingPod();
  Start({"--expander=least-waste", "--scale-down-enabled=false", "--scan-interval=1h"});
  InWithAQuickCloud(seconds(5));
  workers_.let_through = 0;
  turns_->Tell({Event::Kind::kNodesChanged});
  EXPECT_THAT(In(seconds(3)), ElementsAre("autoscale begins")) << "the refresh is not answered";
  workers_.RunAll();
  EXPECT_THAT(InWithAQuickCloud(milliseconds(100)), Contains("autoscale ends"));
  turns_->Tell({Event::Kind::kNodesChanged});
  EXPECT_THAT(InWithAQuickCloud(seconds(1)), Contains("autoscale begins"))
      << "the thread was idle all the time";
}

}  // namespace
}  // namespace coppice::host
