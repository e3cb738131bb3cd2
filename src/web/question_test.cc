#include "web/question.h"

#include <gmock/gmock.h>

namespace coppice::web {
namespace {

using testing::HasSubstr;

TEST(QuestionTest, EveryPartIsRead) {
  const auto question = ParseQuestion(
      R"({"removeNodes":["a"],"addPods":{"count":50,"cpu":"1","memory":"2Gi","other":{"nvidia.com/gpu":"1"}},
          "maxSizes":{"g":20},"limits":{"spot":{"cpu":"64"}},"forbidTypes":["big"]})");
  ASSERT_TRUE(question.ok()) << question.status().message();
  EXPECT_THAT(question->remove_nodes, testing::ElementsAre("a"));
  EXPECT_EQ(question->add_pods->count, 50);
  EXPECT_EQ(question->add_pods->other.at("nvidia.com/gpu"), "1");
  EXPECT_EQ(question->max_sizes.at("g"), 20);
  EXPECT_EQ(question->limits.at("spot").at("cpu"), "64");
  EXPECT_THAT(question->forbid_types, testing::ElementsAre("big"));
}

TEST(QuestionTest, WhatCannotBeMeantIsRefusedWithTheField) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"", "not JSON"},
      {"[]", "not a JSON object"},
      {"{}", "empty"},
      {R"({"removeNode":["a"]})", "no field removeNode"},
      {R"({"removeNodes":"a"})", "removeNodes is to be a list"},
      {R"({"removeNodes":[1]})", "removeNodes"},
      {R"({"addPods":{"count":0}})", "1 or more"},
      {R"({"addPods":{"count":-3}})", "addPods.count"},
      {R"({"addPods":{"count":10001}})", "addPods.count"},
      {R"({"addPods":{"count":18446744073709551615}})", "addPods.count"},
      {R"({"addPods":{"count":1.5}})", "whole number"},
      {R"({"addPods":{"count":1,"cpus":"1"}})", "no field cpus"},
      {R"({"maxSizes":{"g":"20"}})", "maxSizes.g"},
      {R"({"limits":[]})", "limits is to be an object"},
      {R"({"limits":{"spot":{"cpu":64}}})", "limits.spot.cpu"},
  };
  for (const auto& [text, why] : kWrong) {
    const auto question = ParseQuestion(text);
    ASSERT_FALSE(question.ok()) << text;
    EXPECT_THAT(question.status().message(), HasSubstr(why)) << text;
  }
}

TEST(QuestionTest, PauseAndSpeed) {
  EXPECT_EQ(ParseControl(R"({"paused":true})")->paused, true);
  EXPECT_EQ(ParseControl(R"({"speed":120})")->speed, 120);
  EXPECT_EQ(ParseControl(R"({"speed":0})")->speed, 0) << "as fast as it goes";
  EXPECT_FALSE(ParseControl(R"({"speed":-1})").ok());
  EXPECT_FALSE(ParseControl(R"({"speed":1e300})").ok());
  EXPECT_FALSE(ParseControl(R"({"paused":"yes"})").ok());
}

TEST(QuestionTest, TimesAndCounts) {
  EXPECT_EQ(*ParseUnix("1767592800"), 1767592800);
  EXPECT_EQ(*ParseUnix("12.7"), 12);
  for (const char* text : {"", "x", "1x", "1e300", "nan", "inf", " 1"})
    EXPECT_FALSE(ParseUnix(text).ok()) << text;
  EXPECT_EQ(*ParseCount("5", 10), 5u);
  for (const char* text : {"", "-1", "11", "99999999999999999999", "5 "})
    EXPECT_FALSE(ParseCount(text, 10).ok()) << text;
}

}  // namespace
}  // namespace coppice::web
