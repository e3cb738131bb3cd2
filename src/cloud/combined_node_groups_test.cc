#include "cloud/combined_node_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "cloud/node_groups_wrapper.h"
#include "cloud/template.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/must.h"

namespace coppice::conformance {

// One group at each of two providers: what the suite asks of one it asks of the other.
struct CombinedUnderTest {
  CombinedUnderTest() {
    std::vector<cloud::CombinedNodeGroups::Member> members;
    for (const char* name : {"first", "second"}) {
      auto fake = std::make_unique<cloud::FakeNodeGroups>();
      const cloud::Flavor flavor{.name = "f", .cpu_millis = 2'000, .memory_bytes = 4LL << 30};
      fake->Add({.info = {.id = name, .max_size = 5},
                 .node_template = std::make_shared<const model::Node>(
                     MUST(cloud::MakeTemplate({.name = name}, flavor, "")))});
      fakes.push_back(fake.get());
      members.push_back({.name = std::string("of-") + name, .groups = std::move(fake)});
    }
    combined =
        MUST(cloud::CombinedNodeGroups::Create(std::move(members), {fake_clock, log, metrics}));
  }
  FakeClock fake_clock;
  Log log = Log::Null();
  Metrics metrics;
  std::vector<cloud::FakeNodeGroups*> fakes;
  std::unique_ptr<cloud::CombinedNodeGroups> combined;

  cloud::NodeGroups& groups() { return *combined; }
  Clock& clock() { return fake_clock; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() {
    for (auto* fake : fakes) fake->Fulfil();
  }
  int CallsOut() {
    int sum = 0;
    for (auto* fake : fakes) sum += CallsOutOf(fake->calls());
    return sum;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Combined, NodeGroupsSuite, CombinedUnderTest);

}  // namespace coppice::conformance

namespace coppice::cloud {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Forwards to scripted groups; its Refresh can be made to hang.
class Member final : public NodeGroupsWrapper {
 public:
  explicit Member(FakeNodeGroups& fake) : NodeGroupsWrapper(fake) {}
  // Refresh waits for it; null: not any more.
  void HangOn(std::shared_ptr<std::latch> latch) {
    const std::lock_guard lock(mutex_);
    hang_ = std::move(latch);
  }

  Status Refresh(Deadline t) override {
    const auto waiting = [this] {
      const std::lock_guard lock(mutex_);
      return hang_;
    }();
    if (waiting != nullptr) waiting->wait();
    return inner().Refresh(t);
  }
  void LearnPrices(const PriceQuestions& questions, Deadline t) override {
    for (const auto& [node, labels] : questions.nodes) learned.push_back(node.name);
    pods_learned += questions.pods.size();
    learn_until = t;
  }
  std::vector<std::string> learned;
  size_t pods_learned = 0;
  Deadline learn_until;

 private:
  std::mutex mutex_;
  std::shared_ptr<std::latch> hang_;
};

class CombinedNodeGroupsTest : public testing::Test {
 protected:
  CombinedNodeGroupsTest() {
    north.Add({.info = {.id = "web", .max_size = 9},
               .target = 1,
               .instances = {{.id = "north://1", .state = InstanceState::kRunning}}});
    south.Add({.info = {.id = "batch", .max_size = 9},
               .target = 2,
               .instances = {{.id = "south://1", .state = InstanceState::kRunning},
                             {.id = "south://2", .state = InstanceState::kRunning}}});
    auto north_member = std::make_unique<Member>(north);
    auto south_member = std::make_unique<Member>(south);
    north_door = north_member.get();
    south_door = south_member.get();
    std::vector<CombinedNodeGroups::Member> members;
    members.push_back({.name = "north", .groups = std::move(north_member)});
    members.push_back({.name = "south", .groups = std::move(south_member)});
    combined = MUST(CombinedNodeGroups::Create(
        std::move(members), {clock, log, metrics, std::chrono::milliseconds(50)}));
  }
  Deadline Soon() { return Deadline::In(clock, seconds(1)); }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const GroupInfo& info : combined->Groups()) ids.push_back(info.id);
    return ids;
  }

  SystemClock clock;
  std::string lines;
  Log log{clock, [this](std::string_view line) { lines += line; }, LogFormat::kJson};
  Metrics metrics;
  FakeNodeGroups north;
  FakeNodeGroups south;
  Member* north_door = nullptr;
  Member* south_door = nullptr;
  std::unique_ptr<CombinedNodeGroups> combined;
};

TEST_F(CombinedNodeGroupsTest, GroupsOfAllProvidersStandSideBySide) {
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
  EXPECT_EQ(MUST(combined->TargetSize("batch")), 2);
  EXPECT_EQ(MUST(combined->GroupOf({"south://2", "n"})), "batch");
  EXPECT_EQ(MUST(combined->GroupOf({"north://1", "n"})), "web");
  EXPECT_EQ(MUST(combined->GroupOf({"else://1", "n"})), std::nullopt);
  EXPECT_TRUE(MUST(combined->HasInstance({"south://1", "n"})));
  EXPECT_FALSE(MUST(combined->HasInstance({"south://9", "n"})));
}

TEST_F(CombinedNodeGroupsTest, ChangesGoToTheProviderOfTheGroup) {
  ASSERT_OK(combined->Refresh(Soon()));
  const uint64_t version = combined->Version();
  ASSERT_OK(combined->Increase("batch", 3, Soon()));
  EXPECT_EQ(MUST(combined->TargetSize("batch")), 5);
  EXPECT_EQ(MUST(combined->TargetSize("web")), 1);
  EXPECT_GT(combined->Version(), version);
  ASSERT_OK(combined->Delete("web", {{"north://1", "n"}}, Soon()));
  EXPECT_EQ(MUST(combined->TargetSize("web")), 0);
}

TEST_F(CombinedNodeGroupsTest, ABrokenProviderDoesNotStopTheOthers) {
  ASSERT_OK(combined->Refresh(Soon()));
  for (const char* method : {"Refresh", "TargetSize", "Instances", "GroupOf", "Increase"}) {
    south.Fail(method, Unavailable("connection refused"));
  }
  ASSERT_OK(combined->Refresh(Soon()));
  // Its groups keep their last good answers, and say that they are old.
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
  EXPECT_THAT(combined->Groups()[1].debug, HasSubstr("stale"));
  EXPECT_EQ(MUST(combined->TargetSize("batch")), 2);
  EXPECT_EQ(MUST(combined->Instances("batch")).size(), 2u);
  EXPECT_EQ(MUST(combined->GroupOf({"south://2", "n"})), "batch");
  // Changes are refused with the reason, at once, and the others work.
  const Status refused = combined->Increase("batch", 1, Soon());
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("provider 'south' is broken"));
  EXPECT_THAT(refused.message(), HasSubstr("connection refused"));
  EXPECT_FALSE(combined->Delete("batch", {{"south://1", "n"}}, Soon()).ok());
  EXPECT_OK(combined->Increase("web", 1, Soon()));
  // Who is broken is said.
  EXPECT_THAT(lines, HasSubstr("\"provider\":\"south\""));
  const auto health = combined->Health();
  EXPECT_OK(health[0].failure);
  EXPECT_EQ(health[1].failure.code(), Code::kUnavailable);
  EXPECT_TRUE(health[1].answered.has_value());
  EXPECT_THAT(metrics.Render(), HasSubstr("coppice_provider_up{provider=\"south\"} 0"));

