// The batch scheduler on a real control plane when something goes wrong: an extender that dies in
// the middle of a session, an API server that is restarted while pods are bound, a leader that is
// killed. No pod is bound twice, and none is lost.

#include <gmock/gmock.h>
#include <signal.h>

#include <iostream>

#include "test/e2e/batch_rig.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

constexpr char kSchedules[] = "enqueue, allocate, backfill";

// examples/extender-python with rules of the test: nodes of pool `b` are refused, `a-1` is the best,
// and an answer takes its time where the environment says so.
constexpr char kRules[] = R"(
import os, sys, time
sys.path.insert(0, os.environ["EXTENDER"])
import server

def predicate(body):
    time.sleep(float(os.environ.get("SLOWLY", "0")))
    if body["node"]["Node"]["metadata"]["labels"].get("pool") == "b":
        return {"status": "pool b is not for us", "code": 3}
    return {"status": "", "code": 0}

def prioritize(body):
    return {"nodeScore": {n["Name"]: 1000 if n["Name"] == "a-1" else 0 for n in body["nodes"]},
            "errorMessage": ""}

server.RULES["predicate"] = predicate
server.RULES["prioritize"] = prioritize
server.main()
)";

class ClusterExtenderTest : public BatchTest {
 protected:
  void StartExtender(const std::string& slowly = "0") {
    extender_ = std::make_unique<Child>(
        std::vector<std::string>{"/usr/bin/python3", "-u", dir_.Write("rules.py", kRules),
                                 "--listen=127.0.0.1:" + port_, "-v"},
        std::map<std::string, std::string>{{"EXTENDER", COPPICE_SOURCE "/examples/extender-python"},
                                           {"PYTHONDONTWRITEBYTECODE", "1"},
                                           {"SLOWLY", slowly}});
    const auto line = extender_->WaitForLine("listening on ");
    ASSERT_TRUE(line.has_value()) << extender_->output();
    port_ = line->substr(line->rfind(':') + 1);
  }
  void KillExtender() {
    extender_->Signal(SIGKILL);
    extender_->Wait();
  }
  std::string Conf(bool ignorable) const {
    return BatchConf(kSchedules,
                     "  - name: extender\n    arguments:\n"
                     "      extender.urlPrefix: http://127.0.0.1:" +
                         port_ +
                         "\n      extender.httpTimeout: 20s\n"
                         "      extender.predicateVerb: predicate\n"
                         "      extender.prioritizeVerb: prioritize\n"
                         "      extender.breakerPause: 2s\n"
                         "      extender.ignorable: " +
                         (ignorable ? "true\n" : "false\n"));
  }
  std::map<std::string, int> PerNode(const std::string& gang) {
    std::map<std::string, int> pods;
    for (const Json& pod : Pods(gang)) ++pods[pod["spec"].value("nodeName", "")];
    return pods;
  }
  // What the condition PodScheduled of a gang's pods says.
  std::string Refusal(const std::string& gang) {
    for (const Json& pod : Pods(gang)) {
      for (const Json& condition : pod["status"].value("conditions", Json::array())) {
        if (condition.value("type", "") == "PodScheduled") return condition.value("message", "");
      }
    }
    return "";
  }

  std::unique_ptr<Child> extender_;
  std::string port_ = "0";
};

TEST_F(ClusterExtenderTest, AnExtenderInPythonVetoesAndScores) {
  AddNodes("a", 2, 4);
  AddNodes("b", 2, 4);
  StartExtender();
  Schedule("s", Conf(false));
  rig_->Apply(Gang({.name = "one", .size = 4}));
  ASSERT_TRUE(Until([&] { return Running("one") == 4; }, seconds(30)));
  EXPECT_EQ(PerNode("one"), (std::map<std::string, int>{{"a-1", 4}})) << "its scores do not count";
  rig_->Apply(Gang({.name = "two", .size = 4}));
  ASSERT_TRUE(Until([&] { return Running("two") == 4; }, seconds(30)));
  EXPECT_EQ(PerNode("two"), (std::map<std::string, int>{{"a-0", 4}}));
  rig_->Apply(Gang({.name = "three", .size = 1}));
  EXPECT_TRUE(Until([&] { return !Refusal("three").empty(); }, seconds(30)));
  EXPECT_THAT(Refusal("three"), HasSubstr("pool b is not for us"));
  EXPECT_EQ(Running("three"), 0);
}

TEST_F(ClusterExtenderTest, OneThatDiesInMidSessionHoldsTheGangBackUntilItIsThereAgain) {
  AddNodes("a", 2, 4);
  StartExtender("3");
  Schedule("s", Conf(false));
  Bindings bindings(*rig_);
  rig_->Apply(Gang({.name = "gang", .size = 4}));
  // Somebody is waiting for its answer now.
  clock_.SleepFor(seconds(2));
  KillExtender();
  EXPECT_TRUE(Until([&] { return !Refusal("gang").empty(); }, seconds(30)));
  EXPECT_THAT(Refusal("gang"), HasSubstr("/predicate"));
  EXPECT_EQ(bindings.Look("gang"), 0) << "placed without asking who has to be asked";
  StartExtender();
  EXPECT_TRUE(Until([&] { return Running("gang") == 4; }, seconds(60))) << Refusal("gang");
  bindings.Look("gang");
}

