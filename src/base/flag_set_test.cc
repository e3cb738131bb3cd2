#include "base/flag_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log_flags.h"

namespace coppice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// One flag of each kind.
struct Options {
  bool fast = false;
  int count = 3;
  int64_t priority = -10;
  double share = 0.5;
  std::optional<double> speed;
  Duration wait = std::chrono::seconds(10);
  std::optional<Duration> lasts;
  std::string name = "web";
  std::string format = "text";
  std::vector<std::string> taints;
  std::vector<std::string> order = {"a", "b"};
  std::vector<std::string> schedulers;
  std::vector<std::string> files;
  bool exact = false;
};

class FlagSetTest : public testing::Test {
 protected:
  FlagSetTest() {
    set_.AddBool("fast", o_.fast, "Fast.");
    set_.AddNumber("count", o_.count, "Count.");
    set_.AddNumber("priority", o_.priority, AnyNumber<int64_t>(), "Priority.");
    set_.AddNumber("share", o_.share, kShare, "Share.");
    set_.AddNumber("speed", o_.speed, "Speed.");
    set_.AddDuration("wait", o_.wait, {.least = std::chrono::milliseconds(1)}, "Wait.");
    set_.AddDuration("lasts", o_.lasts, "Lasts.");
    set_.AddString("name", o_.name, "Name.");
    set_.AddChoice("format", o_.format, {"text", "json"}, "the format.");
    set_.AddRepeated("taint", o_.taints, "Taint.");
    set_.AddList("order", o_.order, "Order.");
    set_.AddLists("scheduler", o_.schedulers, "Schedulers.");
    set_.Group("Others");
    set_.Alias("label", "name");
    set_.Refuse("estimator", "binpacking", "there is one");
    set_.Accept("log-dir", "string", "", "no files are written");
    set_.Add("exact", "bool", "false", "Exact.", [this](std::string_view text) -> Status {
      o_.exact = TRY(FlagBool(text));
      if (o_.exact) o_.fast = false;
      return Status::Ok();
    });
    set_.First("exact");
  }
  std::string Refusal(const std::vector<std::string>& args) {
    const Status status = set_.Parse(args);
    return status.ok() ? "it was taken" : status.message();
  }

  Options o_;
  FlagSet set_;
};

TEST_F(FlagSetTest, ReadsGosForms) {
  ASSERT_TRUE(
      set_.Parse({"--fast", "-count=+7", "--priority", "-5", "--share=1", "--speed=0", "--wait",
                  "1m30s", "--lasts=24h", "--label=api", "--format=json", "--taint=a", "--taint",
                  "b", "--order=c", "--scheduler=x,y", "--scheduler=z", "--log_dir=/tmp"})
          .ok());
  EXPECT_TRUE(o_.fast);
  EXPECT_EQ(o_.count, 7);
  EXPECT_EQ(o_.priority, -5);
  EXPECT_EQ(o_.share, 1);
  EXPECT_EQ(o_.speed, 0);
  EXPECT_EQ(o_.wait, std::chrono::seconds(90));
  EXPECT_EQ(o_.lasts, std::chrono::hours(24));
  EXPECT_EQ(o_.name, "api");
  EXPECT_EQ(o_.format, "json");
  EXPECT_THAT(o_.taints, ElementsAre("a", "b"));
  EXPECT_THAT(o_.order, ElementsAre("c"));
  EXPECT_THAT(o_.schedulers, ElementsAre("x", "y", "z"));
  EXPECT_THAT(set_.notes(), ElementsAre("--log-dir=/tmp has no effect: no files are written"));
  EXPECT_TRUE(set_.Given("name")) << "under its other name";
  EXPECT_FALSE(set_.Given("estimator"));
}