  for (const char* method : {"Refresh", "TargetSize", "Instances", "GroupOf", "Increase"}) {
    south.Fail(method, Status::Ok());
  }
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_OK(combined->Increase("batch", 1, Soon()));
  EXPECT_THAT(lines, HasSubstr("answers again"));
}

TEST_F(CombinedNodeGroupsTest, WhenAllAreBrokenRefreshSaysWho) {
  ASSERT_OK(combined->Refresh(Soon()));
  north.Fail("Refresh", Unavailable("no route"));
  south.Fail("Refresh", PermissionDenied("token expired"));
  const Status status = combined->Refresh(Soon());
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("provider 'north': no route"));
  EXPECT_THAT(status.message(), HasSubstr("provider 'south': token expired"));
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));  // and still nothing is empty
}

TEST_F(CombinedNodeGroupsTest, OneThatIsBrokenFromTheStartJoinsLater) {
  south.Fail("Refresh", Unavailable("not yet"));
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("web"));
  south.Fail("Refresh", Status::Ok());
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
}

TEST_F(CombinedNodeGroupsTest, OneThatHangsIsWaitedForInFullOnlyOnce) {
  ASSERT_OK(combined->Refresh(Soon()));
  const auto latch = std::make_shared<std::latch>(1);
  south_door->HangOn(latch);
  ASSERT_OK(combined->Refresh(Deadline::In(clock, std::chrono::milliseconds(100))));
  const TimePoint start = clock.Now();
  for (int i = 0; i < 5; ++i) ASSERT_OK(combined->Refresh(Deadline::In(clock, seconds(20))));
  EXPECT_LT(clock.Now() - start, seconds(3));  // five times 50 ms
  EXPECT_EQ(combined->Increase("batch", 1, Soon()).code(), Code::kUnavailable);
  EXPECT_THAT(lines, HasSubstr("hangs"));
  south_door->HangOn(nullptr);
  latch->count_down();
  ASSERT_OK(combined->Refresh(Deadline::In(clock, seconds(20))));
  ASSERT_OK(combined->Refresh(Deadline::In(clock, seconds(20))));
  EXPECT_OK(combined->Increase("batch", 1, Soon()));
}

