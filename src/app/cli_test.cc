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

TEST(CliTest, HelpListsWhatIsLinkedIn) {
  const std::string help = Invoke({"--help"}).out;
  for (const char* linked : {"Linked in:", "simulated", "cloudscale", "externalgrpc", "least-waste",
                             "TaintToleration", "gang"})
    EXPECT_THAT(help, HasSubstr(linked));
  EXPECT_THAT(Invoke({"run", "--help"}).out, HasSubstr("Linked in:"));
}

// One wrong word for each command, its flags and what they name: the same code, the flag's name,
// and the nearest that there is.
TEST(CliTest, WhateverIsWrongTheCodeIsTwoAndTheNearestIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"simulat"}, "did you mean 'simulate'?"},
      {{"--hlep"}, "there is no command '--hlep'"},
      {{"run", "--scan-intervall=10s"}, "did you mean --scan-interval?"},
      {{"run", "--scan-interval=0s"}, "--scan-interval=0s: '0s' is out of range"},
      {{"run", "--max-nodes-total=-1"}, "--max-nodes-total=-1"},
      {{"run", "--scale-down-utilization-threshold=50"}, "0 to 1"},
      {{"run", "--scale-down-utilization-threshold=nan"}, "is not a number"},
      {{"run", "--expander=leest-waste"}, "did you mean 'least-waste'?"},
      {{"run", "--processor=pod-lst=x"}, "did you mean 'pod-list'?"},
      {{"run", "--nodes=web"}, "--nodes=web: write min:max:name"},
      {{"run", "--speed=-1"}, "--speed=-1"},
      {{"run", "--web-address=nowhere"}, "--web-address=nowhere: a port is missing"},
      {{"conform"}, "a provider, an expander, an extender or a cloud"},
      {{"run", "--for=soon"}, "--for=soon"},
      {{"run", "--nodes=1:5:general-nrth1", "--for=1m", "--speed=0"},
       "did you mean 'general-north1'?"},
      {{"run", "--node-pools", "--batch-max-duration=-1s"}, "'-1s' is out of range"},
      {{"run", "--node-pools", "--pool-batch-quiet=-5s"}, "--pool-batch-quiet=-5s"},
      {{"run", "--node-pools", "--pool-max-view-age=-1m"}, "--pool-max-view-age=-1m"},
      {{"run", "--node-pools", "--pause-between-disruptions=-1s"}, "at least 0s"},
      {{"run", "--node-pools", "--spot-to-spot-least-types=-1"}, "'-1' is out of range"},
      {{"run", "--node-pools", "--preference-policy=Respct"}, "Respect or Ignore"},
      {{"run", "--node-pools", "--feature-gates=NodeRepar=true"}, "did you mean NodeRepair?"},
      {{"run", "--batch-max-duration=1s"}, "counts with --node-pools only"},
      {{"run", "--batch", "--schedule-period=0s"}, "--schedule-period=0s"},
      {{"run", "--batch", "--percentage-nodes-to-find=101"}, "0 to 100"},
      {{"run", "--batch", "--gang-attempts=0"}, "1 to 1000"},
      {{"run", "--batch", "--gang-hold=-1s"}, "--gang-hold=-1s"},
      {{"run", "--batch", "--gangs-at-once=0"}, "--gangs-at-once=0"},
      {{"run", "--batch", "--kube-api-qps=-1"}, "--kube-api-qps=-1"},
      {{"run", "--gang-attempts=3"}, "counts with --batch only"},
      {{"explain", "pod", "web-0"}, "asked for as NAMESPACE/NAME, such as default/web-0"},
      {{"explain", "nod", "x"}, "there are pod, node"},
      {{"simulate", "--cluster=examples/simulate/cluster.yaml", "--remove-node=general-22"},
       "did you mean general-2?"},
      {{"simulate", "--node-pools", "--cluster=-"}, "--cloud-config is required"},
      {{"simulate", "--node-pools", "--cluster=-", "--cloud-config=x", "--cloud-provider=simulatd"},
       "did you mean 'simulated'?"},
      {{"run", "now"}, "'now' is no flag"},
      {{"run", "--dry-run"}, "--dry-run: nothing real is touched on a model cluster"},
      {{"simulate"}, "--cluster is required"},
      {{"simulate", "--cluster"}, "--cluster needs a value"},
      {{"simulate", "--cluster=-", "--output=jsn"}, "did you mean json?"},
      {{"simulate", "--cluster=-", "--now=today"}, "--now=today: write a time"},
      {{"simulate", "--cluster=-", "--horizon=-1h"}, "--horizon=-1h"},
      {{"simulate", "--cluster=-", "--expander=random,nope"}, "there is no 'nope'"},
      {{"provider", "--config=x", "--max-connection-age=-1h"}, "--max-connection-age=-1h"},
      {{"provider", "--confg=x"}, "did you mean --config?"},
      {{"expander", "--strategy=most-pod"}, "did you mean 'most-pods'?"},
      {{"expander", "--port=99999"}, "--port=99999"},
      {{"expander", "--listen=nowhere"}, "--listen: 'nowhere' is not host:port"},
      {{"extender", "--listen=nowhere"}, "--listen=nowhere"},
      {{"extender", "--tls-cert=c"}, "belong together"},
      {{"completion", "csh"}, "there are scripts for bash, zsh, fish"},
      {{"top", "--every=1ms"}, "--every=1ms"},
      {{"record"}, "DIR is required"},
      {{"record", "a", "b"}, "'b' is a second directory"},
      {{"record", "a", "--record=b"}, "there is no flag --record"},
      {{"rehearse"}, "LOG is required"},
      {{"rehearse", "log", "--batch-idle-duration=2s"}, "counts with --pools only"},
      {{"rehearse", "log", "--schedule-period=5s"}, "counts with --batch only"},
      {{"validate"}, "FILE... is required"},
      {{"validate", "--strict"}, "there is no flag --strict"},
      {{"flags", "markdown"}, "did you mean --markdown?"},
  };
  for (const auto& [args, says] : rows) {
    const Outcome outcome = Invoke(args);
    EXPECT_EQ(outcome.code, 2) << testing::PrintToString(args);
    EXPECT_THAT(outcome.err, HasSubstr(says)) << testing::PrintToString(args);
    EXPECT_THAT(outcome.err, HasSubstr("--help")) << testing::PrintToString(args);
  }
}

