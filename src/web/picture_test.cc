#include "web/picture.h"

#include <gmock/gmock.h>

#include "web/history.h"

namespace coppice::web {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TimePoint At(int64_t seconds) { return TimePoint(std::chrono::seconds(seconds)); }

Picture Of(std::initializer_list<std::pair<std::string, std::string>> nodes) {
  Picture picture;
  picture.total = R"({"nodes":)" + std::to_string(nodes.size()) + "}";
  for (const auto& [name, json] : nodes) picture.of(Section::kNodes)[name] = json;
  return picture;
}

TEST(PictureTest, ADeltaHasWhatIsNewWhatHasChangedAndWhatIsGone) {
  const Picture from = Of({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  const Picture to = Of({{"b", "2"}, {"c", "1"}, {"d", "1"}});
  const Delta delta = Difference(from, to);
  EXPECT_EQ(ToJson(delta, 7, At(5)),
            R"({"seq":7,"at":5,"nodes":{"b":2,"d":1},"gone":{"nodes":["a"]}})");
  Picture made = from;
  Apply(delta, made);
  EXPECT_EQ(made, to);
}

TEST(PictureTest, NothingChangedIsAnEmptyDelta) {
  EXPECT_TRUE(Difference(Of({{"a", "1"}}), Of({{"a", "1"}})).empty());
}

TEST(PictureTest, NamesAreQuotedAsJson) {
  EXPECT_THAT(ToJson(Of({{"a\"b", "1"}}), 1, At(0)), HasSubstr(R"("a\"b":1)"));
}

TEST(HistoryTest, APastMomentIsTheLastThatWasKeptBefore) {
  History history({.step = std::chrono::seconds(10), .segment = std::chrono::seconds(30)});
  for (int i = 0; i < 20; ++i) {
    const std::string text = std::to_string(i);
    history.Add(Of({{"a", text}, {"node-" + text, "1"}}), {.at = At(1000 + 10 * i), .nodes = i});
  }
  for (int i = 0; i < 20; ++i) {
    const auto moment = history.At(At(1000 + 10 * i + 9));
    ASSERT_TRUE(moment);
    EXPECT_EQ(moment->at, At(1000 + 10 * i));
    EXPECT_EQ(moment->picture, Of({{"a", std::to_string(i)}, {"node-" + std::to_string(i), "1"}}));
  }
  EXPECT_EQ(history.At(At(0))->at, At(1000)) << "before the beginning: the beginning";
}

TEST(HistoryTest, ItForgetsWhatIsTooOldAndWhatIsTooMuch) {
  History history({.keep = std::chrono::seconds(100),
                   .most_bytes = 40'000,
                   .step = std::chrono::seconds(1),
                   .segment = std::chrono::seconds(10)});
  for (int i = 0; i < 1'000; ++i) history.Add(Of({{"a", std::to_string(i * 7919)}}), {.at = At(i)});
  EXPECT_GE(*history.begin(), At(999 - 100 - 10));
  EXPECT_LE(*history.begin(), At(999 - 90));
  History small({.most_bytes = 40'000, .step = std::chrono::seconds(1)});
  std::string noise;
  for (int i = 0; i < 20'000; ++i) {
    noise = std::to_string(static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u);
    small.Add(Of({{"node-" + noise, noise}}), {.at = At(i)});
  }
  EXPECT_LT(small.bytes(), 200'000u) << "the segment that is open is more than is allowed";
  EXPECT_GT(*small.begin(), At(10'000));
}

// Sets the clock back at 1,200 to `to` and goes on from there.
void ExpectToGoOnFrom(int64_t to) {
  SCOPED_TRACE(to);
  History history({.step = std::chrono::seconds(10), .segment = std::chrono::seconds(60)});
  const auto add = [&](int64_t at, const std::string& text) {
    history.Add(Of({{"a", text}}), {.at = At(at), .nodes = 1});
  };
  for (int64_t at = 1'000; at <= 1'200; at += 10) add(at, "before " + std::to_string(at));
  for (int64_t at = to; at <= to + 200; at += 10) add(at, "after " + std::to_string(at));
  for (int64_t at = to; at <= to + 200; at += 10) {
    const auto moment = history.At(At(at + 9));
    ASSERT_TRUE(moment);
    EXPECT_EQ(moment->at, At(at));
    EXPECT_EQ(moment->picture, Of({{"a", "after " + std::to_string(at)}}));
  }
  if (to >= 1'020) {
    EXPECT_EQ(history.At(At(1'009))->picture, Of({{"a", "before 1000"}}));
  }
  EXPECT_THAT(history.Timeline(At(to), At(to + 20), 1'000),
              HasSubstr("\"at\":[" + std::to_string(to) + "," + std::to_string(to + 10) + "," +
                        std::to_string(to + 20) + "]"));
}

TEST(HistoryTest, AClockThatWasSetBackIsFollowed) {
  // Before the beginning; into a segment that is closed, at one's edge, beside a sample; into the open one.
  for (const int64_t to : {500, 1'085, 1'060, 1'061, 1'125, 1'185}) ExpectToGoOnFrom(to);
}

TEST(HistoryTest, AClockThatWasSetBackByLessThanAStepIsWaitedFor) {
  History history({.step = std::chrono::seconds(10)});
  history.Add(Of({{"a", "1"}}), {.at = At(1'000)});
  history.Add(Of({{"a", "2"}}), {.at = At(995)});
  EXPECT_EQ(history.At(At(2'000))->picture, Of({{"a", "1"}}));
  history.Add(Of({{"a", "3"}}), {.at = At(1'010)});
  EXPECT_EQ(history.At(At(2'000))->picture, Of({{"a", "3"}}));
  EXPECT_EQ(history.begin(), At(1'000));
}

TEST(HistoryTest, TheTimelineKeepsPeaksWhenItThinsOut) {
  History history({.step = std::chrono::seconds(1)});
  for (int i = 0; i < 100; ++i) history.Add(Picture(), {.at = At(i), .pending = i == 57 ? 9 : 0});
  EXPECT_THAT(history.Timeline(At(0), At(100), 10),
              HasSubstr(R"("pending":[0,0,0,0,0,9,0,0,0,0])"));
  EXPECT_THAT(history.Timeline(At(50), At(52), 10), HasSubstr(R"("at":[50,51,52])"));
}

TEST(HistoryTest, BytesThatAreNoDeltaAreRefused) {
  std::string bytes;
  Pack(Difference(Picture(), Of({{"a", "1"}})), At(3), bytes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::string_view rest = std::string_view(bytes).substr(0, length);
    TimePoint at;
    EXPECT_FALSE(Unpack(rest, at).ok()) << length;
  }
}

}  // namespace
}  // namespace coppice::web
