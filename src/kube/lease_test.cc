#include "kube/lease.h"

#include <gmock/gmock.h>

#include "kube/test_rig.h"

namespace coppice::kube {
namespace {

constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";

LeaseOptions Options(const std::string& who) {
  return {.namespace_ = "ns",
          .name = "lease",
          .identity = who,
          .lease_duration = std::chrono::seconds(2),
          .renew_deadline = std::chrono::milliseconds(600),
          .retry_period = std::chrono::milliseconds(50)};
}

test::FakeApiServer::Json SpecOf(TestRig& rig) {
  return rig.server.Get(kLeases, "lease", "ns")["spec"];
}

Task<void> AcquireAndHold(LeaderLease& lease, bool& leads, bool& lost) {
  const Status got = co_await lease.Acquire();
  leads = got.ok();
  const Status held = co_await lease.Hold();
  lost = !held.ok();
}

TEST(LeaseTest, TheFirstLeadsAndTheSecondWaitsForTheRelease) {
  TestRig rig;
  LeaderLease a(Options("a"), *rig.client, rig.log);
  LeaderLease b(Options("b"), *rig.client, rig.log);
  bool a_leads = false, a_lost = false, b_leads = false, b_lost = false;
  rig.executor.Spawn(AcquireAndHold(a, a_leads, a_lost));
  ASSERT_TRUE(rig.Until([&] { return a_leads; }));
  EXPECT_EQ(SpecOf(rig)["holderIdentity"], "a");
  EXPECT_EQ(SpecOf(rig)["leaseTransitions"], 0);
  rig.executor.Spawn(AcquireAndHold(b, b_leads, b_lost));
  rig.executor.RunFor(std::chrono::milliseconds(500));
  EXPECT_FALSE(b_leads);
  EXPECT_FALSE(b.MayWrite().ok());
  EXPECT_TRUE(a.MayWrite().ok());
  rig.executor.BlockOn(a.Release());
  EXPECT_FALSE(a.MayWrite().ok());
  ASSERT_TRUE(rig.Until([&] { return b_leads; }));
  EXPECT_EQ(SpecOf(rig)["holderIdentity"], "b");
  EXPECT_EQ(SpecOf(rig)["leaseTransitions"], 1);
}

// The answer to a renewal that was under way must not make the lease ours again, nor cost the
// release its version.
TEST(LeaseTest, AReleaseInTheMiddleOfARenewalIsOne) {
  for (int i = 0; i < 20; ++i) {
    TestRig rig;
    LeaseOptions options = Options("a");
    options.retry_period = std::chrono::milliseconds(1);  // nearly always in the middle of one
    LeaderLease a(options, *rig.client, rig.log);
    bool leads = false, lost = false;
    rig.executor.Spawn(AcquireAndHold(a, leads, lost));
    ASSERT_TRUE(rig.Until([&] { return leads; }));
    rig.executor.RunFor(std::chrono::milliseconds(3));
    rig.executor.BlockOn(a.Release());
    EXPECT_EQ(SpecOf(rig)["holderIdentity"], "");
    EXPECT_FALSE(a.MayWrite().ok());
    ASSERT_TRUE(rig.Until([&] { return lost; }));
    EXPECT_FALSE(a.MayWrite().ok());
  }
}

TEST(LeaseTest, WhoCannotRenewLeadsNoMoreBeforeTheLeaseEnds) {
  TestRig rig;
  LeaderLease a(Options("a"), *rig.client, rig.log);
  bool leads = false, lost = false;
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; }));
  const Deadline late = Deadline::In(rig.clock, std::chrono::minutes(1));
  EXPECT_LE(a.Within(late).at, rig.clock.Now() + std::chrono::seconds(1));
  rig.server.Refuse({.path = "/apis/coordination", .status = 500, .body = "{}", .times = 1'000});
  const TimePoint cut = rig.clock.Now();
  ASSERT_TRUE(rig.Until([&] { return lost; }));
  EXPECT_LT(rig.clock.Now() - cut, std::chrono::milliseconds(1'500));
  EXPECT_FALSE(a.MayWrite().ok());
}

// A renewal that the server took while its answer was lost leaves us with an old version.
TEST(LeaseTest, ARenewalWhoseAnswerWasLostIsNoReasonToLoseTheLease) {
  TestRig rig;
  LeaseOptions options = Options("a");
  options.retry_period = std::chrono::milliseconds(400);  // two rounds are longer than the deadline
  LeaderLease a(options, *rig.client, rig.log);
  bool leads = false, lost = false;
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; }));
  rig.server.Put(kLeases, "Lease", "lease", {{"spec", SpecOf(rig)}}, "ns");
  rig.executor.RunFor(std::chrono::milliseconds(1'500));
  EXPECT_FALSE(lost);
  EXPECT_TRUE(a.MayWrite().ok());
}

// The monotonic clock stands still in suspend, the lease does not.
TEST(LeaseTest, WhoSleptLongerThanTheLeaseMayNotWriteBeforeItHasRenewed) {
  TestRig rig;
  std::atomic<int64_t> slept = 0;
  LeaseOptions options = Options("a");
  options.since_boot = [&] { return SinceBoot() + Duration(slept.load()); };
  LeaderLease a(options, *rig.client, rig.log);
  bool leads = false, lost = false;
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; }));
  EXPECT_TRUE(a.MayWrite().ok());
  slept = Duration(std::chrono::hours(1)).count();
  EXPECT_FALSE(a.MayWrite().ok());
  EXPECT_TRUE(a.Within(Deadline::Never()).Passed(rig.clock));
  // Nobody has taken it meanwhile: it is renewed, and all is well again.
  ASSERT_TRUE(rig.Until([&] { return a.MayWrite().ok(); }));
  EXPECT_FALSE(lost);
  EXPECT_LE(a.Within(Deadline::Never()).at, rig.clock.Now() + std::chrono::seconds(1));
}