TEST_F(CombinedNodeGroupsTest, TwoGroupsOfOneIdAreRefusedAtTheStart) {
  south.Add({.info = {.id = "web", .max_size = 3}});
  const Status status = combined->Refresh(Soon());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("group 'web' is at provider 'north' and at provider"));
  EXPECT_THAT(status.message(), HasSubstr("group_prefix"));
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(CombinedNodeGroupsTest, ADuplicateThatComesLaterIsLeftOut) {
  ASSERT_OK(combined->Refresh(Soon()));
  north.Add({.info = {.id = "batch", .max_size = 3},
             .target = 7,
             .instances = {{.id = "north://7", .state = InstanceState::kRunning}}});
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
  EXPECT_EQ(MUST(combined->TargetSize("batch")),
            2);  // who had it keeps it, also against an earlier
  EXPECT_EQ(MUST(combined->GroupOf({"north://7", "n"})), std::nullopt);
  EXPECT_THAT(lines, HasSubstr("its id is taken"));
}

TEST_F(CombinedNodeGroupsTest, AGroupThatItsProviderCannotAnswerForIsLeftOut) {
  north.Add({.info = {.id = "odd", .max_size = 3}});
  north.Fail("Instances", Internal("boom"));
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("batch"));
}

TEST_F(CombinedNodeGroupsTest, GpusAndPricesComeFromWhoHasThem) {
  south.SetGpu("south/gpu", {"l4"});
  north.SetGpu("", {"a100", "l4"});
  south.SetPrices(2.0, 1.0);
  ASSERT_OK(combined->Refresh(Soon()));
  EXPECT_EQ(combined->GpuLabel(), "south/gpu");
  EXPECT_THAT(combined->GpuTypes(), ElementsAre("a100", "l4"));
  const TimePoint now = clock.Now();
  const TimePoint then = now + std::chrono::hours(1);
  EXPECT_EQ(MUST(combined->NodePrice({"south://1", "n"}, {}, now, then)), 2.0);
  EXPECT_EQ(MUST(combined->NodePrice({"", "template-node-for-batch-12"}, {}, now, then)), 2.0);
  EXPECT_EQ(combined->NodePrice({"", "template-node-for-web-12"}, {}, now, then).code(),
            Code::kUnimplemented);
  EXPECT_EQ(MUST(combined->NodePrice({"", "whoever"}, {}, now, then)), 2.0);
  EXPECT_EQ(MUST(combined->PodPrice({}, now, then)), 1.0);
}

