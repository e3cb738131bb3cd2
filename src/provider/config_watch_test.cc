#include "provider/config_watch.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/fake_clock.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::provider {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string GroupText(const std::string& name, const std::string& more = "") {
  return "clusterTag: c\nnodeGroups: [{name: " + name + ", maxSize: 1, flavor: f" + more + "}]\n";
}

class ConfigWatchTest : public testing::Test {
 protected:
  void Write(const std::string& text) { dir_.Write("config.yaml", text); }
  // The name of its only group; "" if there was nothing new, or nothing good.
  std::string Changed() {
    const auto next = watch_.LoadIfChanged();
    return next ? next->groups.at(0).name : "";
  }

  test::TempDirectory dir_;
  const cloud::CloudRegistry clouds_{"cloud"};
  const FakeClock clock_;
  std::string logged_;
  const Log log_{clock_, [this](std::string_view line) { logged_ += line; }, LogFormat::kText};
  ConfigWatch watch_{
      dir_.At("config.yaml"), {clouds_, [](const char*) -> const char* { return nullptr; }}, log_};
};

TEST_F(ConfigWatchTest, WhatHasNotChangedIsNotReadAgain) {
  Write(GroupText("a"));
  EXPECT_EQ(MUST(watch_.LoadFirst()).groups.at(0).name, "a");
  EXPECT_EQ(Changed(), "");
  Write(GroupText("b"));
  EXPECT_EQ(Changed(), "b");
  EXPECT_EQ(Changed(), "");
}

TEST_F(ConfigWatchTest, ABadFileIsSaidOnceAndAGoodOneCountsAgain) {
  Write(GroupText("a"));
  ASSERT_OK(watch_.LoadFirst());
  Write(GroupText("b", ", maxPods: 0"));
  EXPECT_EQ(Changed(), "");
  EXPECT_THAT(logged_, AllOf(HasSubstr("the old one stays in use"), HasSubstr("maxPods")));
  logged_.clear();
  EXPECT_EQ(Changed(), "");
  EXPECT_THAT(logged_, IsEmpty());
  Write(GroupText("c"));
  EXPECT_EQ(Changed(), "c");
}

TEST_F(ConfigWatchTest, AFileThatIsGoneForAMomentChangesNothing) {
  Write(GroupText("a"));
  ASSERT_OK(watch_.LoadFirst());
  std::filesystem::remove(dir_.At("config.yaml"));
  EXPECT_EQ(Changed(), "");
  Write(GroupText("b"));
  EXPECT_EQ(Changed(), "b");
}

TEST_F(ConfigWatchTest, FilesThatItNamesAreWatchedFromTheTimeItNamesThem) {
  dir_.Write("data", "one");
  dir_.Write("other", "x");
  Write(GroupText("a", ", userData: '@data'"));
  EXPECT_EQ(MUST(watch_.LoadFirst()).groups.at(0).user_data, "one");
  dir_.Write("data", "two");
  EXPECT_EQ(watch_.LoadIfChanged().value().groups.at(0).user_data, "two");
  dir_.Write("other", "y");
  EXPECT_EQ(Changed(), "") << "nobody has named it";
  Write(GroupText("a", ", userData: '@other'"));
  EXPECT_EQ(watch_.LoadIfChanged().value().groups.at(0).user_data, "y");
  dir_.Write("data", "three");
  EXPECT_EQ(Changed(), "") << "nobody names it any more";
  dir_.Write("other", "z");
  EXPECT_EQ(watch_.LoadIfChanged().value().groups.at(0).user_data, "z");
}

TEST_F(ConfigWatchTest, WhatIsForgottenIsReadAgainAndItsMistakesAreSaidAgain) {
  Write(GroupText("a"));
  ASSERT_OK(watch_.LoadFirst());
  watch_.Forget();
  EXPECT_EQ(Changed(), "a");
  Write("nonsense: [");
  EXPECT_EQ(Changed(), "");
  logged_.clear();
  watch_.Forget();
  EXPECT_EQ(Changed(), "");
  EXPECT_THAT(logged_, HasSubstr("is refused"));
}

TEST_F(ConfigWatchTest, WarningsAreLoggedWithTheirPlace) {
  Write(GroupText("a", ", maxSizes: 3"));
  ASSERT_OK(watch_.LoadFirst());
  EXPECT_THAT(logged_, AllOf(HasSubstr("config.yaml:2:"), HasSubstr("unknown key")));
}

TEST(SameYamlTest, WhatIsSaidCountsAndNotWhereItStands) {
  const auto same = [](const std::string& a, const std::string& b) {
    return SameYaml(MUST(yaml::Parse(a, "a")), MUST(yaml::Parse(b, "b")));
  };
  EXPECT_TRUE(same("cloud: {kind: x, list: [1, 2]}",
                   "# moved\ncloud:\n  kind: x\n  list:\n  - 1\n  - 2\n"));
  EXPECT_TRUE(same("", ""));
  EXPECT_FALSE(same("{kind: x}", "{kind: y}"));
  EXPECT_FALSE(same("{kind: x}", "{kind: x, more: 1}"));
  EXPECT_FALSE(same("{kind: x}", "{sort: x}"));
  EXPECT_FALSE(same("[1, 2]", "[2, 1]"));
  EXPECT_FALSE(same("{a: [1]}", "{a: 1}"));
  EXPECT_FALSE(same("", "{}"));
}

}  // namespace
}  // namespace coppice::provider