TEST_F(FlagSetTest, RefusesByNameWithWhatWouldBeTaken) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"--count=-1", "--count=-1: '-1' is out of range: a whole number, at least 0"},
      {"--count=5.5", "'5.5' is not a whole number"},
      {"--count=99999999999", "out of range"},
      {"--count=", "'' is not a whole number"},
      {"--share=nan", "'nan' is not a number, 0 to 1"},
      {"--share=inf", "'inf' is not a number"},
      {"--share=1.01", "0 to 1"},
      {"--speed=-2", "at least 0"},
      {"--speed=NaN", "not a number"},
      {"--wait=0s", "--wait=0s: '0s' is out of range: a time, at least 1ms"},
      {"--wait=-5s", "at least 1ms"},
      {"--wait=5", "--wait=5"},
      {"--lasts=-1h", "at least 0s"},
      {"--fast=perhaps", "not true or false"},
      {"--format=jsn", "not text or json; did you mean json?"},
      {"--estimator=other", "--estimator=other: is not supported here: there is one"},
      {"--cuont=3", "there is no flag --cuont; did you mean --count?"},
      {"--zzzzzzzz", "--help lists them"},
      {"--wait", "--wait needs a value"},
      {"count=3", "'count=3' is no flag; flags begin with --: did you mean --count=3?"},
      {"-", "is no flag"},
      {"--", "is no flag"},
  };
  for (const auto& [arg, says] : rows) EXPECT_THAT(Refusal({arg}), HasSubstr(says)) << arg;
}

TEST_F(FlagSetTest, AForgottenValueDoesNotSwallowTheNextFlag) {
  EXPECT_THAT(Refusal({"--name", "--count=3"}), HasSubstr("--name needs a value"));
  EXPECT_TRUE(set_.Parse({"--name", "-"}).ok());
  EXPECT_EQ(o_.name, "-");
}

TEST_F(FlagSetTest, WhatSetsOthersIsReadBeforeThemWhereverItStands) {
  ASSERT_TRUE(set_.Parse({"--fast", "--exact"}).ok());
  EXPECT_TRUE(o_.fast);
  EXPECT_TRUE(o_.exact);
}

TEST_F(FlagSetTest, HelpIsAnsweredWhateverElseIsWrong) {
  for (const char* help : {"--help", "-h", "-help"}) {
    ASSERT_TRUE(set_.Parse({"--cuont=3", help}).ok());
    EXPECT_TRUE(set_.help_wanted());
  }
  const std::string text = set_.AsHelp();
  EXPECT_THAT(text, HasSubstr("--wait duration (10s)\n      Wait."));
  EXPECT_THAT(text, HasSubstr("Others:\n  --label"));
}

TEST_F(FlagSetTest, WhatIsRequiredIsNamed) {
  set_.Require("taint");
  EXPECT_THAT(Refusal({}), HasSubstr("--taint is required: Taint."));
  EXPECT_TRUE(set_.Parse({"--taint=x"}).ok());
}

TEST(FlagSetWordsTest, WordsAreTakenWhereACommandHasThem) {
  std::vector<std::string> files;
  FlagSet set;
  set.AddWords("FILE", files, true, "What is read.");
  EXPECT_THAT(set.Parse({}).message(), HasSubstr("FILE is required: What is read."));
  ASSERT_TRUE(set.Parse({"a", "-"}).ok());
  EXPECT_THAT(files, ElementsAre("a", "-"));
}

TEST(FlagSetWordsTest, FlagsOfAnotherCommandAreShownWhenAskedFor) {
  int own = 0;
  int other = 0;
  FlagSet set;
  set.AddNumber("own", own, "Own.");
  set.Further();
  set.AddNumber("other", other, "Other.");
  ASSERT_TRUE(set.Parse({"--help"}).ok());
  EXPECT_THAT(set.AsHelp(), AllOf(HasSubstr("--own"), Not(HasSubstr("--other")),
                                  HasSubstr("--help-flags shows 1 more")));
  ASSERT_TRUE(set.Parse({"--help-flags"}).ok());
  EXPECT_THAT(set.AsHelp(), HasSubstr("--other"));
}

