#include "wire/time_text.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/scalars.h"

namespace coppice::wire {
namespace {

TEST(TimeTextTest, ReadsWhatItWrites) {
  for (const char* text : {"1970-01-01T00:00:00Z", "2026-02-28T23:59:59Z", "2024-02-29T12:00:00Z",
                           "1969-12-31T23:59:59Z", "2200-01-01T00:00:00Z"}) {
    ASSERT_TRUE(ParseRfc3339(text)) << text;
    EXPECT_EQ(FormatRfc3339(*ParseRfc3339(text)), text);
  }
  EXPECT_EQ(FormatRfc3339Micro(*ParseRfc3339Micro("2026-01-02T03:04:05.000001Z")),
            "2026-01-02T03:04:05.000001Z");
}

TEST(TimeTextTest, ZonesAreTakenOff) {
  EXPECT_EQ(ParseRfc3339("2026-01-02T03:04:05+01:30"), ParseRfc3339("2026-01-02T01:34:05Z"));
  EXPECT_EQ(ParseRfc3339("2026-01-02T03:04:05-01:00"), ParseRfc3339("2026-01-02T04:04:05Z"));
}

TEST(TimeTextTest, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026-01-02", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2026-01-02T24:00:00Z",
        "2026-01-02T03:04:60Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05.Z",
        "2026-01-02 03:04:05Z", "2026-01-02T03:04:05Zx", "2026-01-02T03:04:05+1:00",
        "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"}) {
    EXPECT_FALSE(ParseRfc3339(text)) << text;
  }
}

TEST(TimeTextTest, AMicroTimeHasSixDigits) {
  EXPECT_FALSE(ParseRfc3339Micro("2026-01-02T03:04:05.5Z"));
  EXPECT_FALSE(ParseRfc3339Micro("2026-01-02T03:04:05Z"));
  EXPECT_TRUE(ParseRfc3339Micro("2026-01-02T03:04:05.500000Z"));
}

TEST(ScalarsTest, Base64IsReadAsItIsWritten) {
  for (const std::string& bytes :
       {std::string(), std::string("a"), std::string("ab"), std::string("abc"),
        std::string("\0\xFF\x10", 3), std::string("any carnal pleas")}) {
    Trouble trouble;
    model::Bytes read;
    ASSERT_TRUE(BytesFromBase64(ToBase64(bytes), read, trouble));
    EXPECT_EQ(read.data, bytes);
  }
}

TEST(ScalarsTest, WhatIsNoBase64IsRefused) {
  for (const char* text : {"A", "AA", "AAA", "A===", "=AAA", "AA=A", "AAA!", "AAAA=AAA"}) {
    Trouble trouble;
    model::Bytes read;
    EXPECT_FALSE(BytesFromBase64(text, read, trouble)) << text;
  }
}

}  // namespace
}  // namespace coppice::wire
