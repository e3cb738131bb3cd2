#include "plugins/batch/resource_strategy_fit/config.h"
#include "test/conformance/batch_suite.h"

namespace coppice {
namespace batch::resource_strategy_fit {
void Register(PluginRegistry& registry);
}

namespace conformance {
namespace {

using batch::resource_strategy_fit::ReadConfig;
using batch::resource_strategy_fit::ReadPodWish;

INSTANTIATE_TEST_SUITE_P(ResourceStrategyFit, BatchPluginSuite,
                         testing::Values(BatchPluginUnderTest{
                             .name = "resource-strategy-fit", .add = [](auto& plugins, auto&) {
                               batch::resource_strategy_fit::Register(plugins);
                             }}));

batch::Arguments Of(const std::string& yaml) {
  const auto conf = batch::ParseConf(
      "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: x\n    arguments: " + yaml + "\n");
  return conf->tiers[0].plugins[0].arguments;
}

TEST(ResourceStrategyFitTest, TheLongestFamilyDecidesAndAName) {
  const auto config = ReadConfig(
      Of("{resources: {a.com/*: {weight: 2}, a.com/gpu*: {weight: 3}, a.com/gpu-x: {weight: 4}, "
         "'*': {weight: 9}, a*b: {weight: 9}}}"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Find("a.com/other")->weight, 2);
  EXPECT_EQ(config->Find("a.com/gpu-y")->weight, 3);
  EXPECT_EQ(config->Find("a.com/gpu-x")->weight, 4);
  EXPECT_EQ(config->Find("cpu"), nullptr);
}

TEST(ResourceStrategyFitTest, AWrongTypeIsRefusedByName) {
  for (const char* yaml : {"{resourceStrategyFitWeight: ten}", "{resources: [cpu]}",
                           "{sra: {enable: 1}}", "{proportional: {resourceProportion: 4}}"}) {
    const auto config = ReadConfig(Of(yaml));
    EXPECT_FALSE(config.ok()) << yaml;
    EXPECT_THAT(config.status().message(), testing::HasSubstr("must be")) << yaml;
  }
}

TEST(ResourceStrategyFitTest, APodsOwnWish) {
  model::Labels annotations;
  EXPECT_FALSE(ReadPodWish(annotations)->has_value());
  annotations["volcano.sh/resource-strategy-scoring-type"] = "MostAllocated";
  EXPECT_FALSE(ReadPodWish(annotations).ok());
  annotations["volcano.sh/resource-strategy-weight"] = R"({"cpu": 2, "memory": null})";
  EXPECT_EQ((*ReadPodWish(annotations))->weights.at("cpu"), 2);
  annotations["volcano.sh/resource-strategy-weight"] = R"({"cpu": 1.5})";
  EXPECT_FALSE(ReadPodWish(annotations).ok());
}

// Nodes have 4 cpus; a has one in use, b one as well, c none.
class StrategyScoreTest : public testing::Test {
 protected:
  std::vector<double> Scores(const std::string& arguments) {
    batch::PluginRegistry plugins;
    fit::FilterRegistry filters{"filter"};
    batch::resource_strategy_fit::Register(plugins);
    const auto conf = batch::ParseConf(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: "
        "resource-strategy-fit\n    arguments: " +
        arguments + "\n");
    const auto session =
        batch::Session::Open(*conf, {}, plugins, filters, world_.snapshot, world_.input);
    EXPECT_TRUE(session.ok()) << session.status();
    for (batch::Task* task : (*session)->FindJob("ns/big")->tasks) {
      if (task->name == "big-0") return *(*session)->ask().Score(*task, (*session)->nodes());
    }
    return {};
  }
  BatchWorld world_;
};

TEST_F(StrategyScoreTest, MostLikesTheFullerAndLeastTheEmptier) {
  // big-0 asks for two of four cpus.
  EXPECT_EQ(Scores("{resourceStrategyFitWeight: 1, resources: {cpu: {type: MostAllocated}}}"),
            (std::vector<double>{75, 75, 50}));
  EXPECT_EQ(Scores("{resourceStrategyFitWeight: 2, resources: {cpu: {type: LeastAllocated}}}"),
            (std::vector<double>{50, 50, 100}));
}

TEST_F(StrategyScoreTest, NodesWithoutScarceThingsAreLiked) {
  auto rich = std::make_shared<model::Node>(*world_.input.nodes[0].object);
  rich->status.allocatable["a.com/gpu"] = model::Quantity::FromUnits(2);
  world_.input.nodes[0].object = rich;
  EXPECT_EQ(Scores("{resourceStrategyFitWeight: 0, sra: {enable: true, resources: a.com/gpu, "
                   "weight: 3}}"),
            (std::vector<double>{0, 300, 300}));
}

}  // namespace
}  // namespace conformance
}  // namespace coppice