TEST_F(ClusterExtenderTest, OneThatMayBeIgnoredAndDiesInMidSessionHoldsNobodyBack) {
  AddNodes("a", 2, 4);
  StartExtender("3");
  Schedule("s", Conf(true));
  rig_->Apply(Gang({.name = "gang", .size = 4}));
  clock_.SleepFor(seconds(2));
  KillExtender();
  EXPECT_TRUE(Until([&] { return Running("gang") == 4; }, seconds(30))) << Refusal("gang");
}

class ClusterBatchFaultsTest : public BatchTest {
 protected:
  // Slow enough to be met in the middle: so many calls a second.
  const std::vector<std::string> slowly_ = {
      "--kube-api-qps=25", "--kube-api-burst=5", "--leader-elect-lease-duration=5s",
      "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"};
  static constexpr int kGangs = 4;
  static constexpr int kSize = 40;

  static std::string Name(int i) { return "gang" + std::to_string(i); }
  void ApplyGangs() {
    std::string all;
    for (int i = 0; i < kGangs; ++i) all += Gang({.name = Name(i), .size = kSize});
    rig_->Apply(all);
  }
  int Bound(Bindings& bindings) {
    int bound = 0;
    for (int i = 0; i < kGangs; ++i) bound += bindings.Look(Name(i));
    return bound;
  }
  int RunningOfAll() {
    int running = 0;
    for (int i = 0; i < kGangs; ++i) running += Running(Name(i));
    return running;
  }
  // As a Deployment's pod would: a process that ended, because it leads no more, is started again.
  void KeepRunning(const std::string& conf) {
    if (replicas_.back()->output().find("leads no more") != std::string::npos)
      Schedule("again-" + std::to_string(replicas_.size()), conf, slowly_, false);
  }
};

TEST_F(ClusterBatchFaultsTest, TheApiServersRestartWhileBindingBindsNobodyTwiceAndLosesNobody) {
  AddNodes("n", 10, 16);  // all of it is needed: one pod that is counted twice, and one waits
  ApplyGangs();
  const std::string conf = BatchConf(kSchedules);
  Schedule("a", conf, slowly_);
  Bindings bindings(*rig_);
  ASSERT_TRUE(Until([&] { return Bound(bindings) >= 10; }, seconds(30)));
  rig_->Kill("kube-apiserver");
  clock_.SleepFor(seconds(2));
  rig_->Restart("kube-apiserver");
  ASSERT_TRUE(Until([&] { return rig_->Ready(); }, seconds(60)));
  const int before = Bound(bindings);
  EXPECT_LT(before, kGangs * kSize) << "it was not in the middle";
  EXPECT_TRUE(Until(
      [&] {
        KeepRunning(conf);
        return Bound(bindings) == kGangs * kSize && RunningOfAll() == kGangs * kSize;
      },
      seconds(120)));
  std::cerr << before << " of " << kGangs * kSize << " pods were bound when it came back\n";
  EXPECT_EQ(bindings.seen(), static_cast<size_t>(kGangs * kSize)) << "a pod was made anew";
  bindings.ExpectRoom(Nodes());
}

TEST_F(ClusterBatchFaultsTest, TheSecondReplicaTakesOverInTheMiddle) {
  AddNodes("n", 10, 16);
  ApplyGangs();
  const std::string conf = BatchConf(kSchedules);
  Child& leader = Schedule("a", conf, slowly_);
  ASSERT_TRUE(leader.WaitForLine("leading").has_value());
  Child& second = Schedule("b", conf, slowly_, false);
  ASSERT_TRUE(second.WaitForLine("waiting for the lease").has_value());
  Bindings bindings(*rig_);
  ASSERT_TRUE(Until([&] { return Bound(bindings) >= 10; }, seconds(30)));
  leader.Signal(SIGKILL);
  leader.Wait();
  const TimePoint killed = clock_.Now();
  const int before = Bound(bindings);
  EXPECT_LT(before, kGangs * kSize) << "it was not in the middle";
  ASSERT_TRUE(second.WaitForLine("leading").has_value());
  std::cerr << "the second leads " << Since(killed) << " s after the end of the first, with "
            << before << " pods bound\n";
  EXPECT_TRUE(
      Until([&] { return Bound(bindings) == kGangs * kSize && RunningOfAll() == kGangs * kSize; },
            seconds(120)));
  EXPECT_EQ(bindings.seen(), static_cast<size_t>(kGangs * kSize));
  bindings.ExpectRoom(Nodes());
}

}  // namespace
}  // namespace coppice::test
