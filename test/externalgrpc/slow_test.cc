// A slow provider: how long Refresh takes, that it keeps to its deadline, and that it gets there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "plugins/node_groups/externalgrpc/client.h"
#include "test/externalgrpc/scripted.h"
#include "test/support/must.h"

namespace coppice::node_groups::externalgrpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr int kGroups = 80;
const char* const kMethods_[] = {"Refresh",
                                 "NodeGroups",
                                 "NodeGroupTargetSize",
                                 "NodeGroupNodes",
                                 "NodeGroupGetOptions",
                                 "NodeGroupTemplateNodeInfo",
                                 "NodeGroupForNode",
                                 "GPULabel",
                                 "GetAvailableGPUTypes"};

class SlowProviderTest : public testing::Test {
 protected:
  SlowProviderTest() {
    for (int i = 0; i < kGroups; ++i) {
      const std::string id = "group-" + std::to_string(i);
      provider.groups.Add(
          {.info = {.id = id, .max_size = 9},
           .target = 1,
           .instances = {{.id = "test://" + id, .state = cloud::InstanceState::kRunning}}});
    }
  }
  void Open(int concurrent, Duration grpc_timeout = seconds(5)) {
    CloudConfig config;
    config.grpc_timeout = grpc_timeout;
    config.mutation_timeout = config.refresh_timeout = seconds(30);
    config.max_concurrent_calls = concurrent;
    client = std::make_unique<Client>(Client::Parts{.config = config,
                                                    .transport = provider.transport(),
                                                    .clock = clock,
                                                    .log = log,
                                                    .metrics = metrics});
  }
  // Every call takes that long, or until its deadline: as over a network.
  void Take(Duration time) {
    for (const char* method : kMethods_) {
      provider.On(
          method,
          [this, time](std::string_view, Deadline deadline) -> std::optional<Result<std::string>> {
            const int now = ++running;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            const bool late = deadline.at < clock.Now() + time;
            clock.SleepUntil(std::min(deadline.at, clock.Now() + time));
            --running;
            if (late) return Result<std::string>(DeadlineExceeded("Deadline Exceeded"));
            return std::nullopt;
          });
    }
  }
  Status Refresh(Duration within) { return client->Refresh(Deadline::In(clock, within)); }

  SystemClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  test::ScriptedProvider provider;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::unique_ptr<Client> client;
};

// A hundredth of the case that matters: three seconds a call, eighty groups, half a minute.
TEST_F(SlowProviderTest, EightyGroupsAreReadInParallelAndBounded) {
  Open(32);
  Take(milliseconds(30));
  const TimePoint start = clock.Now();
  ASSERT_OK(Refresh(seconds(10)));
  const Duration took = clock.Now() - start;
  EXPECT_EQ(client->Groups().size(), 80u);
  EXPECT_LE(most, 32);
  EXPECT_GT(most, 16);
  EXPECT_LT(took, seconds(3));  // one by one it would be at least ten
}

TEST_F(SlowProviderTest, WhatDidNotFitIsFirstNextTimeUntilAllIsKnown) {
  Open(4);
  Take(milliseconds(10));
  int refreshes = 0;
  for (Status status = Unavailable(""); !status.ok() && refreshes < 200; ++refreshes) {
    status = Refresh(milliseconds(150));
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
      EXPECT_THAT(status.message(), HasSubstr("too slow"));
    }
  }
  EXPECT_EQ(client->Groups().size(), 80u);
  EXPECT_GT(refreshes, 1);
  EXPECT_LT(refreshes, 200);
}

TEST_F(SlowProviderTest, OneThatHangsIsLeftAtTheDeadline) {
  Open(32);
  ASSERT_OK(Refresh(seconds(10)));
  Take(seconds(1'000));
  const TimePoint start = clock.Now();
  EXPECT_EQ(Refresh(milliseconds(300)).code(), Code::kDeadlineExceeded);
  EXPECT_LT(clock.Now() - start, seconds(2));
  EXPECT_EQ(client->Groups().size(), 80u);
  EXPECT_EQ(MUST(client->TargetSize("group-7")), 1);
}

TEST_F(SlowProviderTest, OneGroupThatHangsCostsOneCallAndNoOther) {
  Open(8, milliseconds(500));
  ASSERT_OK(Refresh(seconds(10)));
  for (const char* method : {"NodeGroupTargetSize", "NodeGroupNodes"}) {
    provider.On(
        method,
        [this](std::string_view request, Deadline deadline) -> std::optional<Result<std::string>> {
          if (request.find("group-33") == std::string_view::npos) return std::nullopt;
          clock.SleepUntil(deadline.at);
          return Result<std::string>(DeadlineExceeded("Deadline Exceeded"));
        });
  }
  const TimePoint start = clock.Now();
  ASSERT_OK(Refresh(seconds(10)));
  EXPECT_LT(clock.Now() - start, seconds(2));
  EXPECT_EQ(client->picture()->stale_groups(), 1u);
}

// Five seconds a call in small: a read is answered at once, the refresh asks in parallel and in
// time, templates are not starved by nodes that are not the provider's, and all is known in the
// end.
TEST_F(SlowProviderTest, ManyForeignNodesAreAskedAboutInParallelWithoutStarvingAnything) {
  Open(8);
  std::vector<cloud::NodeRef> nodes;
  for (int i = 0; i < 100; ++i) nodes.push_back({"", "foreign-" + std::to_string(i)});
  provider.On("NodeGroupForNode",
              [this](std::string_view, Deadline deadline) -> std::optional<Result<std::string>> {
                clock.SleepUntil(std::min(deadline.at, clock.Now() + milliseconds(100)));
                return std::nullopt;
              });
  client->TellNodes([&](const std::function<void(const cloud::NodeRef&)>& tell) {
    for (const cloud::NodeRef& node : nodes) tell(node);
  });
  const auto unknown = [&] {
    return std::ranges::count_if(nodes, [&](const auto& n) { return !client->GroupOf(n).ok(); });
  };
  int refreshes = 0;
  for (; unknown() > 0 && refreshes < 50; ++refreshes) {
    const TimePoint start = clock.Now();
    ASSERT_OK(Refresh(seconds(1)));
    EXPECT_LT(clock.Now() - start, milliseconds(2'500));
    EXPECT_EQ(client->Groups().size(), 80u);
    EXPECT_EQ(client->Options("group-79", {}).code(), Code::kOk);
  }
  EXPECT_GT(refreshes, 1);
  EXPECT_LT(refreshes, 50);
  // Those that are known are asked about again without a wait for all of them.
  const int asked = provider.asked("NodeGroupForNode");
  ASSERT_OK(Refresh(seconds(1)));
  EXPECT_GT(provider.asked("NodeGroupForNode"), asked);
  EXPECT_EQ(unknown(), 0);
}

TEST_F(SlowProviderTest, RefreshesThatMeetAreOne) {
  Open(32);
  Take(milliseconds(20));
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([this] { EXPECT_OK(Refresh(seconds(10))); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(provider.asked("Refresh"), 4);
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
