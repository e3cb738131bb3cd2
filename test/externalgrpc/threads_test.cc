// Sixteen threads on one client: what it must show is in the tools (ThreadSanitizer is silent), and
// what it checks itself holds at any moment.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "cloud/combined_node_groups.h"
#include "plugins/node_groups/externalgrpc/client.h"
#include "test/externalgrpc/scripted.h"
#include "test/support/must.h"

namespace coppice::node_groups::externalgrpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kThreadedGroups = 6;

std::string GroupName(const std::string& prefix, uint64_t i) {
  return prefix + std::to_string(i % kThreadedGroups);
}

// A provider whose every tenth call fails or is lost.
void FillGroups(test::ScriptedProvider& provider, const std::string& prefix,
                std::atomic<uint32_t>& calls) {
  for (uint64_t i = 0; i < kThreadedGroups; ++i) {
    const std::string id = GroupName(prefix, i);
    cloud::FakeNodeGroups::Group group{.info = {.id = id, .max_size = 40}, .target = 3};
    for (int m = 0; m < 3; ++m) {
      group.instances.push_back({.id = prefix + "://" + id + "/" + std::to_string(m),
                                 .state = cloud::InstanceState::kRunning});
    }
    group.node_template = std::make_shared<const model::Node>();
    provider.groups.Add(std::move(group));
  }
  for (const char* method : {"Refresh", "NodeGroups", "NodeGroupTargetSize", "NodeGroupNodes",
                             "NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "NodeGroupForNode"}) {
    provider.On(method, [&calls](std::string_view, Deadline) -> std::optional<Result<std::string>> {
      const uint32_t call = ++calls;
      if (call % 10 == 0) return Result<std::string>(Unavailable("now and then"));
      if (call % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      return std::nullopt;
    });
  }
}

void Use(cloud::NodeGroups& groups, const std::string& prefix, Clock& clock, int thread) {
  SeededRng rng(static_cast<uint64_t>(thread) + 1);
  uint64_t version = 0;
  for (int i = 0; i < 80; ++i) {
    const std::string group = GroupName(prefix, rng.Below(kThreadedGroups));
    const Deadline soon = Deadline::In(clock, milliseconds(500));
    switch (rng.Below(8)) {
      case 0:
        (void)groups.Refresh(Deadline::In(clock, seconds(5)));
        break;
      case 1:
        (void)groups.Increase(group, 1, soon);
        break;
      case 2: {
        const auto list = MUST(groups.Instances(group));
        if (!list.empty()) {
          (void)groups.Delete(group, {{list[rng.Below(list.size())].id, "n"}}, soon);
        }
        break;
      }
      case 3:
        (void)groups.DecreaseTarget(group, -1, soon);
        break;
      case 4:
        (void)groups.GroupOf({"", "stranger-" + std::to_string(rng.Below(20))});
        break;
      case 5: {
        cloud::ScalingOptions defaults;
        defaults.scale_down_unneeded_time = seconds(rng.Below(2));
        (void)groups.Options(group, defaults);
        break;
      }
      case 6: {
        const model::Pod pod;
        const cloud::PriceQuestions questions{
            .nodes = {{{"", "n"}, {{"type", std::to_string(rng.Below(3))}}}},
            .pods = {&pod},
            .start = clock.Now(),
            .end = clock.Now() + seconds(60)};
        groups.LearnPrices(questions, soon);
        (void)groups.PodPrice(pod, questions.start, questions.end);
        break;
      }
      default:
        break;
    }
    EXPECT_EQ(groups.Groups().size(), static_cast<size_t>(kThreadedGroups));  // never empty
    const int target = MUST(groups.TargetSize(group));
    EXPECT_GE(target, 0);
    EXPECT_LE(target, 40);
    EXPECT_OK(groups.Template(group));
    const uint64_t now = groups.Version();
    EXPECT_GE(now, version);
    version = now;
  }
}

std::unique_ptr<Client> Open(test::ScriptedProvider& provider, Clock& clock, const Log& log,
                             Metrics& metrics) {
  CloudConfig config;
  config.mutation_timeout = config.refresh_timeout = seconds(5);
  config.max_concurrent_calls = 8;
  return std::make_unique<Client>(Client::Parts{.config = config,
                                                .transport = provider.transport(),
                                                .clock = clock,
                                                .log = log,
                                                .metrics = metrics});
}

void RefreshUntilGood(cloud::NodeGroups& groups, Clock& clock) {
  for (int i = 0; i < 20; ++i) {
    if (groups.Refresh(Deadline::In(clock, seconds(5))).ok() &&
        groups.Groups().size() == static_cast<size_t>(kThreadedGroups)) {
      return;
    }
  }
  FAIL() << "twenty refreshes failed";
}

TEST(ClientThreadsTest, SixteenThreadsMixRefreshesReadsAndChanges) {
  SystemClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  std::atomic<uint32_t> calls{0};
  test::ScriptedProvider provider;
  FillGroups(provider, "g", calls);
  const auto client = Open(provider, clock, log, metrics);
  RefreshUntilGood(*client, clock);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) threads.emplace_back([&, t] { Use(*client, "g", clock, t); });
  for (std::thread& thread : threads) thread.join();
  // When it is quiet, what is read is what is there.
  for (const char* method : {"Refresh", "NodeGroups", "NodeGroupTargetSize", "NodeGroupNodes"}) {
    provider.Behave(method);
  }
  ASSERT_OK(client->Refresh(Deadline::In(clock, seconds(5))));
  for (uint64_t i = 0; i < kThreadedGroups; ++i) {
    const std::string group = GroupName("g", i);
    EXPECT_EQ(MUST(client->TargetSize(group)), MUST(provider.groups.TargetSize(group)));
    EXPECT_EQ(MUST(client->Instances(group)), MUST(provider.groups.Instances(group)));
  }
}

TEST(ClientThreadsTest, TwoClientsBehindOneLoopAreUsedByManyThreads) {
  SystemClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  std::atomic<uint32_t> calls{0};
  test::ScriptedProvider north;
  test::ScriptedProvider south;  // without groups: all threads meet at one provider
  FillGroups(north, "n", calls);
  std::vector<cloud::CombinedNodeGroups::Member> members;
  members.push_back({.name = "north", .groups = Open(north, clock, log, metrics)});
  members.push_back({.name = "south", .groups = Open(south, clock, log, metrics)});
  const auto combined =
      MUST(cloud::CombinedNodeGroups::Create(std::move(members), {clock, log, metrics}));
  RefreshUntilGood(*combined, clock);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) threads.emplace_back([&, t] { Use(*combined, "n", clock, t); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
