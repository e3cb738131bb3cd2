// Sixteen threads on one provider, real clock, real pool. What it must show is in the tools: run
// under ThreadSanitizer it is silent. What it checks itself holds at any moment and at the end.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/pool.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "test/support/must.h"

namespace coppice::cloud {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ThreadsTest, SixteenThreadsMixReadsRefreshesAndMutations) {
  SystemClock clock;
  FakeCloud cloud(clock);
  std::atomic<uint32_t> calls{0};
  std::atomic<bool> well{false};  // no more faults
  cloud.on_create = [&](const MachineSpec&) {
    if (well) return FakeAnswer{};
    const uint32_t call = calls++;
    if (call % 7 == 0) return FakeAnswer{.status = ResourceExhausted("quota"), .happens = false};
    if (call % 11 == 0) return FakeAnswer{.status = Unavailable("lost"), .happens = true};
    return FakeAnswer{.latency = std::chrono::microseconds(call % 5 * 100)};
  };
  cloud.on_delete = [&](const ProviderId&) {
    return calls++ % 9 == 0 && !well ? FakeAnswer{.status = Internal("boom"), .happens = false}
                                     : FakeAnswer{};
  };
  SeededRng rng(3);
  const Log log = Log::Null();
  Metrics metrics;
  auto pool = std::make_unique<Pool>(8, 1'000);
  std::vector<GroupConfig> configs;
  for (const char* name : {"a", "b", "c", "d"}) {
    configs.push_back({.name = name, .max_size = 40, .flavor = "small", .zone = "zone1"});
  }
  CloudNodeGroupsOptions options{.cluster = "c"};
  options.list_lag = milliseconds(20);
  options.audit = [](const AuditEntry&) {};
  auto groups =
      MUST(CloudNodeGroups::Create({cloud, *pool, clock, rng, log, metrics}, options, configs));
  ASSERT_OK(groups->Refresh(Deadline::Never()));
  const std::string stranger =
      cloud.Plant("a-stranger", {{kGroupTag, "a"}, {kClusterTag, "theirs"}});

  const auto mutate = [&](SeededRng& own, const std::string& group) {
    const auto soon = Deadline::In(clock, milliseconds(1 + own.Below(20)));
    switch (own.Below(5)) {
      case 0:
      case 1:
        (void)groups->Increase(group, 1 + static_cast<int>(own.Below(6)), soon);
        break;
      case 2:
      case 3: {
        std::vector<NodeRef> nodes;
        for (const Instance& instance : MUST(groups->Instances(group))) {
          if (instance.state != InstanceState::kDeleting && own.Chance(0.2)) {
            nodes.push_back({instance.id, instance.id});
          }
        }
        (void)groups->Delete(group, nodes, soon);
        break;
      }
      default:
        (void)groups->DecreaseTarget(group, -1, soon);
    }
  };
  const auto read = [&](SeededRng& own, const std::string& group) {
    const auto picture = groups->picture();
    const GroupView* view = picture->Find(group);
    EXPECT_LE(view->target_size, 40);
    for (const Instance& instance : view->instances) {
      EXPECT_EQ(picture->FindByMachine(instance.id), view);
    }
    (void)MUST(groups->TargetSize(group));
    (void)MUST(groups->GroupOf({stranger, "x"}));
    (void)groups->Version();
    if (own.Chance(0.02)) (void)metrics.Render();
  };

  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 16; ++number) {
    threads.emplace_back([&, number] {
      SeededRng own(number);
      while (!stop) {
        const std::string& group = configs[own.Below(configs.size())].name;
        if (number < 6) {
          mutate(own, group);
        } else if (number < 8) {
          (void)groups->Refresh(Deadline::In(clock, seconds(1)));
        } else if (number == 8) {
          (void)groups->Reconfigure(configs);
          clock.SleepFor(milliseconds(1));
        } else {
          read(own, group);
        }
      }
    });
  }
  clock.SleepFor(milliseconds(1'500));
  stop = true;
  for (std::thread& thread : threads) thread.join();

  well = true;
  for (int round = 0; round < 6; ++round) {
    clock.SleepFor(milliseconds(25));
    ASSERT_OK(groups->Refresh(Deadline::Never()));
  }
  ASSERT_OK(groups->Drain(Deadline::In(clock, seconds(10))));
  ASSERT_OK(groups->Refresh(Deadline::Never()));
  size_t current = 0;
  const auto last = groups->picture();
  for (const auto& view : last->groups) {
    current += static_cast<size_t>(view->current_size);
  }
  EXPECT_EQ(current + 1, cloud.alive().size());  // and the stranger
  pool.reset();
}

TEST(ThreadsTest, RefreshesThatMeetShareOneList) {
  SystemClock clock;
  FakeCloud cloud(clock);
  std::atomic<bool> go{false};
  std::atomic<int> waiting{0};
  cloud.on_list = [&] {
    while (!go) clock.SleepFor(milliseconds(1));
    return FakeAnswer{};
  };
  SeededRng rng(3);
  const Log log = Log::Null();
  Metrics metrics;
  Pool pool(2, 10);
  const auto groups =
      MUST(CloudNodeGroups::Create({cloud, pool, clock, rng, log, metrics}, {.cluster = "c"}, {}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ++waiting;
      EXPECT_OK(groups->Refresh(Deadline::Never()));
    });
  }
  while (waiting < 8) clock.SleepFor(milliseconds(1));
  clock.SleepFor(milliseconds(50));
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cloud.lists(), 1);
}

}  // namespace
}  // namespace coppice::cloud
