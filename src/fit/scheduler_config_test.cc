#include "fit/scheduler_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::fit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::string_view kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Result<SchedulerConfig> Parse(std::string_view body) {
  return ParseSchedulerConfig(std::string(kHead) + std::string(body), "sched.yaml", {"Spaceship"});
}

SchedulerConfig ParseProfile(std::string_view profile) {
  return MUST(Parse("profiles:\n- schedulerName: default-scheduler\n" + std::string(profile)));
}

// Names of the chain; a half-disabled plug-in carries what is left of it.
std::vector<std::string> ConfiguredChain(const SchedulerConfig& config) {
  std::vector<std::string> names;
  for (const ChainStep& step : config.chain) {
    names.push_back(step.name + (!step.filter       ? " (preFilter only)"
                                 : !step.pre_filter ? " (filter only)"
                                                    : ""));
  }
  return names;
}

TEST(SchedulerConfigTest, AnEmptyConfigurationIsTheDefaultProfile) {
  const SchedulerConfig config = MUST(Parse(""));

  EXPECT_EQ(config, SchedulerConfig());
  EXPECT_EQ(ConfiguredChain(config), DefaultFilterOrder());
}

TEST(SchedulerConfigTest, MultiPointDisablesAFilterWhole) {
  const SchedulerConfig config = ParseProfile(
      "  plugins:\n    multiPoint:\n      disabled:\n      - name: InterPodAffinity\n      - name: "
      "ImageLocality\n");

  auto expected = DefaultFilterOrder();
  std::erase(expected, "InterPodAffinity");
  EXPECT_EQ(ConfiguredChain(config), expected);
}

TEST(SchedulerConfigTest, DisablingEverythingLeavesWhatIsEnabled) {
  const SchedulerConfig config = ParseProfile(
      "  plugins:\n    multiPoint:\n      disabled: [{name: \"*\"}]\n"
      "      enabled: [{name: Spaceship}, {name: NodeName}, {name: DefaultBinder}]\n");

  EXPECT_THAT(ConfiguredChain(config), ElementsAre("Spaceship", "NodeName"));
}

TEST(SchedulerConfigTest, AFilterDisabledAtFilterOnlyStillRejectsInPreFilter) {
  const SchedulerConfig config = ParseProfile(
      "  plugins:\n    filter:\n      disabled: [{name: VolumeBinding}, {name: NodeName}]\n");

  auto expected = DefaultFilterOrder();
  std::erase(expected, "NodeName");
  *std::ranges::find(expected, "VolumeBinding") = "VolumeBinding (preFilter only)";
  EXPECT_EQ(ConfiguredChain(config), expected);
}

TEST(SchedulerConfigTest, AFilterEnabledAtFilterMovesToTheFront) {
  const SchedulerConfig config = ParseProfile(
      "  plugins:\n    multiPoint:\n      disabled: [{name: \"*\"}]\n"
      "      enabled: [{name: NodeName}, {name: NodeUnschedulable}]\n"
      "    filter:\n      enabled: [{name: NodeUnschedulable}, {name: TaintToleration}]\n");

  EXPECT_THAT(ConfiguredChain(config),
              ElementsAre("NodeUnschedulable", "NodeName", "TaintToleration"));
}

TEST(SchedulerConfigTest, ReadsTheArgumentsOfFilters) {
  const SchedulerConfig config = ParseProfile(R"(
  pluginConfig:
  - name: NodeResourcesFit
    args:
      kind: NodeResourcesFitArgs
      ignoredResources: [example.com/foo]
      ignoredResourceGroups: [example.net]
      scoringStrategy: {type: LeastAllocated}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: pool, operator: In, values: [a, b]}
            matchFields:
            - {key: metadata.name, operator: NotIn, values: [n]}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor}
  - name: Elsewhere
    args: {anything: goes}
)");

  EXPECT_THAT(config.ignored_resources, ElementsAre("example.com/foo"));
  EXPECT_THAT(config.ignored_resource_groups, ElementsAre("example.net"));
  ASSERT_TRUE(config.added_affinity && config.added_affinity->required);
  const auto& terms = config.added_affinity->required->node_selector_terms;
  ASSERT_EQ(terms.size(), 1u);
  EXPECT_THAT(terms[0].match_expressions,
              ElementsAre(model::NodeSelectorRequirement{"pool", "In", {"a", "b"}}));
  EXPECT_THAT(terms[0].match_fields,
              ElementsAre(model::NodeSelectorRequirement{"metadata.name", "NotIn", {"n"}}));
  ASSERT_EQ(config.default_spread_constraints.size(), 1u);
  EXPECT_EQ(config.default_spread_constraints[0].max_skew, 2);
  EXPECT_EQ(config.default_spread_constraints[0].node_taints_policy, "Honor");
}

TEST(SchedulerConfigTest, SystemDefaultsFilterNothing) {
  const SchedulerConfig config = ParseProfile(
      "  pluginConfig:\n  - name: PodTopologySpread\n    args: {defaultingType: System}\n");

  EXPECT_THAT(config.default_spread_constraints, IsEmpty());
}

