#include "autoscale/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::autoscale {
namespace {

using report::StayReason;
using ::testing::HasSubstr;

class ReasonsTest : public testing::Test {
 protected:
  report::PodPtr APod(const std::string& name) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = name;
    return pod;
  }
  report::StayingNode Blocked(const std::string& node, const std::string& pod) {
    return {.node = node,
            .reason = StayReason::kBlockedByPod,
            .blocking_pod = APod(pod),
            .blocking_reason = "NotEnoughPdb"};
  }
  // What the pass adds to the log.
  std::string Pass(std::vector<report::StayingNode> staying) {
    lines_.clear();
    auto report = std::make_shared<report::PassReport>();
    report->scale_down.staying = std::move(staying);
    reasons_.PassEnded(report);
    return lines_;
  }
  Result<std::string> AskPod(const std::string& pod) { return reasons_.Explain(&pod, nullptr); }
  Result<std::string> AskNode(const std::string& node) { return reasons_.Explain(nullptr, &node); }

  std::string lines_;
  FakeClock clock_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
  Reasons reasons_{log_};
};

TEST_F(ReasonsTest, WhatKeepsANodeIsToldOnceAndAgainWhenItIsSomethingElse) {
  EXPECT_THAT(Pass({Blocked("n1", "a")}), HasSubstr("default/a (NotEnoughPdb)"));
  EXPECT_EQ(Pass({Blocked("n1", "a")}), "");
  // Not looked at again for a while: nothing new.
  EXPECT_EQ(Pass({{.node = "n1", .reason = StayReason::kRecentlyUnremovable}}), "");
  EXPECT_EQ(Pass({Blocked("n1", "a")}), "");
  EXPECT_THAT(Pass({Blocked("n1", "b")}), HasSubstr("default/b"));
  // In use for a while, and then stuck again: that is news.
  EXPECT_EQ(Pass({{.node = "n1", .reason = StayReason::kNotUnderutilized}}), "");
  EXPECT_THAT(Pass({Blocked("n1", "b")}), HasSubstr("default/b"));
}

TEST_F(ReasonsTest, AnswersAboutNodesAndSaysWhatItCannotAnswer) {
  EXPECT_EQ(AskNode("n1").code(), Code::kUnavailable);
  Pass({Blocked("n1", "a")});
  const Result<std::string> answer = AskNode("n1");
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(*answer, HasSubstr("BlockedByPod: blocked by pod default/a"));
  EXPECT_EQ(AskNode("n2").code(), Code::kNotFound);
  EXPECT_EQ(AskPod("default/x").code(), Code::kNotFound);
  EXPECT_EQ(AskPod("x").code(), Code::kInvalidArgument);
  EXPECT_EQ(reasons_.Explain(nullptr, nullptr).code(), Code::kInvalidArgument);
  const std::string pod = "default/x";
  const std::string node = "n1";
  EXPECT_EQ(reasons_.Explain(&pod, &node).code(), Code::kInvalidArgument);
}

TEST_F(ReasonsTest, AnswersAboutPodsThatNothingWasBoughtFor) {
  auto report = std::make_shared<report::PassReport>();
  report->scale_up.result = report::ScaleUpResult::kNoOptionsAvailable;
  report->scale_up.unhelped.push_back({.pods = {APod("web")}});
  reasons_.PassEnded(report);
  EXPECT_EQ(AskPod("default/web").code(), Code::kOk);
}

}  // namespace
}  // namespace coppice::autoscale
