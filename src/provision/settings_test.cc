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

// As `coppice run --node-pools` reads them, beside one flag of the process.
struct Table {
  Table() {
    set.AddNumber("kube-client-qps", qps, "Of the process.");
    AddSettings(set, settings);
  }
  double qps = 5;
  Settings settings;
  FlagSet set;
};

Result<Settings> Read(const std::vector<std::string>& args,
                      const std::map<std::string, std::string>& variables = {}) {
  Table table;
  TRY(table.set.Parse(args));
  TRY(ReadVariables(table.set, table.settings, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  }));
  return table.settings;
}

TEST(SettingsTest, DefaultsAreThoseOfTheOptions) {
  // Each default that the table shows, set as if somebody had written it, changes nothing.
  const Table shown;
  for (const Flag& flag : shown.set.flags()) {
    if (flag.default_text.empty()) continue;
    Table table;
    EXPECT_OK(table.set.Parse({"--" + flag.name + "=" + flag.default_text})) << flag.name;
    EXPECT_THAT(table.set.notes(), SizeIs(0)) << flag.name;
    const EngineOptions& options = table.settings.options;
    EXPECT_EQ(options.gates.reserved_capacity, FeatureGates{}.reserved_capacity);
    EXPECT_EQ(options.batch_quiet, EngineOptions{}.batch_quiet) << flag.name;
    EXPECT_EQ(options.batch_wait, EngineOptions{}.batch_wait) << flag.name;
    EXPECT_EQ(options.batch_max_duration, EngineOptions{}.batch_max_duration);
    EXPECT_EQ(options.batch_idle_duration, EngineOptions{}.batch_idle_duration);
    EXPECT_EQ(options.preference_policy, EngineOptions{}.preference_policy);
    EXPECT_EQ(options.min_values_policy, EngineOptions{}.min_values_policy);
    EXPECT_EQ(options.ask_filters, EngineOptions{}.ask_filters);
    EXPECT_EQ(options.max_view_age, EngineOptions{}.max_view_age);
    EXPECT_EQ(options.spot_to_spot_least_types, EngineOptions{}.spot_to_spot_least_types);
  }
}

TEST(SettingsTest, FlagsSetTheOptionsAndTheProcessKeepsItsOwn) {
  const Settings settings = MUST(
      Read({"--batch-max-duration=5s", "--preference-policy", "Ignore", "--kube-client-qps=7"}));
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

TEST(SettingsTest, TheSchedulersDefaultSpreadIsReadStrictly) {
  const auto settings = MUST(Read({}, {{"SCHEDULER_CONFIG",
                                        "podTopologySpread:\n  defaultConstraints:\n"
                                        "  - maxSkew: 2\n    topologyKey: example.com/zone\n"
                                        "    whenUnsatisfiable: DoNotSchedule\n"}}));
  ASSERT_THAT(settings.options.default_spread, SizeIs(1));
  EXPECT_EQ(settings.options.default_spread[0].max_skew, 2);
  EXPECT_THAT(MUST(Read({"--scheduler-config={}"})).options.default_spread, SizeIs(0));
  const auto wrong = [](const std::string& constraint) {
    return Read({"--scheduler-config={podTopologySpread: {defaultConstraints: [" + constraint +
                 "]}}"})
        .status()
        .message();
  };
  const std::string good = "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}";
  EXPECT_THAT(wrong("{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}"),
              HasSubstr("maxSkew: has to be greater than 0"));
  EXPECT_THAT(wrong("{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never}"),
              HasSubstr("either DoNotSchedule or ScheduleAnyway"));
  EXPECT_THAT(wrong(good + ", " + good), HasSubstr("repeats"));
  EXPECT_THAT(wrong("{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, "
                    "matchLabelKeys: [a]}"),
              HasSubstr("matchLabelKeys has no effect"));
  EXPECT_THAT(wrong("{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, "
                    "labelSelector: {}}"),
              HasSubstr("labelSelector: must not be set"));
  EXPECT_THAT(Read({"--scheduler-config={podTopologySpreads: {}}"}).status().message(),
              HasSubstr("podTopologySpreads"));
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
  Table table;
  EXPECT_OK(table.set.Parse({"--memory-limit=1000"}));
  EXPECT_THAT(table.set.notes(), ElementsAre(HasSubstr("--memory-limit=1000 has no effect")));
  EXPECT_EQ(Read({"--enable-profiling"}).status().code(), Code::kUnimplemented);
  EXPECT_EQ(Read({"--ignore-dra-requests=false"}).status().code(), Code::kUnimplemented);
  EXPECT_EQ(Read({"--preference-policy=Maybe"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Read({"--batch-max-duration=-1s"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Read({"--metrics-port=70000"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Read({"--metrics-port"}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace coppice::provision
