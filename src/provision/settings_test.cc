#include "provision/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "test/support/must.h"

namespace coppice::provision {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Result<Settings> Read(std::vector<std::string> args,
                      const std::map<std::string, std::string>& variables = {}) {
  return TakeSettings(args, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(SettingsTest, DefaultsAreThoseOfTheOptions) {
  // Each default that the table shows, set as if somebody had written it, changes nothing.
  for (const Setting& setting : AllSettings()) {
    Settings settings;
    EXPECT_OK(setting.set(settings, setting.default_text)) << setting.name;
    EXPECT_THAT(settings.notes, SizeIs(0)) << setting.name;
    EXPECT_EQ(settings.options.gates.reserved_capacity, FeatureGates{}.reserved_capacity);
    EXPECT_EQ(settings.options.batch_quiet, EngineOptions{}.batch_quiet) << setting.name;
    EXPECT_EQ(settings.options.batch_wait, EngineOptions{}.batch_wait) << setting.name;
    EXPECT_EQ(settings.options.batch_max_duration, EngineOptions{}.batch_max_duration);
    EXPECT_EQ(settings.options.batch_idle_duration, EngineOptions{}.batch_idle_duration);
    EXPECT_EQ(settings.options.ask_filters, EngineOptions{}.ask_filters);
    EXPECT_EQ(settings.options.max_view_age, EngineOptions{}.max_view_age);
    EXPECT_EQ(settings.options.spot_to_spot_least_types, EngineOptions{}.spot_to_spot_least_types);
  }
}

TEST(SettingsTest, WhatItKnowsIsTakenOutAndTheRestIsLeftForTheProcess) {
  std::vector<std::string> args = {
      "--batch-max-duration=5s", "--cloud-provider", "simulated",
      "--preference-policy",     "Ignore",           "--kube-client-qps=7"};
  const auto settings =
      MUST(TakeSettings(args, [](const char*) -> const char* { return nullptr; }));
  EXPECT_THAT(args, ElementsAre("--cloud-provider", "simulated", "--kube-client-qps=7"));
  EXPECT_EQ(settings.options.batch_max_duration, seconds(5));
  EXPECT_TRUE(settings.options.fixed_batches);
  EXPECT_EQ(settings.options.preference_policy, PreferencePolicy::kIgnore);
  EXPECT_FALSE(settings.kube_client_qps.has_value());
}

TEST(SettingsTest, AVariableCountsWhereNoFlagSaysOtherwise) {
  const auto settings =
      MUST(Read({"--batch-idle-duration=3s"}, {{"BATCH_IDLE_DURATION", "9s"},
                                               {"MIN_VALUES_POLICY", "BestEffort"},
                                               {"KUBE_CLIENT_QPS", "50"},
                                               {"PAUSE_BETWEEN_DISRUPTIONS", "1h"}}));
  EXPECT_EQ(settings.options.batch_idle_duration, seconds(3));
  EXPECT_EQ(settings.options.min_values_policy, MinValuesPolicy::kBestEffort);
  EXPECT_EQ(settings.kube_client_qps, 50);
  // Ours has no variable.
  EXPECT_EQ(settings.options.pause_between_disruptions, Duration::zero());
}

TEST(SettingsTest, AGateThatIsNotThereIsAnErrorIfItIsAskedForAndNotOtherwise) {
  EXPECT_OK(Read({"--feature-gates=NodeOverlay=false,StaticCapacity=true"}).status());
  EXPECT_TRUE(MUST(Read({"--feature-gates", "StaticCapacity=true"})).options.gates.static_capacity);
  const auto overlay = Read({}, {{"FEATURE_GATES", "NodeOverlay=true"}});
  EXPECT_EQ(overlay.status().code(), Code::kUnimplemented);
  EXPECT_THAT(overlay.status().message(), HasSubstr("FEATURE_GATES=NodeOverlay=true"));
  EXPECT_THAT(overlay.status().message(), HasSubstr("not there yet"));
  EXPECT_THAT(Read({"--feature-gates=Teleport=true"}).status().message(),
              HasSubstr("there is no feature gate 'Teleport'"));
  EXPECT_THAT(Read({"--feature-gates=NodeRepair"}).status().message(),
              HasSubstr("write Name=true"));
}

TEST(SettingsTest, WhatHasNoEffectIsSaidAndWhatIsNotThereIsRefused) {
  EXPECT_THAT(MUST(Read({"--memory-limit=1000"})).notes,
              ElementsAre(HasSubstr("--memory-limit has no effect")));
  EXPECT_EQ(Read({"--enable-profiling"}).status().code(), Code::kUnimplemented);
  EXPECT_EQ(Read({"--ignore-dra-requests=false"}).status().code(), Code::kUnimplemented);
  EXPECT_EQ(Read({"--preference-policy=Maybe"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Read({"--batch-max-duration=-1s"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Read({"--metrics-port=70000"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Read({"--metrics-port"}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace coppice::provision
