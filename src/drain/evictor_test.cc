#include "drain/evictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cluster/fake_writer.h"
#include "test/support/must.h"

namespace coppice::drain {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EvictorTest : public testing::Test {
 protected:
  cluster::PodPtr Pod(const std::string& name, int32_t priority = 0,
                      const std::string& kind = "ReplicaSet") {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.spec.node_name = "node";
    pod.spec.priority = priority;
    if (!kind.empty()) {
      pod.metadata.owner_references = {
          {.api_version = "apps/v1", .kind = kind, .name = "owner", .controller = true}};
    }
    writer.where[name] = "node";
    return std::make_shared<const model::Pod>(std::move(pod));
  }
  cluster::PodPtr WithGrace(const std::string& name, int64_t grace) {
    model::Pod pod = *Pod(name);
    pod.spec.termination_grace_period_seconds = grace;
    return std::make_shared<const model::Pod>(std::move(pod));
  }
  Status Drain(std::vector<cluster::PodPtr> pods) {
    Evictor evictor(options, writer, executor);
    return executor.BlockOn(evictor.Drain("node", std::move(pods)));
  }
  std::vector<std::string> Evicted() const {
    std::vector<std::string> names;
    for (const auto& eviction : writer.evictions) names.push_back(eviction.pod);
    return names;
  }

  FakeClock clock;
  Executor executor{clock};
  cluster::FakeWriter writer{clock};
  EvictionOptions options{.annotation_prefix = "our.example/"};
};

TEST_F(EvictorTest, EverybodyIsEvictedAtOnceAndTheNodeIsEmpty) {
  const TimePoint start = clock.Now();
  EXPECT_OK(Drain({Pod("a"), Pod("b")}));
  EXPECT_THAT(Evicted(), ElementsAre("a", "b"));
  EXPECT_EQ(clock.Now(), start);
}

TEST_F(EvictorTest, GraceIsThePodsOwnUpToTheLimit) {
  options.max_graceful_termination_seconds = 100;
  EXPECT_OK(Drain({Pod("default"), WithGrace("short", 5), WithGrace("long", 3600)}));
  std::map<std::string, int64_t> grace;
  for (const auto& eviction : writer.evictions) grace[eviction.pod] = eviction.grace;
  EXPECT_EQ(grace, (std::map<std::string, int64_t>{{"default", 30}, {"short", 5}, {"long", 100}}));
}

TEST_F(EvictorTest, ARefusedEvictionIsTriedEveryTenSecondsForTwoMinutes) {
  writer.on_evict = [](const std::string&) { return ResourceExhausted("budget"); };
  const TimePoint start = clock.Now();
  const Status status = Drain({Pod("a")});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("budget"));
  EXPECT_THAT(writer.evictions, SizeIs(12));
  EXPECT_EQ(clock.Now() - start, minutes(2));
  EXPECT_EQ(writer.events.back().reason, options.failed_reason);
}

TEST_F(EvictorTest, ARefusalThatEndsIsForgotten) {
  writer.on_evict = [this](const std::string&) -> Status {
    return writer.evictions.size() < 3 ? ResourceExhausted("budget") : Status::Ok();
  };
  EXPECT_OK(Drain({Pod("a")}));
  EXPECT_THAT(writer.evictions, SizeIs(4));
}

TEST_F(EvictorTest, APodThatIsGoneAlreadyIsDone) {
  writer.on_evict = [](const std::string&) { return NotFound("no such pod"); };
  const cluster::PodPtr pod = Pod("a");
  writer.where.clear();
  EXPECT_OK(Drain({pod}));
}

TEST_F(EvictorTest, APodThatDoesNotEndKeepsTheNode) {
  options.max_graceful_termination_seconds = 60;
  writer.stays = true;
  const TimePoint start = clock.Now();
  const Status status = Drain({Pod("a")});
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("pods remaining after timeout"));
  EXPECT_EQ(clock.Now() - start, seconds(90));  // the limit, and half a minute
}

TEST_F(EvictorTest, APodOfTheSameNameElsewhereIsItsSuccessor) {
  const cluster::PodPtr pod = Pod("db-0", 0, "StatefulSet");
  writer.stays = true;
  writer.where["db-0"] = "another";
  EXPECT_OK(Drain({pod}));
}

// As upstream looks them up: who has just that priority belongs to the first of them, who has a
// higher one to the last.
TEST_F(EvictorTest, OfTwoTiersOfOnePriorityEachHasItsPods) {
  options.tiers = {{.priority = 10, .shutdown_grace_period_seconds = 7},
                   {.priority = 10, .shutdown_grace_period_seconds = 8},
                   {.priority = 20, .shutdown_grace_period_seconds = 9}};
  EXPECT_OK(Drain(
      {Pod("below", 5), Pod("equal", 10), Pod("above", 15), Pod("high", 20), Pod("highest", 30)}));
  std::map<std::string, int64_t> grace;
  for (const auto& eviction : writer.evictions) grace[eviction.pod] = eviction.grace;
  EXPECT_EQ(grace, (std::map<std::string, int64_t>{
                       {"below", 7}, {"equal", 7}, {"above", 8}, {"high", 9}, {"highest", 9}}));
}

