#include "cloud/cloud.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_cloud.h"
#include "test/support/must.h"

namespace coppice::cloud {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ValidateTest : public testing::Test {
 protected:
  std::vector<std::string> Mistakes(const std::string& flavor, const std::string& zone) {
    return MUST(cloud.Validate({.name = "g", .flavor = flavor, .zone = zone}, Deadline::Never()));
  }
  FakeClock clock;
  FakeCloud cloud{clock};
};

TEST_F(ValidateTest, AFlavorThatIsNotSoldIsNamedWithTheNearest) {
  EXPECT_THAT(Mistakes("smal", "zone1"),
              ElementsAre(AllOf(HasSubstr("no flavor 'smal'"), HasSubstr("'small'"))));
  EXPECT_THAT(Mistakes("xxxxxxxxxxxx", "zone1"), ElementsAre(HasSubstr("small, large, gpu")));
}

TEST_F(ValidateTest, AZoneWhereItIsNotSoldIsNamed) {
  EXPECT_THAT(Mistakes("small", "zone9"),
              ElementsAre(AllOf(HasSubstr("'zone9'"), HasSubstr("'zone1'"))));
}

TEST_F(ValidateTest, WhatNobodySaysIsNoMistake) {
  EXPECT_THAT(Mistakes("small", "zone1"), IsEmpty());
  EXPECT_THAT(Mistakes("small", ""), IsEmpty());
  cloud.set_flavors({{.name = "small"}});
  EXPECT_THAT(Mistakes("small", "anywhere"), IsEmpty());
}

TEST_F(ValidateTest, ACheckThatCouldNotBeMadeIsAFailure) {
  cloud.on_flavors = [] { return FakeAnswer{.status = Unavailable("down")}; };
  EXPECT_EQ(cloud.Validate({.name = "g", .flavor = "small"}, Deadline::Never()).code(),
            Code::kUnavailable);
}

}  // namespace
}  // namespace coppice::cloud
