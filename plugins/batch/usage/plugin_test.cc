#include "plugins/batch/usage/factory.h"
#include "test/conformance/batch_suite.h"

namespace coppice::conformance {
namespace {

using batch::usage::Load;
using batch::usage::ReadVector;
using batch::usage::Source;

INSTANTIATE_TEST_SUITE_P(Usage, BatchPluginSuite,
                         testing::Values(BatchPluginUnderTest{.name = "usage",
                                                              .add = [](auto& plugins, auto&) {
                                                                batch::usage::Register(plugins);
                                                              }}));

TEST(UsageSourceTest, ReadsAVectorByInstance) {
  const auto values =
      ReadVector(R"({"status":"success","data":{"resultType":"vector","result":[)"
                 R"({"metric":{"instance":"a"},"value":[1,"12.5"]},{"metric":{},"value":[1,"3"]},)"
                 R"({"metric":{"instance":"b"},"value":[1,"NaN"]}]}})");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, (std::map<std::string, double>{{"a", 12.5}}));
  EXPECT_FALSE(ReadVector("<html>").ok());
  EXPECT_FALSE(ReadVector(R"({"status":"error"})").ok());
}

TEST(UsageSourceTest, IsAskedOncePerIntervalAndKeepsWhatItHas) {
  int asked = 0;
  bool fails = false;
  Source source(
      [&]() -> Result<std::map<std::string, Load, std::less<>>> {
        ++asked;
        if (fails) return Unavailable("gone");
        return std::map<std::string, Load, std::less<>>{{"a", {.cpu = 1.0 * asked}}};
      },
      std::make_shared<InlineWorkers>());
  const TimePoint start(std::chrono::hours(1));
  EXPECT_EQ(source.Latest(start, std::chrono::seconds(30))->nodes.at("a").cpu, 1);
  (void)source.Latest(start + std::chrono::seconds(29), std::chrono::seconds(30));
  EXPECT_EQ(asked, 1);
  fails = true;
  const auto kept = source.Latest(start + std::chrono::seconds(30), std::chrono::seconds(30));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(kept->nodes.at("a").cpu, 1);
  EXPECT_FALSE(source.last_error().ok());
}

class UsageTest : public testing::Test {
 protected:
  batch::Session& Open() {
    plugins_.Add("usage", batch::usage::MakeFactory([this](const auto&) {
                   return Result<std::shared_ptr<Source>>(std::make_shared<Source>(
                       [this] { return Result<std::map<std::string, Load, std::less<>>>(loads_); },
                       std::make_shared<InlineWorkers>()));
                 }));
    const auto conf = batch::ParseConf(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: usage\nmetrics:\n  type: prometheus\n"
        "  interval: 1s\n");
    session_ = std::move(batch::Session::Open(*conf, {}, plugins_, filters_, world_.snapshot,
                                              world_.input))
                   .value();
    return *session_;
  }
  std::map<std::string, Load, std::less<>> loads_;
  BatchWorld world_;
  batch::PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  std::unique_ptr<batch::Session> session_;
};

TEST_F(UsageTest, ABusyNodeTakesNobodyAndTheIdlerIsBetter) {
  loads_ = {{"a", {.cpu = 81}}, {"b", {.cpu = 80, .memory = 10}}, {"c", {.cpu = 10, .memory = 10}}};
  batch::Session& session = Open();
  batch::Task& task = *session.FindJob("ns/big")->tasks.front();
  const batch::Fit refused = session.CheckForAllocate(task, *session.FindNode("a"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->statuses[0].code, batch::kFitUnresolvable);
  EXPECT_FALSE(session.CheckForAllocate(task, *session.FindNode("b")));
  batch::NodeInfo* nodes[] = {session.FindNode("b"), session.FindNode("c")};
  const auto scores = *session.ask().Score(task, nodes);
  EXPECT_LT(scores[0], scores[1]);
  ASSERT_NE(session.UsageOf(*nodes[0]), nullptr);  // for whoever else wants to know
  EXPECT_EQ(session.UsageOf(*nodes[0])->cpu, 80);
  EXPECT_EQ(session.UsageOf(*nodes[0])->memory, 10);
}

TEST_F(UsageTest, WhatWasJustPlacedIsReckonedWithUntilItIsTakenBack) {
  loads_ = {{"b", {.cpu = 10}}, {"c", {.cpu = 10}}};
  batch::Session& session = Open();
  batch::Task& task = *session.FindJob("ns/big")->tasks.front();
  batch::NodeInfo* node = session.FindNode("c");
  const auto score = [&] { return session.ask().Score(task, {&node, 1})->front(); };
  const double before = score();
  batch::Statement statement(session);
  ASSERT_TRUE(statement.Allocate(task, *node).ok());
  EXPECT_LT(score(), before);
  statement.Discard();
  EXPECT_EQ(score(), before);
}

}  // namespace
}  // namespace coppice::conformance