TEST_F(EvictorTest, WhoReachesOnlyTheLowestOfTwoTiersBelongsToIt) {
  options.tiers = {{.priority = 10, .shutdown_grace_period_seconds = 7},
                   {.priority = 20, .shutdown_grace_period_seconds = 9}};
  EXPECT_OK(Drain({Pod("between", 15)}));
  ASSERT_THAT(writer.evictions, SizeIs(1));
  EXPECT_EQ(writer.evictions[0].grace, 7);
}

TEST_F(EvictorTest, ALimitOfZeroIsNoneAndOneOfASecondIsOne) {
  options.max_graceful_termination_seconds = 0;
  EXPECT_OK(Drain({Pod("a")}));
  options.max_graceful_termination_seconds = 1;
  EXPECT_OK(Drain({Pod("b")}));
  ASSERT_THAT(writer.evictions, SizeIs(2));
  EXPECT_EQ(writer.evictions[0].grace, 30);
  EXPECT_EQ(writer.evictions[1].grace, 1);
}

TEST_F(EvictorTest, TiersGoOneAfterTheOther) {
  options.tiers = {{.priority = 0, .shutdown_grace_period_seconds = 10},
                   {.priority = 100, .shutdown_grace_period_seconds = 20}};
  writer.stays = true;
  executor.Spawn([](Executor& on, cluster::FakeWriter& api) -> Task<void> {
    co_await on.Sleep(seconds(7));
    api.where.erase("low");
    co_await on.Sleep(seconds(7));
    api.where.clear();
  }(executor, writer));
  const TimePoint start = clock.Now();
  EXPECT_OK(Drain({Pod("high", 1000), Pod("low", -5)}));
  ASSERT_THAT(Evicted(), ElementsAre("low", "high"));
  EXPECT_EQ(writer.evictions[0].grace, 10);
  EXPECT_EQ(writer.evictions[1].grace, 20);
  EXPECT_EQ(writer.evictions[1].at - start, seconds(10));  // polled every five seconds
}

TEST_F(EvictorTest, DaemonSetPodsAreAskedToGoButNotWaitedFor) {
  const std::vector<cluster::PodPtr> pods = {Pod("agent", 0, "DaemonSet"), Pod("web")};
  writer.on_evict = [](const std::string& pod) -> Status {
    return pod == "agent" ? ResourceExhausted("no") : Status::Ok();
  };
  EXPECT_OK(Drain(pods));
  EXPECT_EQ(writer.where.count("agent"), 1u);
  for (const cluster::Event& event : writer.events)
    EXPECT_NE(event.reason, options.failed_reason) << "nobody needed it to go";
}

TEST_F(EvictorTest, OfAnEmptyNodeTheyStayUnlessAskedFor) {
  const auto empty = [&] {
    Evictor evictor(options, writer, executor);
    executor.BlockOn(evictor.EvictDaemonSetPods("node", {Pod("agent", 0, "DaemonSet")}));
  };
  empty();
  EXPECT_THAT(Evicted(), IsEmpty());
  options.daemon_sets_of_empty_nodes = true;
  empty();
  EXPECT_THAT(Evicted(), ElementsAre("agent"));
}

TEST_F(EvictorTest, AMirrorPodIsLeftToItsKubelet) {
  model::Pod pod = *Pod("static", 0, "");
  pod.metadata.annotations["kubernetes.io/config.mirror"] = "x";
  EXPECT_OK(Drain({std::make_shared<const model::Pod>(std::move(pod))}));
  EXPECT_THAT(Evicted(), IsEmpty());
}

TEST_F(EvictorTest, EventsAreInTheWordsOfWhoAsks) {
  options.evicting_reason = "Leaving";
  options.evicting_text = "its node goes";
  EXPECT_OK(Drain({Pod("a")}));
  ASSERT_THAT(writer.events, SizeIs(1));
  EXPECT_EQ(writer.events[0].reason, "Leaving");
  EXPECT_EQ(writer.events[0].text, "its node goes");
}

TEST_F(EvictorTest, ADaemonSetPodAsksByTheEnginesOwnAnnotation) {
  const auto asking = [&](const std::string& name, const std::string& annotation) {
    model::Pod pod = *Pod(name, 0, "DaemonSet");
    pod.metadata.annotations[annotation] = "true";
    return std::make_shared<const model::Pod>(std::move(pod));
  };
  options.daemon_sets_of_occupied_nodes = false;
  EXPECT_OK(Drain({asking("ours", "our.example/enable-ds-eviction"),
                   asking("theirs", "their.example/enable-ds-eviction")}));
  EXPECT_THAT(Evicted(), ElementsAre("ours"));
}

}  // namespace
}  // namespace coppice::drain
