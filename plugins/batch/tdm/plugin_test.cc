#include "plugins/batch/tdm/windows.h"
#include "test/conformance/batch_suite.h"

namespace coppice {
namespace batch::tdm {
void Register(PluginRegistry& registry);
}

namespace conformance {
namespace {

using batch::tdm::ParseUtcOffset;
using batch::tdm::Window;

TimePoint At(int hour, int minute) {
  return TimePoint(std::chrono::hours(24 * 365 + hour) + std::chrono::minutes(minute));
}

TEST(TdmWindowTest, BothEndsAreInside) {
  const Window window = Window::Parse("9:00-21:30").value();
  EXPECT_FALSE(window.Contains(At(8, 59), {}, false));
  EXPECT_TRUE(window.Contains(At(9, 0), {}, false));
  EXPECT_TRUE(window.Contains(At(21, 30), {}, false));
  EXPECT_FALSE(window.Contains(At(21, 31), {}, false));
  EXPECT_TRUE(window.Contains(At(1, 30), ParseUtcOffset("+08:00").value(), false));
}

TEST(TdmWindowTest, OverMidnightUpstreamSeesTheFirstHalfOnly) {
  const Window window = Window::Parse("22:00-06:00").value();
  EXPECT_TRUE(window.Contains(At(23, 0), {}, true));
  EXPECT_FALSE(window.Contains(At(3, 0), {}, true));
  EXPECT_TRUE(window.Contains(At(3, 0), {}, false));
  EXPECT_FALSE(window.Contains(At(7, 0), {}, false));
}

TEST(TdmWindowTest, WhatIsNoWindowIsRefused) {
  for (const char* text : {"", "10:00", "10:00-", "25:00-26:00", "10:0-11:00", "1-2", "a:bc-d:ef"})
    EXPECT_FALSE(Window::Parse(text).ok()) << text;
  for (const char* text : {"", "+", "08:00", "+8", "+24:00"})
    EXPECT_FALSE(ParseUtcOffset(text).ok()) << text;
}

TEST(TdmWindowTest, WhatIsWrongIsSaidInUpstreamsWords) {
  const auto wrong = [](const char* text) { return Window::Parse(text).status().message(); };
  EXPECT_EQ(wrong("x"), "revocable zone x format error");
  EXPECT_EQ(wrong("1:00-2:00-3:00"), "revocable zone 1:00-2:00-3:00 format error");
  EXPECT_EQ(wrong("a-1:00"), R"(parsing time "a" as "15:04": cannot parse "a" as "15")");
  EXPECT_EQ(wrong("1:00-2"), R"(parsing time "2" as "15:04": cannot parse "" as ":")");
  EXPECT_EQ(wrong("1:0-2:00"), R"(parsing time "1:0" as "15:04": cannot parse "0" as "04")");
  EXPECT_EQ(wrong("25:00-26:00"), R"(parsing time "25:00": hour out of range)");
  EXPECT_EQ(wrong("1:60-2:00"), R"(parsing time "1:60": minute out of range)");
  EXPECT_EQ(wrong("1:000-2:00"), R"(parsing time "1:000": extra text: "0")");
}

BatchPluginUnderTest Under(const char* window) {
  BatchPluginUnderTest test{.name = "tdm",
                            .add = [](auto& plugins, auto&) { batch::tdm::Register(plugins); }};
  test.arguments["tdm.revocable-zone.rz1"] = batch::ArgumentValue{std::string(window)};
  return test;
}

INSTANTIATE_TEST_SUITE_P(Tdm, BatchPluginSuite, testing::Values(Under("00:00-23:59")));

// The world's clock shows midnight. Node a is lent, what runs there may be sent away.
class TdmTest : public testing::Test {
 protected:
  TdmTest() {
    auto lent = std::make_shared<model::Node>(*world_.input.nodes[0].object);
    lent->metadata.labels["volcano.sh/revocable-zone"] = "rz1";
    world_.input.nodes[0].object = lent;
    batch::tdm::Register(plugins_);
  }
  batch::Session& Open(const std::string& window) {
    const auto conf = batch::ParseConf(
        "actions: \"shuffle\"\ntiers:\n- plugins:\n  - name: tdm\n"
        "    arguments:\n      tdm.revocable-zone.rz1: \"" +
        window + "\"\n");
    session_ = std::move(batch::Session::Open(*conf, {}, plugins_, filters_, world_.snapshot,
                                              world_.input))
                   .value();
    return *session_;
  }

  BatchWorld world_;
  batch::PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  std::unique_ptr<batch::Session> session_;
};

TEST_F(TdmTest, ALentNodeTakesOnlyWhoMayBeSentAwayAndOnlyInItsHours) {
  batch::Session& inside = Open("00:00-10:00");
  batch::Task task = *inside.FindJob("ns/big")->tasks.front();
  const batch::NodeInfo& lent = *inside.FindNode("a");
  const batch::Fit refused = inside.CheckForAllocate(task, lent);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->statuses[0].reason, "not allow to dispatch to revocable node");
  EXPECT_EQ(refused->statuses[0].code, batch::kFitUnresolvable);
  EXPECT_FALSE(inside.CheckForAllocate(task, *inside.FindNode("b")));
  task.revocable_zone = "*";
  EXPECT_FALSE(inside.CheckForAllocate(task, lent));
  batch::NodeInfo* nodes[] = {inside.FindNode("a"), inside.FindNode("b")};
  EXPECT_EQ(*inside.ask().Score(task, nodes), (std::vector<double>{100, 0}));
  batch::Session& outside = Open("10:00-11:00");
  EXPECT_TRUE(outside.CheckForAllocate(task, *outside.FindNode("a")));
}

TEST_F(TdmTest, OutsideOfItsHoursWhatRunsThereIsMovedOncePerPeriod) {
  Open("00:00-10:00").Run();
  EXPECT_TRUE(session_->Close().evictions.empty());
  world_.input.now += std::chrono::hours(12);
  Open("00:00-10:00").Run();
  EXPECT_EQ(session_->Close().evictions.size(), 1u);
  world_.input.now += std::chrono::seconds(30);
  Open("00:00-10:00").Run();
  EXPECT_TRUE(session_->Close().evictions.empty());
  world_.input.now += std::chrono::seconds(31);
  Open("00:00-10:00").Run();
  EXPECT_EQ(session_->Close().evictions.size(), 1u);
}

}  // namespace
}  // namespace conformance
}  // namespace coppice
