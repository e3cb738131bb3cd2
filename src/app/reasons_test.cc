#include "app/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::app {
namespace {

using report::Unremovable;
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
            .reason = Unremovable::kBlockedByPod,
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
  net::ServerResponse Ask(net::QueryItems query) {
    net::ServerRequest request;
    request.path = "/explain";
    request.query = std::move(query);
    return reasons_.Answer(request);
  }

  std::string lines_;
  FakeClock clock_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
  Reasons reasons_{log_};
};

TEST_F(ReasonsTest, WhatCannotBeReadIsSaidUntilItCan) {
  Pass({});
  reasons_.CannotBeRead({.pods = {{"default/odd", "spec.overhead[cpu]: no quantity"}},
                         .nodes = {{"n1", "spec.taints[0].timeAdded: a time out of range"}}});
  EXPECT_THAT(Ask({{"pod", "default/odd"}}).body, HasSubstr("spec.overhead[cpu]: no quantity"));
  EXPECT_THAT(Ask({{"node", "n1"}}).body, HasSubstr("a time out of range"));
  EXPECT_EQ(Ask({{"pod", "default/other"}}).status, 404);
  reasons_.CannotBeRead({});
  EXPECT_EQ(Ask({{"pod", "default/odd"}}).status, 404);
}

TEST_F(ReasonsTest, WhatKeepsANodeIsToldOnceAndAgainWhenItIsSomethingElse) {
  EXPECT_THAT(Pass({Blocked("n1", "a")}), HasSubstr("default/a (NotEnoughPdb)"));
  EXPECT_EQ(Pass({Blocked("n1", "a")}), "");
  // Not looked at again for a while: nothing new.
  EXPECT_EQ(Pass({{.node = "n1", .reason = Unremovable::kRecentlyUnremovable}}), "");
  EXPECT_EQ(Pass({Blocked("n1", "a")}), "");
  EXPECT_THAT(Pass({Blocked("n1", "b")}), HasSubstr("default/b"));
  // In use for a while, and then stuck again: that is news.
  EXPECT_EQ(Pass({{.node = "n1", .reason = Unremovable::kNotUnderutilized}}), "");
  EXPECT_THAT(Pass({Blocked("n1", "b")}), HasSubstr("default/b"));
}

TEST_F(ReasonsTest, AnswersAboutNodesAndSaysWhatItCannotAnswer) {
  EXPECT_EQ(Ask({{"node", "n1"}}).status, 503);
  Pass({Blocked("n1", "a")});
  const net::ServerResponse answer = Ask({{"node", "n1"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("BlockedByPod: blocked by pod default/a"));
  EXPECT_EQ(Ask({{"node", "n2"}}).status, 404);
  EXPECT_EQ(Ask({{"pod", "default/x"}}).status, 404);
  EXPECT_EQ(Ask({{"pod", "x"}}).status, 400);
  EXPECT_EQ(Ask({}).status, 400);
  EXPECT_EQ(Ask({{"pod", "default/x"}, {"node", "n1"}}).status, 400);
}

TEST_F(ReasonsTest, AnswersAboutPodsThatNothingWasBoughtFor) {
  auto report = std::make_shared<report::PassReport>();
  report->scale_up.result = report::ScaleUpResult::kNoOptionsAvailable;
  report->scale_up.unhelped.push_back({.pods = {APod("web")}});
  reasons_.PassEnded(report);
  EXPECT_EQ(Ask({{"pod", "default/web"}}).status, 200);
}

}  // namespace
}  // namespace coppice::app