struct Mistake {
  std::string name;
  std::string body;
  std::string complaint;  // begins with line:column
};

class SchedulerConfigMistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(SchedulerConfigMistakeTest, IsRefusedWithItsPlace) {
  const auto config = Parse(GetParam().body);

  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.status().message(), HasSubstr("sched.yaml:" + GetParam().complaint));
}

std::string Args(std::string_view plugin, std::string_view args) {
  return "profiles:\n- pluginConfig:\n  - name: " + std::string(plugin) +
         "\n    args: " + std::string(args) + "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SchedulerConfigMistakeTest,
    testing::ValuesIn(std::vector<Mistake>{
        {"TwoProfiles", "profiles:\n- schedulerName: a\n- schedulerName: b\n",
         "4:1: error: profiles: has 2 entries"},
        {"NoSuchFilter",
         "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: NodePort\n",
         "7:15: error: profiles[0].plugins.filter.enabled[0].name: no filter 'NodePort' is "
         "registered; did you "
         "mean 'NodePorts'?"},
        {"RemovedFilter",
         "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: EBSLimits\n",
         "7:15: error: profiles[0].plugins.filter.enabled[0].name: 'EBSLimits' was removed"},
        {"EnabledTwice",
         "profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: NodeName}, {name: "
         "NodeName}]\n",
         "6:42: error: profiles[0].plugins.multiPoint.enabled[1].name: 'NodeName' is enabled "
         "twice"},
        {"FilterWithoutPreFilter",
         "profiles:\n- plugins:\n    preFilter:\n      disabled: [{name: NodePorts}]\n",
         "6:7: error: profiles[0].plugins.preFilter: 'NodePorts' is disabled here but not in "
         "filter"},
        {"ConfiguredTwice",
         "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n  - name: NodeAffinity\n",
         "6:11: error: profiles[0].pluginConfig[1].name: 'NodeAffinity' is configured twice"},
        {"WrongKindOfArguments", Args("NodeAffinity", "{kind: NodePortsArgs}"),
         "6:18: error: profiles[0].pluginConfig[0].args.kind: is 'NodePortsArgs'"},
        {"ResourceNameWithASpace", Args("NodeResourcesFit", "{ignoredResources: [\"a b\"]}"), "6:"},
        {"GroupWithASlash", Args("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}"),
         "6:35: error: profiles[0].pluginConfig[0].args.ignoredResourceGroups: 'a/b' must not "
         "contain '/'"},
        {"MalformedTerm",
         Args(
             "NodeAffinity",
             "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
             "[{matchExpressions: [{key: a, operator: In}]}]}}}"),
         "6:"},
        {"AffinityWithoutTerms",
         Args("NodeAffinity",
              "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}"),
         "6:"},
        {"ConstraintsWithSystemDefaults",
         Args("PodTopologySpread",
              "{defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: "
              "DoNotSchedule}]}"),
         "6:32: error: profiles[0].pluginConfig[0].args.defaultConstraints: need 'defaultingType: "
         "List'"},
        {"ConstraintWithSelector",
         Args("PodTopologySpread",
              "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: z, "
              "whenUnsatisfiable: "
              "DoNotSchedule, labelSelector: {}}]}"),
         "6:"},
        {"RepeatedConstraint",
         Args("PodTopologySpread",
              "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: z, "
              "whenUnsatisfiable: "
              "DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}"),
         "6:"},
        {"ZeroSkew",
         Args("PodTopologySpread",
              "{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: z, "
              "whenUnsatisfiable: "
              "DoNotSchedule}]}"),
         "6:"},
        {"EmptySchedulerName", "profiles:\n- schedulerName: \"\"\n",
         "4:18: error: profiles[0].schedulerName"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(SchedulerConfigTest, RefusesAnotherApiVersion) {
  const auto config =
      ParseSchedulerConfig("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: Pod\n", "f");

  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.status().message(),
              HasSubstr("f:1:13: error: apiVersion: is 'kubescheduler.config.k8s.io/v1beta3'"));
  EXPECT_THAT(config.status().message(), HasSubstr("f:2:7: error: kind: is 'Pod'"));
}

TEST(SchedulerConfigTest, ExtendersAndUnknownKeysAreWarnings) {
  const auto root = MUST(yaml::Parse(
      std::string(kHead) +
          "extenders:\n- urlPrefix: http://x\npercentageOfNodesToScore: 50\nprofilez: []\n",
      "f"));
  yaml::Problems problems;

  ReadSchedulerConfig(root, problems);

  EXPECT_FALSE(problems.has_errors());
  ASSERT_EQ(problems.all().size(), 2u);
  EXPECT_THAT(problems.all()[0].ToString(),
              StartsWith("f:4:1: warning: extenders: are not called"));
  EXPECT_THAT(problems.all()[1].ToString(), HasSubstr("profilez"));
}

}  // namespace
}  // namespace coppice::fit
