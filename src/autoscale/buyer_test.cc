// What becomes of a plan to buy, as a whole engine carries it out.

#include "autoscale/buyer.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BuyerTest : public PlainEngineRig {
 protected:
  std::vector<cloud::FakeNodeGroups::Call> Orders() {
    std::vector<cloud::FakeNodeGroups::Call> orders;
    for (const auto& call : groups_.calls())
      if (call.method == "Increase") orders.push_back(call);
    return orders;
  }
  std::vector<std::string> Told(const std::string& reason) const {
    std::vector<std::string> texts;
    for (const auto& event : writer_.events)
      if (event.reason == reason) texts.push_back(event.text);
    return texts;
  }
};

TEST_F(BuyerTest, AnOrderIsToldBeforeAndAfterAndIsUpcomingThen) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 2);
  Assemble({}, inline_, writer_);
  const auto report = Pass();
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kSuccessful);
  ASSERT_THAT(Orders(), SizeIs(1));
  EXPECT_EQ(Orders()[0].group, "web");
  EXPECT_EQ(Orders()[0].delta, 1);
  EXPECT_THAT(Told("ScaledUpGroup"),
              ElementsAre("Scale-up: setting group web size to 1 instead of 0 (max: 5)",
                          "Scale-up: group web size set to 1 instead of 0 (max: 5)"));
  // The pod waits for the machine, and nothing is bought for it again.
  clock_.Advance(seconds(20));
  const auto next = Pass();
  EXPECT_EQ(next->upcoming.at("web"), 1);
  EXPECT_THAT(Orders(), SizeIs(1));
}

TEST_F(BuyerTest, AnOrderThatFailsIsToldCountedAndBacksItsGroupOff) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 2);
  groups_.Fail("Increase", ResourceExhausted("none left"));
  Assemble({}, inline_, writer_);
  const auto report = Pass();
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kError);
  EXPECT_THAT(report->scale_up.failed_groups, ElementsAre("web"));
  EXPECT_THAT(report->scale_up.error, HasSubstr("none left"));
  EXPECT_THAT(report->failed_additions, SizeIs(1));
  EXPECT_THAT(Told("FailedToScaleUpGroup"), Contains(HasSubstr("none left")));
  groups_.Fail("Increase", Status::Ok());
  clock_.Advance(seconds(20));
  EXPECT_THAT(Pass()->upcoming, IsEmpty());
  EXPECT_THAT(Orders(), SizeIs(1)) << "its group is backed off";
}

TEST_F(BuyerTest, OneAfterTheOtherEndsAtTheFirstFailureAndInParallelAllAreTried) {
  for (const bool parallel : {false, true}) {
    const size_t before = Orders().size();
    const std::string suffix = parallel ? "-p" : "-s";
    AddGroup("a" + suffix, 1);
    AddGroup("b" + suffix, 1);
    AddPod("p1" + suffix, "cpu", 4);
    AddPod("p2" + suffix, "cpu", 4);
    groups_.Fail("Increase", Internal("no"));
    std::vector<std::string> args = {"--balance-similar-node-groups",
                                     "--balancing-ignore-label=topology.kubernetes.io/zone"};
    if (parallel) args.push_back("--parallel-scale-up");
    Assemble(args, inline_, writer_);
    Pass();
    EXPECT_EQ(Orders().size() - before, parallel ? 2U : 1U);
    groups_.Change("a" + suffix, [](auto& group) { group.info.max_size = 0; });
    groups_.Change("b" + suffix, [](auto& group) { group.info.max_size = 0; });
    world_.DeletePod("default", "p1" + suffix);
    world_.DeletePod("default", "p2" + suffix);
  }
}

}  // namespace
}  // namespace coppice::autoscale
