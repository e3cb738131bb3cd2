#include "cloud/group_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::cloud {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GroupLimitsTest, ANameMayHoldColons) {
  const GroupLimits limits = MUST(ParseGroupLimits("1:10:https://cloud/pools/a"));
  EXPECT_EQ(limits.min, 1);
  EXPECT_EQ(limits.max, 10);
  EXPECT_EQ(limits.group, "https://cloud/pools/a");
}

TEST(GroupLimitsTest, WhatIsNotMinMaxNameIsRefused) {
  for (const char* text :
       {"", "a", "1:2", "1:2:", "2:1:a", "-1:2:a", "1:x:a", "1.5:2:a", "1:99999999999:a"}) {
    EXPECT_EQ(ParseGroupLimits(text).code(), Code::kInvalidArgument) << text;
  }
}

TEST(GroupLimitsTest, AGroupThatIsNotThereIsToldWithTheNearest) {
  std::vector<GroupConfig> groups(2);
  groups[0].name = "web";
  groups[1].name = "batch";
  ASSERT_TRUE(LimitGroups({"3:4:batch"}, groups).ok());
  EXPECT_EQ(groups[1].min_size, 3);
  EXPECT_EQ(groups[1].max_size, 4);
  EXPECT_THAT(LimitGroups({"1:2:wbe"}, groups).message(),
              AllOf(HasSubstr("there are: web, batch"), HasSubstr("did you mean 'web'?")));
}

}  // namespace
}  // namespace coppice::cloud
