#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/main.h"
#include "autoscale/flags.h"
#include "test/support/test_certificates.h"

namespace coppice::app {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome Invoke(std::vector<std::string> arguments, const std::string& name = "coppice") {
  Plugins plugins;
  RegisterDiscoveredPlugins(plugins);
  arguments.insert(arguments.begin(), name);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = Main(static_cast<int>(argv.size()), argv.data(), plugins);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(CliTest, TellsItsVersionAndItsCommands) {
  EXPECT_THAT(Invoke({"--version"}).out, HasSubstr("coppice 0."));
  const Outcome help = Invoke({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"provider", "validate", "run"})
    EXPECT_THAT(help.out, HasSubstr(command));
}

TEST(CliTest, WrongUsageIsCodeTwo) {
  EXPECT_EQ(Invoke({}).code, 2);
  EXPECT_EQ(Invoke({"no-such-command"}).code, 2);
  const Outcome missing = Invoke({"provider"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--config"));
  const Outcome age = Invoke({"provider", "--config=/no/such/file", "--max-connection-age=5"});
  EXPECT_EQ(age.code, 2);
  EXPECT_THAT(age.err, HasSubstr("--max-connection-age"));
}

TEST(CliTest, TheGoProvidersFlagsAreTaken) {
  const Outcome outcome =
      Invoke({"provider", "-config=/no/such/file.yaml", "-v=4", "-logtostderr=true",
              "--stderrthreshold=INFO", "-metrics-addr", ":0"});
  EXPECT_EQ(outcome.code, 1) << "started, and found no file: " << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("/no/such/file.yaml"));
}

TEST(CliTest, ValidateJudgesEveryFile) {
  const test::TempDirectory dir;
  const std::string good =
      dir.Write("good.yaml",
                "clusterTag: a\ncloud: {kind: simulated}\n"
                "nodeGroups: [{name: web, maxSize: 2, flavor: small-2-4, zone: north1}]\n");
  const std::string bad =
      dir.Write("bad.yaml",
                "clusterTag: a\ncloud: {kind: simulated}\n"
                "nodeGroups: [{name: web, maxSize: 2, flavour: small-2-4, zone: north1}]\n");
  EXPECT_EQ(Invoke({"validate", good}).code, 0);
  const Outcome both = Invoke({"validate", good, bad});
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.err, HasSubstr("did you mean 'flavor'"));
  EXPECT_EQ(Invoke({"validate", dir.At("absent.yaml")}).code, 1);
}

TEST(CliTest, RunTakesTheAutoscalersFlags) {
  const Outcome help = Invoke({"run", "--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* text : {"Scale-up:", "Scale-down:", "--max-nodes-total", "--expander"})
    EXPECT_THAT(help.out, HasSubstr(text));
  const Outcome wrong = Invoke({"run", "--scan-intervall=10s"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean --scan-interval"));
}

TEST(CliTest, AProviderThatIsNotThereIsToldBeforeAnythingIsConnected) {
  const Outcome aws =
      Invoke({"--cloud-provider=aws", "--kubeconfig=/nowhere"}, "cluster-autoscaler");
  EXPECT_EQ(aws.code, 2);
  EXPECT_THAT(aws.err, HasSubstr("through an externalgrpc provider"));
}

TEST(CliTest, UnderUpstreamsNameTheProgramIsTheAutoscaler) {
  const Outcome wrong = Invoke({"--estimator=oldbinpacking"}, "./bin/cluster-autoscaler");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--estimator"));
  EXPECT_THAT(Invoke({"--help"}, "cluster-autoscaler").out, HasSubstr("--max-nodes-total"));
}

// What upstream's chart renders for externalgrpc: its own list, then extraArgs with and without
// values, a repeated one among them. All of it is understood; what is missing here is a cluster.
TEST(CliTest, TheArgumentsOfUpstreamsChartAreAccepted) {
  const std::vector<std::string> chart = {"--cloud-provider=externalgrpc",
                                          "--namespace=kube-system",
                                          "--nodes=1:10:pool-a",
                                          "--nodes=0:5:pool-b",
                                          "--logtostderr=true",
                                          "--stderrthreshold=info",
                                          "--v=4"};
  const std::vector<std::string> extra = {"--cloud-config=/config/cloud-config",
                                          "--expander=priority,least-waste",
                                          "--balance-similar-node-groups",
                                          "--scan-interval=10s",
                                          "--skip-nodes-with-local-storage=false",
                                          "--skip-nodes-with-system-pods=false",
                                          "--scale-down-unneeded-time=5m",
                                          "--startup-taint=a",
                                          "--startup-taint=b",
                                          "--leader-elect=true",
                                          "--write-status-configmap=true",
                                          "--max-node-provision-time=15m"};
  std::vector<std::string> arguments = chart;
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  const auto flags = autoscale::ParseFlags(arguments);
  ASSERT_TRUE(flags.ok()) << flags.status().message();
  EXPECT_EQ(flags->cloud_provider, "externalgrpc");
  EXPECT_EQ(flags->options.startup_taint, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(flags->verbosity, 4);
  // Also with discovery, which the chart renders for the providers that have it.
  arguments.push_back("--node-group-auto-discovery=label:cluster=x");
  EXPECT_TRUE(autoscale::ParseFlags(arguments).ok());
  arguments.push_back("--kubeconfig=/nowhere/kubeconfig");
  const Outcome started = Invoke(arguments, "./cluster-autoscaler");
  EXPECT_EQ(started.code, 1) << "2 would be wrong usage";
}

TEST(CliTest, ACloudRegisteredTwiceIsFoundBeforeAnythingRuns) {
  Plugins plugins;
  const auto factory = [](const cloud::CloudContext&) -> Result<std::unique_ptr<cloud::Cloud>> {
    return NotFound("");
  };
  plugins.clouds.Add("mine", factory);
  plugins.clouds.Add("mine", factory);
  std::string name = "coppice";
  char* argv[] = {name.data()};
  testing::internal::CaptureStderr();
  EXPECT_EQ(Main(1, argv, plugins), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("registered twice"));
}

}  // namespace
}  // namespace coppice::app
