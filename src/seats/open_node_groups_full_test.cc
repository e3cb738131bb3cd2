#include "seats/open_node_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/opened_engine_rig.h"

namespace coppice::seats {
namespace {

using ::testing::HasSubstr;

class OpenNodeGroupsTest : public test::OpenedEngineRig {
 protected:
  std::string Refusal(std::vector<std::string> args) {
    const auto made = Make(std::move(args));
    return made.ok() ? "it was accepted" : made.status().message();
  }
};

TEST_F(OpenNodeGroupsTest, BuysForAPendingPodFromACloudOfThisProgram) {
  const std::string config = dir_.Write("groups.yaml", kGroups);
  const auto assembly =
      MUST(Make({"--cloud-provider=simulated", "--cloud-config", config, "--upstream-exact"}));
  AddPendingPod();

  const auto report = PassOf(*assembly);

  ASSERT_EQ(report->scale_up.resizes.size(), 1U) << report->error;
  EXPECT_EQ(report->scale_up.resizes[0].group, "web");
  EXPECT_EQ(MUST(assembly->groups().TargetSize("web")), 1);
}

TEST_F(OpenNodeGroupsTest, NodesReplacesTheLimitsOfTheFile) {
  const std::string config = dir_.Write("groups.yaml", kGroups);
  const std::vector<std::string> args = {"--cloud-provider=simulated", "--cloud-config=" + config};
  const auto with = [&](std::string nodes) {
    auto all = args;
    all.push_back("--nodes=" + std::move(nodes));
    return all;
  };
  const auto assembly = MUST(Make(with("2:7:web")));
  const auto groups = assembly->groups().Groups();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].min_size, 2);
  EXPECT_EQ(groups[0].max_size, 7);
  EXPECT_THAT(Refusal(with("2:7:wob")), HasSubstr("no node group 'wob'; there are: web"));
  EXPECT_THAT(Refusal(with("7:2:web")), HasSubstr("0 <= min <= max"));
  EXPECT_THAT(Refusal(with("web")), HasSubstr("min:max:name"));
}

TEST_F(OpenNodeGroupsTest, GroupsOfAChangedFileAreThereAfterTheNextRefresh) {
  const std::string config = dir_.Write("groups.yaml", kGroups);
  const auto assembly = MUST(Make({"--cloud-provider=simulated", "--cloud-config=" + config}));
  dir_.Write("groups.yaml", std::string(kGroups) + "#\n");  // nothing new in it
  dir_.Write("groups.yaml",
             "clusterTag: a\ncloud: {kind: simulated, seed: 1}\n"
             "nodeGroups: [{name: web, maxSize: 5, flavor: small-2-4, zone: north1}, "
             "{name: batch, maxSize: 3, flavor: small-2-4, zone: north1}]\n");
  EXPECT_OK(assembly->groups().Refresh(Deadline::In(clock_, std::chrono::seconds(5))));
  EXPECT_EQ(assembly->groups().Groups().size(), 2U);
  dir_.Write("groups.yaml", "clusterTag: a\nnodeGroups: nonsense\n");
  EXPECT_OK(assembly->groups().Refresh(Deadline::In(clock_, std::chrono::seconds(5))));
  EXPECT_EQ(assembly->groups().Groups().size(), 2U) << "a bad file keeps the old groups";
}

TEST_F(OpenNodeGroupsTest, AProviderThatIsNotThereIsRefusedWithWhatIs) {
  EXPECT_THAT(Refusal({"--cloud-provider=simulatd"}),
              AllOf(HasSubstr("cloudscale"), HasSubstr("did you mean 'simulated'")));
  for (const char* upstream : {"aws", "gce", "azure", "clusterapi", "hetzner"}) {
    EXPECT_THAT(Refusal({std::string("--cloud-provider=") + upstream}),
                HasSubstr("through an externalgrpc provider"));
  }
  EXPECT_THAT(Refusal({}), HasSubstr("must name a provider"));
  EXPECT_THAT(Refusal({"--cloud-provider=simulated"}), HasSubstr("needs --cloud-config"));
  EXPECT_THAT(Refusal({"--cloud-provider=simulated", "--node-group-auto-discovery=asg:tag=x"}),
              HasSubstr("groups come from the provider"));
}

TEST_F(OpenNodeGroupsTest, SeveralProvidersStandBehindOneLoop) {
  const std::string first = dir_.Write("first.yaml", kGroups);
  const std::string second =
      dir_.Write("second.yaml",
                 "clusterTag: b\ncloud: {kind: simulated, seed: 2}\n"
                 "nodeGroups: [{name: batch, maxSize: 3, flavor: small-2-4, zone: north1}]\n");
  const auto assembly = MUST(Make(
      {"--cloud-provider=a=simulated,b=simulated", "--cloud-config=a=" + first + ",b=" + second}));
  EXPECT_OK(assembly->groups().Refresh(Deadline::In(clock_, std::chrono::seconds(5))));
  EXPECT_EQ(assembly->groups().Groups().size(), 2U);
  EXPECT_THAT(Refusal({"--cloud-provider=a=simulated,b=simulated", "--cloud-config=" + first}),
              HasSubstr("NAME=FILE"));
  EXPECT_THAT(Refusal({"--cloud-provider=a=simulated,b=simulated",
                       "--cloud-config=a=" + first + ",b=" + second + ",c=" + first}),
              HasSubstr("'c' is no provider"));
  EXPECT_THAT(Refusal({"--cloud-provider=a=simulated,b=aws", "--cloud-config=a=" + first}),
              HasSubstr("externalgrpc"));
}

TEST_F(OpenNodeGroupsTest, AProcessorThatIsNotThereIsRefusedWithWhatIs) {
  const std::string config = dir_.Write("groups.yaml", kGroups);
  EXPECT_THAT(Refusal({"--cloud-provider=simulated", "--cloud-config=" + config,
                       "--processor=pod-list=skip-namespace:a"}),
              AllOf(HasSubstr("skip-namespaces"), HasSubstr("did you mean")));
}

TEST_F(OpenNodeGroupsTest, AFileForAnotherCloudIsRefused) {
  const std::string config = dir_.Write("groups.yaml", kGroups);
  EXPECT_THAT(Refusal({"--cloud-provider=cloudscale", "--cloud-config=" + config}),
              HasSubstr("is for the cloud 'simulated'"));
}

TEST_F(OpenNodeGroupsTest, ExpandersAndSchedulerConfigurationsAreChecked) {
  const std::string config = dir_.Write("groups.yaml", kGroups);
  const std::vector<std::string> args = {"--cloud-provider=simulated", "--cloud-config=" + config};
  auto expander = args;
  expander.push_back("--expander=cheapest");
  EXPECT_THAT(Refusal(expander), AllOf(HasSubstr("cheapest"), HasSubstr("least-waste")));
  auto scheduler = args;
  scheduler.push_back("--scheduler-config-file=" + dir_.Write("s.yaml", "kind: Nonsense\n"));
  EXPECT_THAT(Refusal(scheduler), HasSubstr("--scheduler-config-file"));
}

}  // namespace
}  // namespace coppice::seats
