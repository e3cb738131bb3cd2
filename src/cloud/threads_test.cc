// Sixteen threads on one provider, real clock, real pool. What it must show is in the tools: run
// under ThreadSanitizer it is silent. What it checks itself holds at any moment and at the end.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
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

// Four groups on a cloud that refuses, loses and dawdles until it is told to be well.
class CrowdTest : public testing::Test {
 protected:
  CrowdTest() {
    cloud_.on_create = [this](const MachineSpec&) {
      if (well_) return FakeAnswer{};
      const uint32_t call = calls_++;
      if (call % 7 == 0) return FakeAnswer{.status = ResourceExhausted("quota"), .happens = false};
      if (call % 11 == 0) return FakeAnswer{.status = Unavailable("lost"), .happens = true};
      return FakeAnswer{.latency = std::chrono::microseconds(call % 5 * 100)};
    };
    cloud_.on_delete = [this](const ProviderId&) {
      return calls_++ % 9 == 0 && !well_ ? FakeAnswer{.status = Internal("boom"), .happens = false}
                                         : FakeAnswer{};
    };
    for (const char* name : {"a", "b", "c", "d"})
      configs_.push_back({.name = name, .max_size = 40, .flavor = "small", .zone = "zone1"});
    CloudNodeGroupsOptions options{.cluster = "c"};
    options.list_lag = milliseconds(20);
    options.audit = [](const AuditEntry&) {};
    groups_ = MUST(
        CloudNodeGroups::Create({cloud_, *pool_, clock_, rng_, log_, metrics_}, options, configs_));
  }

  void Delete(SeededRng& own, const std::string& group, Deadline soon) {
    std::vector<NodeRef> nodes;
    for (const Instance& instance : MUST(groups_->Instances(group))) {
      if (instance.state != InstanceState::kDeleting && own.Chance(0.2))
        nodes.push_back({instance.id, instance.id});
    }
    (void)groups_->Delete(group, nodes, soon);
  }
  void Mutate(SeededRng& own, const std::string& group) {
    const auto soon = Deadline::In(clock_, milliseconds(1 + own.Below(20)));
    const uint64_t what = own.Below(5);
    if (what < 2) {
      (void)groups_->Increase(group, 1 + static_cast<int>(own.Below(6)), soon);
    } else if (what < 4) {
      Delete(own, group, soon);
    } else {
      (void)groups_->DecreaseTarget(group, -1, soon);
    }
  }
  void Read(SeededRng& own, const std::string& group) {
    const auto picture = groups_->picture();
    const GroupView* view = picture->Find(group);
    EXPECT_LE(view->target_size, 40);
    for (const Instance& instance : view->instances)
      EXPECT_EQ(picture->FindByMachine(instance.id), view);
    (void)MUST(groups_->TargetSize(group));
    (void)MUST(groups_->GroupOf({stranger_, "x"}));
    (void)groups_->Version();
    if (own.Chance(0.02)) (void)metrics_.Render();
  }
  // What thread `number` of sixteen does once.
  void Step(uint64_t number, SeededRng& own) {
    const std::string& group = configs_[own.Below(configs_.size())].name;
    if (number < 6) {
      Mutate(own, group);
    } else if (number < 8) {
      (void)groups_->Refresh(Deadline::In(clock_, seconds(1)));
    } else if (number == 8) {
      (void)groups_->Reconfigure(configs_);
      clock_.SleepFor(milliseconds(1));
    } else {
      Read(own, group);
    }
  }

  SystemClock clock_;
  FakeCloud cloud_{clock_};
  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> well_{false};
  SeededRng rng_{3};
  const Log log_ = Log::Null();
  Metrics metrics_;
  std::vector<GroupConfig> configs_;
  std::unique_ptr<CloudNodeGroups> groups_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>(8, 1'000);  // ends before the groups
  std::string stranger_;
};

TEST_F(CrowdTest, SixteenThreadsMixReadsRefreshesAndMutations) {
  ASSERT_OK(groups_->Refresh(Deadline::Never()));
  stranger_ = cloud_.Plant("a-stranger", {{kGroupTag, "a"}, {kClusterTag, "theirs"}});

  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 16; ++number) {
    threads.emplace_back([this, &stop, number] {
      SeededRng own(number);
      while (!stop) Step(number, own);
    });
  }
  clock_.SleepFor(milliseconds(1'500));
  stop = true;
  for (std::thread& thread : threads) thread.join();

  well_ = true;
  for (int round = 0; round < 6; ++round) {
    clock_.SleepFor(milliseconds(25));
    ASSERT_OK(groups_->Refresh(Deadline::Never()));
  }
  ASSERT_OK(groups_->Drain(Deadline::In(clock_, seconds(10))));
  ASSERT_OK(groups_->Refresh(Deadline::Never()));
  size_t current = 0;
  for (const auto& view : groups_->picture()->groups)
    current += static_cast<size_t>(view->current_size);
  EXPECT_EQ(current + 1, cloud_.alive().size());  // and the stranger
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