TEST_F(CombinedNodeGroupsTest, PricesAreLearnedWhereTheyAreAskedForLater) {
  ASSERT_OK(combined->Refresh(Soon()));
  const model::Pod pod;
  PriceQuestions questions{.pods = {&pod}};
  for (const char* name : {"template-node-for-web-1", "template-node-for-batch", "somebody's"}) {
    questions.nodes.push_back({{"", name}, {}});
  }
  const Deadline by = Soon();
  combined->LearnPrices(questions, by);
  EXPECT_THAT(north_door->learned, ElementsAre("template-node-for-web-1", "somebody's"));
  EXPECT_THAT(south_door->learned, ElementsAre("template-node-for-batch", "somebody's"));
  EXPECT_EQ(north_door->pods_learned, 1u);
  EXPECT_EQ(south_door->pods_learned, 1u);
  EXPECT_LT(north_door->learn_until.at, by.at) << "the second has its share of the time";
}

TEST_F(CombinedNodeGroupsTest, EveryProviderIsToldOfTheNodes) {
  std::vector<std::string> told;
  for (FakeNodeGroups* fake : {&north, &south}) {
    fake->on_tell_nodes = [&](const EachNode& nodes) {
      nodes([&](const NodeRef& node) { told.push_back(node.name); });
    };
  }
  combined->TellNodes([](const std::function<void(const NodeRef&)>& tell) { tell({"", "a"}); });
  EXPECT_THAT(told, ElementsAre("a", "a"));
}

// One of them may know it: as long as that one has not said, it is not nobody's.
TEST_F(CombinedNodeGroupsTest, ANodeIsNobodysOnlyWhenEveryProviderHasSaidSo) {
  ASSERT_OK(combined->Refresh(Soon()));
  south.SetUnknown("stranger", true);
  EXPECT_EQ(combined->GroupOf({"", "stranger"}).code(), Code::kUnavailable);
  south.SetUnknown("stranger", false);
  EXPECT_EQ(MUST(combined->GroupOf({"", "stranger"})), std::nullopt);
}

TEST_F(CombinedNodeGroupsTest, CleanupReachesEveryone) {
  north.Fail("Cleanup", Unavailable("gone"));
  const Status status = combined->Cleanup();
  EXPECT_THAT(status.message(), HasSubstr("provider 'north': gone"));
  EXPECT_EQ(south.calls().back().method, "Cleanup");
}

TEST(CombinedNodeGroupsCreateTest, NamesAreUnique) {
  FakeClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  std::vector<CombinedNodeGroups::Member> members;
  EXPECT_EQ(CombinedNodeGroups::Create({}, {clock, log, metrics}).code(), Code::kInvalidArgument);
  for (int i = 0; i < 2; ++i) {
    members.push_back({.name = "same", .groups = std::make_unique<FakeNodeGroups>()});
  }
  EXPECT_THAT(
      CombinedNodeGroups::Create(std::move(members), {clock, log, metrics}).status().message(),
      HasSubstr("'same'"));
}

// For ThreadSanitizer: sixteen threads, one provider that fails now and then.
TEST_F(CombinedNodeGroupsTest, SixteenThreadsMixRefreshesReadsAndChanges) {
  ASSERT_OK(combined->Refresh(Soon()));
  std::vector<std::thread> threads;
  std::atomic<int> grown{0};
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        if (t == 0) south.Fail("Refresh", i % 2 ? Unavailable("now and then") : Status::Ok());
        if (t < 4) (void)combined->Refresh(Deadline::In(clock, seconds(5)));
        if (t >= 12 && combined->Increase("web", 1, Soon()).ok()) ++grown;
        EXPECT_EQ(Ids().size(), 2u);
        EXPECT_TRUE(combined->TargetSize("batch").ok());
        EXPECT_TRUE(combined->Instances("web").ok());
        EXPECT_EQ(MUST(combined->GroupOf({"south://2", "n"})), "batch");
        (void)combined->Version();
        (void)combined->Health();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(grown, 8);  // to the maximum of nine, and not beyond
  EXPECT_EQ(MUST(combined->TargetSize("web")), 9);
}

}  // namespace
}  // namespace coppice::cloud