// What cannot be used is named by the file and by what is wrong with it, not by what a library said.
TEST(CliTest, FilesThatCannotBeUsedAreNamedWithWhy) {
  const test::TempDirectory dir;
  const std::string words = dir.Write("words", "just words\n");
  const std::string sizes =
      dir.Write("sizes.yaml",
                "clusterTag: a\ncloud: {kind: simulated}\nnodeGroups:\n"
                "- {name: a, flavor: small-2-4, zone: north1, maxSize: two}\n");
  EXPECT_THAT(Invoke({"simulate", "--cluster=" + words}).err,
              HasSubstr("words:1:1: expected an object, as `kubectl get ... -o json` prints it"));
  EXPECT_THAT(Invoke({"extender", "--tls-cert=/no/cert", "--tls-key=/no/key"}).err,
              HasSubstr("/no/cert cannot be read: No such file or directory"));
  EXPECT_THAT(Invoke({"rehearse", "/no/log"}).err,
              HasSubstr("cannot read /no/log: No such file or directory"));
  const std::string said = Invoke({"validate", sizes}).err;
  EXPECT_THAT(said, HasSubstr("must be a whole number, not \"two\""));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("never has a machine"))) << "it was never 0";
}

TEST(CliTest, EveryCommandSaysHowItIsUsed) {
  for (const char* command : {"run", "provider", "expander", "extender", "simulate", "record",
                              "rehearse", "top", "completion", "validate", "flags"}) {
    for (const char* help : {"--help", "-h", "help"}) {
      const Outcome outcome = Invoke({command, help});
      EXPECT_EQ(outcome.code, 0) << command << " " << help;
      EXPECT_THAT(outcome.out, HasSubstr(command)) << command << " " << help;
    }
  }
}

// What bash makes of the script; where the program stands something that prints a command's flags.
TEST(CliTest, BashCompletesCommandsAndFlags) {
  const test::TempDirectory dir;
  const std::string script = dir.Write("completion", Invoke({"completion", "bash"}).out);
  const std::string flags = dir.Write("flags", Invoke({"rehearse", "--help-flags"}).out);
  const auto complete = [&](const std::string& words, int at) {
    const std::string command = "bash -c 'source " + script + "; coppice() { cat " + flags +
                                "; }; COMP_WORDS=(coppice " + words +
                                "); COMP_CWORD=" + std::to_string(at) +
                                "; _coppice; echo \"${COMPREPLY[*]}\"' 2>&1";
    std::string out;
    std::FILE* const pipe = popen(command.c_str(), "r");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
    pclose(pipe);
    return out;
  };
  EXPECT_EQ(complete("re", 1), "record rehearse\n");
  EXPECT_EQ(complete("rehearse --pools", 2), "--pools\n");
  EXPECT_EQ(complete("rehearse log --scale-down-unneeded", 3), "--scale-down-unneeded-time\n");
  EXPECT_EQ(complete("conform ex", 2), "expander extender\n");
  const std::string zsh = Invoke({"completion", "zsh"}).out;
  EXPECT_THAT(zsh, HasSubstr("'rehearse:play a recorded day"));
  EXPECT_THAT(zsh, HasSubstr("flags=(${(f)\"$(${words[1]} ${words[2]} --help-flags 2>/dev/null |"));
  EXPECT_THAT(zsh, HasSubstr("\n    compadd -- $flags --help\n"));
  EXPECT_THAT(Invoke({"completion", "fish"}).out, HasSubstr("-a rehearse -d \"play a recorded"));
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

TEST(CliTest, ADashboardThatOthersCanReachIsNotOpenedWithoutATokenOrMutualTls) {
  const test::TempDirectory dir;
  const std::string shortest = dir.Write("short", "0123456789\n");
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0"}) {
    const Outcome open = Invoke({"run", "--for=1m", "--web-address", address});
    EXPECT_EQ(open.code, 1) << address;
    EXPECT_THAT(open.err, HasSubstr("can be reached from elsewhere")) << address;
  }
  const Outcome weak =
      Invoke({"run", "--for=1m", "--web-address=0.0.0.0:0", "--web-token-file", shortest});
  EXPECT_EQ(weak.code, 1);
  EXPECT_THAT(weak.err, HasSubstr("at least 16 characters"));
  EXPECT_EQ(Invoke({"run", "--speed=0", "--for=1m", "--table=0s", "--web-address=0.0.0.0:0",
                    "--web-token-file", dir.Write("long", "0123456789abcdef\n")})
                .code,
            0);
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
  EXPECT_EQ(flags->log.verbosity, 4);
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