TEST(LeaseTest, WhoSleptWhileAnotherTookTheLeaseWritesNothingAndEnds) {
  TestRig rig;
  std::atomic<int64_t> slept = 0;
  LeaseOptions options = Options("a");
  options.since_boot = [&] { return SinceBoot() + Duration(slept.load()); };
  LeaderLease a(options, *rig.client, rig.log);
  bool leads = false, lost = false;
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; }));
  rig.server.Put(kLeases, "Lease", "lease",
                 {{"spec", {{"holderIdentity", "b"}, {"leaseDurationSeconds", 15}}}}, "ns");
  slept = Duration(std::chrono::hours(1)).count();
  EXPECT_FALSE(a.MayWrite().ok());
  ASSERT_TRUE(rig.Until([&] { return lost; }));
  EXPECT_EQ(SpecOf(rig)["holderIdentity"], "b");
}

TEST(LeaseTest, ADeadHoldersLeaseIsTakenWhenItHasNotMovedForItsTime) {
  TestRig rig;
  rig.server.Put(kLeases, "Lease", "lease",
                 {{"metadata", {{"annotations", {{"keep", "me"}}}}},
                  {"spec",
                   {{"holderIdentity", "dead"},
                    {"leaseDurationSeconds", 1},
                    {"renewTime", "2099-01-01T00:00:00.000000Z"},  // its clock lies
                    {"leaseTransitions", 4}}}},
                 "ns");
  LeaderLease a(Options("a"), *rig.client, rig.log);
  bool leads = false, lost = false;
  const TimePoint began = rig.clock.Now();
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; }));
  EXPECT_GE(rig.clock.Now() - began, std::chrono::seconds(1));
  EXPECT_EQ(SpecOf(rig)["leaseTransitions"], 5);
  EXPECT_EQ(rig.server.Get(kLeases, "lease", "ns")["metadata"]["annotations"]["keep"], "me");
}

TEST(LeaseTest, WhoSeesAnotherHolderStopsAtOnce) {
  TestRig rig;
  LeaderLease a(Options("a"), *rig.client, rig.log);
  bool leads = false, lost = false;
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; }));
  rig.server.Put(kLeases, "Lease", "lease",
                 {{"spec", {{"holderIdentity", "thief"}, {"leaseDurationSeconds", 15}}}}, "ns");
  ASSERT_TRUE(rig.Until([&] { return lost; }));
  EXPECT_EQ(SpecOf(rig)["holderIdentity"], "thief");
}

TEST(LeaseTest, ANamespaceThatIsMissingIsNamedWithWhatToDoAndWaitedFor) {
  TestRig rig;
  std::string said;
  rig.log = Log(rig.clock, [&](std::string_view line) { said += line; }, LogFormat::kText);
  rig.server.Refuse({.method = "POST",
                     .path = "/apis/coordination",
                     .status = 404,
                     .body = R"({"kind":"Status","reason":"NotFound","code":404})",
                     .times = 2});
  LeaderLease a(Options("a"), *rig.client, rig.log);
  bool leads = false, lost = false;
  rig.executor.Spawn(AcquireAndHold(a, leads, lost));
  ASSERT_TRUE(rig.Until([&] { return leads; })) << said;
  EXPECT_THAT(said, testing::HasSubstr("the namespace 'ns' of the lease does not exist"));
  EXPECT_THAT(said, testing::HasSubstr("kubectl create namespace ns"));
}

}  // namespace
}  // namespace coppice::kube