// Two engines that have a flag of the same name, and a process that has one of its own.
class SwitchesTest : public testing::Test {
 protected:
  SwitchesTest() {
    set_.AddBool("pools", pools_, "Pools.");
    set_.AddBool("batch", batch_, "Batch.");
    set_.AddString("gates", process_, "Of the process.");
    set_.With("pools");
    set_.AddString("gates", of_pools_, "Of pools.");
    set_.AddString("policy", policy_, "Of pools alone.");
    set_.Require("policy");
    set_.With("batch");
    set_.AddString("gates", of_batch_, "Of batch.");
    set_.With("");
  }

  bool pools_ = false;
  bool batch_ = false;
  std::string process_, of_pools_, of_batch_, policy_;
  FlagSet set_;
};

TEST_F(SwitchesTest, AFlagBelongsToWhomTheSwitchNamesWhereverThatStands) {
  ASSERT_TRUE(set_.Parse({"--gates=a"}).ok());
  EXPECT_EQ(process_, "a");
  ASSERT_TRUE(set_.Parse({"--gates=b", "-batch"}).ok());
  EXPECT_EQ(of_batch_, "b");
  ASSERT_TRUE(set_.Parse({"--policy=x", "--gates=c", "--batch", "--pools=true"}).ok());
  EXPECT_EQ(of_pools_, "c");
  EXPECT_EQ(process_ + of_batch_, "ab");
}

TEST(FlagSwitchTest, ASwitchMayBeAFileThatIsNamed) {
  std::string file, policy;
  FlagSet set;
  set.AddString("file", file, "Of pools.");
  set.With("file");
  set.AddString("policy", policy, "Counts with them.");
  EXPECT_TRUE(set.Parse({"--policy=x", "--file=pools.yaml"}).ok());
  EXPECT_TRUE(set.Parse({"--file", "pools.yaml", "--policy=x"}).ok());
  EXPECT_EQ(set.Parse({"--file=", "--policy=x"}).message(),
            "--policy counts with --file only, which is not given");
}

TEST_F(SwitchesTest, WithoutItsSwitchAFlagIsRefusedAndNothingIsRequired) {
  EXPECT_EQ(set_.Parse({"--policy=x"}).message(),
            "--policy counts with --pools only, which is not given");
  EXPECT_EQ(set_.Parse({"--pools", "--policy=x", "--pools=false"}).message(),
            "--policy counts with --pools only, which is not given");
  EXPECT_TRUE(set_.Parse({}).ok());
  EXPECT_THAT(set_.Parse({"--pools"}).message(), HasSubstr("--policy is required"));
}

TEST(FlagSetPrefixTest, TheSameFlagsTwiceAreToldApartByAPrefix) {
  std::string now = "a";
  std::string before = "a";
  FlagSet set;
  set.AddString("name", now, "Name.");
  set.Alias("label", "name");
  set.Prefix("base-");
  set.AddString("name", before, "Name.");
  set.Alias("label", "name");
  ASSERT_TRUE(set.Parse({"--base-label=x", "--name", "y"}).ok());
  EXPECT_EQ(before, "x");
  EXPECT_EQ(now, "y");
  EXPECT_TRUE(set.Given("base-name"));
  EXPECT_THAT(set.flags().front().values, ElementsAre("y"));
  EXPECT_THAT(set.AsHelp(), Not(HasSubstr("base-")));
}

TEST(LogFlagsTest, KlogsFlagsAreTakenAndWhatCannotBeIsRefused) {
  LogFlags values;
  FlagSet set;
  AddLogFlags(set, values);
  ASSERT_TRUE(set.Parse({"-v=4", "-logtostderr=true", "--stderrthreshold=INFO"}).ok());
  EXPECT_EQ(values.verbosity, 4);
  EXPECT_THAT(set.notes(), IsEmpty());
  EXPECT_TRUE(CheckLogFlags(values).ok());
  ASSERT_TRUE(set.Parse({"--logtostderr=false", "--log_file=/x"}).ok());
  EXPECT_THAT(CheckLogFlags(values).message(), HasSubstr("redirect standard error"));
}

}  // namespace
}  // namespace coppice
