// What the tests of CloudNodeGroups stand on.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "test/support/must.h"
#include "test/support/step_workers.h"

namespace coppice::cloud {

inline std::vector<GroupConfig> TwoGroups() {
  return {{.name = "web",
           .max_size = 5,
           .flavor = "small",
           .image = "debian",
           .zone = "zone1",
           .volume_size_gb = 50},
          {.name = "batch",
           .min_size = 1,
           .max_size = 20,
           .flavor = "large",
           .image = "debian",
           .zone = "zone1"}};
}

// A provider on a fake cloud. Calls to the cloud are answered at once unless `slow`; then they wait
// for workers.Step(), and the fake clock jumps to the client's deadline meanwhile.
class CloudNodeGroupsTest : public testing::Test {
 protected:
  CloudNodeGroupsTest() {
    workers.now = [this] { return !slow; };
    Restart();
  }

  void Restart() {
    workers.Forget();
    options.cluster = "prod";
    options.audit = [this](const AuditEntry& entry) { audit.push_back(entry); };
    groups = MUST(
        CloudNodeGroups::Create({cloud, workers, clock, rng, log, metrics}, options, TwoGroups()));
    EXPECT_OK(groups->Refresh(Soon()));
  }
  Deadline Soon() { return Deadline::In(clock, std::chrono::seconds(5)); }
  int Target(const std::string& group = "web") { return MUST(groups->TargetSize(group)); }
  std::vector<Instance> List(const std::string& group = "web") {
    return MUST(groups->Instances(group));
  }
  std::vector<NodeRef> Registered(const std::string& group = "web") {
    std::vector<NodeRef> nodes;
    for (const Instance& instance : List(group))
      nodes.push_back({instance.id, "node-of-" + instance.id});
    return nodes;
  }
  // Creates answer as the queue says, then normally.
  void AnswerCreates(std::deque<FakeAnswer> answers) {
    cloud.on_create = [answers = std::move(answers)](const MachineSpec&) mutable {
      if (answers.empty()) return FakeAnswer{};
      FakeAnswer answer = answers.front();
      answers.pop_front();
      return answer;
    };
  }
  void Pass(Duration time) {
    clock.Advance(time);
    ASSERT_OK(groups->Refresh(Soon()));
  }

  FakeClock clock;
  FakeCloud cloud{clock};
  test::StepWorkers workers;
  SeededRng rng{7};
  Log log = Log::Null();
  Metrics metrics;
  CloudNodeGroupsOptions options;
  std::vector<AuditEntry> audit;
  bool slow = false;
  std::unique_ptr<CloudNodeGroups> groups;
};

inline const FakeAnswer kQuota = {.status = ResourceExhausted("quota is used up"),
                                  .happens = false};
inline const FakeAnswer kLost = {.status = Unavailable("connection reset"), .happens = true};
inline const FakeAnswer kNeverArrived = {.status = Unavailable("connection reset"),
                                         .happens = false};

}  // namespace coppice::cloud
