#include "wire/watch_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/must.h"

namespace coppice::wire {
namespace {

using model::ConfigMap;
using model::WatchType;
using Event = model::WatchEvent<ConfigMap>;

std::vector<Event> SomeEvents() {
  Event added{.type = WatchType::kAdded};
  added.object.metadata.name = "a";
  added.object.data = {{"text", "two\nlines"}};
  Event bookmark{.type = WatchType::kBookmark};
  bookmark.object.metadata.resource_version = "12";
  Event error{.type = WatchType::kError};
  error.error = {.status = "Failure", .message = "too old", .reason = "Expired", .code = 410};
  return {added, bookmark, error};
}

class WatchFramesTest : public testing::TestWithParam<Encoding> {};

TEST_P(WatchFramesTest, TheSameEventsComeOutHoweverTheBytesAreCut) {
  const auto events = SomeEvents();
  std::string bytes;
  for (const Event& event : events) bytes += WriteWatchEvent(GetParam(), event);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    WatchFrames frames(GetParam());
    std::vector<Event> read;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      frames.Feed(std::string_view(bytes).substr(at, piece));
      while (const auto next = MUST(frames.Next())) {
        read.push_back(MUST(ReadWatchEvent<ConfigMap>(GetParam(), *next)));
      }
    }
    EXPECT_TRUE(frames.AtBoundary());
    ASSERT_EQ(read, events) << "pieces of " << piece;
  }
}

TEST_P(WatchFramesTest, AStreamThatEndsInTheMiddleOfAnEventIsNotAtABoundary) {
  WatchFrames frames(GetParam());
  EXPECT_TRUE(frames.AtBoundary());
  frames.Feed(WriteWatchEvent(GetParam(), SomeEvents()[0]).substr(0, 10));
  EXPECT_FALSE(MUST(frames.Next()).has_value());
  EXPECT_FALSE(frames.AtBoundary());
}

TEST_P(WatchFramesTest, AnObjectOfAnotherKindIsThereButUnreadable) {
  WatchFrames frames(GetParam());
  frames.Feed(WriteWatchEvent(GetParam(), SomeEvents()[0]));
  const auto event = MUST(ReadWatchEvent<model::Pod>(GetParam(), *MUST(frames.Next())));
  ASSERT_TRUE(event.object.metadata.unreadable);
  EXPECT_EQ(event.object.metadata.name, "");
}

TEST_P(WatchFramesTest, AnObjectThatCannotBeReadComesWithWhatCanBe) {
  model::WatchEvent<model::Pod> good;
  good.type = model::WatchType::kModified;
  good.object.metadata.name = "p";
  good.object.metadata.resource_version = "8";
  good.object.spec.node_name = "n1";
  good.object.spec.overhead["cpu"] = MUST(model::Quantity::Parse("123m"));
  std::string bytes = WriteWatchEvent(GetParam(), good);
  bytes.replace(bytes.find("123m"), 4, "1x3m");
  WatchFrames frames(GetParam());
  frames.Feed(bytes);
  const auto event = MUST(ReadWatchEvent<model::Pod>(GetParam(), *MUST(frames.Next())));
  EXPECT_EQ(event.type, model::WatchType::kModified);
  ASSERT_TRUE(event.object.metadata.unreadable);
  EXPECT_EQ(event.object.metadata.unreadable->reason, "quantity");
  EXPECT_EQ(event.object.metadata.name, "p");
  EXPECT_EQ(event.object.metadata.resource_version, "8");
  EXPECT_EQ(event.object.spec.node_name, "n1");
}

INSTANTIATE_TEST_SUITE_P(Encodings, WatchFramesTest,
                         testing::Values(Encoding::kProtobuf, Encoding::kJson),
                         [](const auto& row) {
                           return row.param == Encoding::kJson ? "Json" : "Protobuf";
                         });

TEST(WatchFramesTest, AnAbsurdLengthIsRefusedAtOnce) {
  WatchFrames frames(Encoding::kProtobuf);
  frames.Feed("\x7F\xFF\xFF\xFF");
  EXPECT_FALSE(frames.Next().ok());
}

TEST(WatchFramesTest, ALineThatDoesNotEndIsRefusedOnceItIsTooLong) {
  WatchFrames frames(Encoding::kJson, 10);
  frames.Feed("{\"type\":\"ADDED\"");
  EXPECT_FALSE(frames.Next().ok());
}

TEST(WatchFramesTest, UnknownTypesOfEventsAreRefused) {
  EXPECT_FALSE(OpenWatchEvent(Encoding::kJson, R"({"type":"REPLACED","object":{}})").ok());
  EXPECT_FALSE(OpenWatchEvent(Encoding::kJson, R"({"object":{}})").ok());
  EXPECT_FALSE(OpenWatchEvent(Encoding::kProtobuf, "\x0A\x7F").ok());
}

}  // namespace
}  // namespace coppice::wire
