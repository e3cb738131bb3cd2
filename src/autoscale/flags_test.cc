#include "autoscale/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Flag* Find(std::string_view name) {
  const auto it = std::ranges::find(AllFlags(), name, &Flag::name);
  return it == AllFlags().end() ? nullptr : &*it;
}
std::string Refusal(std::vector<std::string> args) {
  const auto parsed = ParseFlags(args);
  return parsed.ok() ? "it was accepted" : parsed.status().message();
}

// Upstream's flags with upstream's defaults, as the operator's manifests know them.
const std::vector<std::pair<std::string, std::string>> kUpstream = {
    {"cloud-provider", ""},
    {"cloud-config", ""},
    {"nodes", ""},
    {"node-group-auto-discovery", ""},
    {"cluster-name", ""},
    {"namespace", "kube-system"},
    {"address", ":8085"},
    {"kubernetes", ""},
    {"kubeconfig", ""},
    {"kube-api-content-type", "application/vnd.kubernetes.protobuf"},
    {"kube-client-qps", "5"},
    {"kube-client-burst", "10"},
    {"user-agent", "cluster-autoscaler"},
    {"leader-elect", "true"},
    {"leader-elect-lease-duration", "15s"},
    {"leader-elect-renew-deadline", "10s"},
    {"leader-elect-retry-period", "2s"},
    {"leader-elect-resource-name", "cluster-autoscaler"},
    {"leader-elect-resource-namespace", ""},
    {"leader-elect-resource-lock", "leases"},
    {"scan-interval", "10s"},
    {"frequent-loops-enabled", "true"},
    {"max-inactivity", "10m0s"},
    {"max-failing-time", "15m0s"},
    {"max-startup-time", "20m0s"},
    {"expander", "least-waste"},
    {"grpc-expander-cert", ""},
    {"grpc-expander-url", ""},
    {"estimator", "binpacking"},
    {"balance-similar-node-groups", "false"},
    {"balancing-ignore-label", ""},
    {"balancing-label", ""},
    {"memory-difference-ratio", "0.015"},
    {"max-free-difference-ratio", "0.05"},
    {"max-allocatable-difference-ratio", "0.05"},
    {"max-nodes-total", "0"},
    {"cores-total", "0:320000"},
    {"memory-total", "0:6400000"},
    {"gpu-total", ""},
    {"max-nodes-per-scaleup", "1000"},
    {"max-nodegroup-binpacking-duration", "10s"},
    {"max-binpacking-time", "5m0s"},
    {"fastpath-binpacking-enabled", "false"},
    {"salvo-scale-up", "false"},
    {"salvo-scale-up-budget", "1m0s"},
    {"parallel-scale-up", "false"},
    {"scaleup-simulation-for-skipped-node-groups-enabled", "false"},
    {"max-node-provision-time", "15m0s"},
    {"max-node-startup-time", "15m0s"},
    {"initial-node-group-backoff-duration", "5m0s"},
    {"max-node-group-backoff-duration", "30m0s"},
    {"node-group-backoff-reset-timeout", "3h0m0s"},
    {"new-pod-scale-up-delay", "0s"},
    {"expendable-pods-priority-cutoff", "-10"},
    {"bypassed-scheduler-names", ""},
    {"allowed-scheduler-names", ""},
    {"scale-up-from-zero", "true"},
    {"enforce-node-group-min-size", "false"},
    {"scale-down-enabled", "true"},
    {"scale-down-delay-after-add", "10m0s"},
    {"scale-down-delay-after-delete", "0s"},
    {"scale-down-delay-after-failure", "3m0s"},
    {"scale-down-delay-type-local", "false"},
    {"scale-down-unneeded-time", "10m0s"},
    {"scale-down-unready-time", "20m0s"},
    {"scale-down-unready-enabled", "true"},
    {"scale-down-utilization-threshold", "0.5"},
    {"scale-down-gpu-utilization-threshold", "0.5"},
    {"ignore-daemonsets-utilization", "false"},
    {"ignore-mirror-pods-utilization", "false"},
    {"scale-down-simulation-timeout", "30s"},
    {"scale-down-non-empty-candidates-count", "30"},
    {"scale-down-candidates-pool-ratio", "0.1"},
    {"scale-down-candidates-pool-min-count", "50"},
    {"unremovable-node-recheck-timeout", "5m0s"},
    {"max-scale-down-parallelism", "10"},
    {"max-drain-parallelism", "1"},
    {"max-graceful-termination-sec", "600"},
    {"drain-priority-config", ""},
    {"max-pod-eviction-time", "2m0s"},
    {"skip-nodes-with-system-pods", "true"},
    {"skip-nodes-with-local-storage", "true"},
    {"skip-nodes-with-custom-controller-pods", "true"},
    {"min-replica-count", "0"},
    {"blocking-system-pod-distruption-timeout", "1h0m0s"},
    {"daemonset-eviction-for-empty-nodes", "false"},
    {"daemonset-eviction-for-occupied-nodes", "true"},
    {"cordon-node-before-terminating", "true"},
    {"node-delete-delay-after-taint", "5s"},
    {"dynamic-node-delete-delay-after-taint-enabled", "false"},
    {"node-deletion-delay-timeout", "2m0s"},
    {"node-deletion-batcher-interval", "0s"},
    {"node-deletion-candidate-ttl", "0s"},
    {"max-bulk-soft-taint-count", "10"},
    {"max-bulk-soft-taint-time", "3s"},
    {"force-delete-unregistered-nodes", "false"},
    {"force-delete-failed-nodes", "false"},
    {"max-total-unready-percentage", "45"},
    {"ok-total-unready-count", "3"},
    {"startup-taint", ""},
    {"startup-taint-prefix", ""},
    {"status-taint", ""},
    {"ignore-taint", ""},
    {"force-ds", "false"},
    {"scale-from-unschedulable", "false"},
    {"node-info-cache-expire-time", "87600h0m0s"},
    {"scheduler-config-file", ""},
    {"predicate-parallelism", "4"},
    {"cluster-snapshot-parallelism", "16"},
    {"scheduler-verbosity", "0"},
    {"enable-inter-pod-affinity-hostname-fast-path", "false"},
    {"enable-dynamic-resource-allocation", "true"},
    {"enable-csi-node-aware-scheduling", "false"},
    {"enable-provisioning-requests", "false"},
    {"provisioning-request-initial-backoff-time", "1m0s"},
    {"provisioning-request-max-backoff-time", "10m0s"},
    {"provisioning-request-max-backoff-cache-size", "1000"},
    {"check-capacity-batch-processing", "false"},
    {"check-capacity-provisioning-request-max-batch-size", "10"},
    {"check-capacity-provisioning-request-batch-timebox", "10s"},
    {"check-capacity-processor-instance", ""},
    {"enable-proactive-scaleup", "false"},
    {"pod-injection-limit", "5000"},
    {"capacity-buffer-controller-enabled", "false"},
    {"capacity-buffer-pod-injection-enabled", "false"},
    {"capacity-buffer-pod-dry-run-enabled", "true"},
    {"capacity-quotas-enabled", "false"},
    {"enable-graceful-degradation", "false"},
    {"pending-pods-batching-timeout", "4m0s"},
    {"async-node-groups", "false"},
    {"write-status-configmap", "true"},
    {"status-config-map-name", "cluster-autoscaler-status"},
    {"emit-per-nodegroup-metrics", "false"},
    {"record-duplicated-events", "false"},
    {"debugging-snapshot-enabled", "false"},
    {"profiling", "false"},
    {"node-removal-latency-tracking-enabled", "false"},
    {"max-node-skip-eval-time-tracker-enabled", "false"},
    {"regional", "false"},
    {"aws-use-static-instance-list", "false"},
    {"bulk-mig-instances-listing-enabled", "false"},
    {"clusterapi-cloud-config-authoritative", "false"},
    {"gce-concurrent-refreshes", "1"},
    {"gce-mig-instances-min-refresh-wait-time", "5s"},
    {"feature-gates", ""},
    {"v", "0"},
    {"vmodule", ""},
    {"logging-format", ""},
    {"logtostderr", "true"},
    {"alsologtostderr", "false"},
    {"stderrthreshold", "2"},
    {"log-dir", ""},
    {"log-file", ""},
    {"log-file-max-size", "1800"},
    {"log-backtrace-at", ":0"},
    {"log-flush-frequency", "5s"},
    {"skip-headers", "false"},
    {"skip-log-headers", "false"},
    {"add-dir-header", "false"},
    {"one-output", "false"},
};

TEST(FlagsTest, EveryFlagOfUpstreamIsThereWithItsDefault) {
  for (const auto& [name, value] : kUpstream) {
    const Flag* flag = Find(name);
    if (flag == nullptr) {
      ADD_FAILURE() << "--" << name << " is not in the table";
      continue;
    }
    EXPECT_EQ(flag->default_text, value) << "--" << name;
    EXPECT_FALSE(flag->help.empty()) << "--" << name;
  }
}

TEST(FlagsTest, TheDefaultOfEveryFlagIsAccepted) {
  for (const Flag& flag : AllFlags()) {
    if (flag.default_text.empty()) continue;
    const auto parsed = ParseFlags({"--" + flag.name + "=" + flag.default_text});
    EXPECT_TRUE(parsed.ok()) << flag.name << ": " << parsed.status();
    if (!parsed.ok()) continue;
    EXPECT_THAT(parsed->notes, IsEmpty()) << flag.name;
  }
}

TEST(FlagsTest, NoFlagIsThereTwiceAndAllHaveAHeading) {
  std::vector<std::string> names;
  for (const Flag& flag : AllFlags()) {
    names.push_back(flag.name);
    EXPECT_FALSE(flag.group.empty()) << flag.name;
  }
  std::ranges::sort(names);
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end());
}

TEST(FlagsTest, BothFormsAndUnderscoresAreRead) {
  const FlagValues values = MUST(
      ParseFlags({"--max-nodes-total=7", "--scan-interval", "5s", "--balance-similar-node-groups",
                  "--scale_down_unneeded_time=3m", "-v=4", "--nodes=1:2:a", "--nodes", "3:4:b",
                  "--write-status-configmap=false", "--expander=priority,random"}));
  EXPECT_EQ(values.options.max_nodes_total, 7);
  EXPECT_EQ(values.options.scan_interval, std::chrono::seconds(5));
  EXPECT_TRUE(values.options.balance_similar_node_groups);
  EXPECT_EQ(values.options.group_defaults.scale_down_unneeded_time, std::chrono::minutes(3));
  EXPECT_EQ(values.log.verbosity, 4);
  EXPECT_THAT(values.nodes, ElementsAre("1:2:a", "3:4:b"));
  EXPECT_FALSE(values.options.write_status_configmap);
  EXPECT_THAT(values.options.expander, ElementsAre("priority", "random"));
}

TEST(FlagsTest, WhatTheUpstreamChartPassesIsTaken) {
  const FlagValues values = MUST(
      ParseFlags({"--cloud-provider=externalgrpc", "--namespace=kube-system", "--logtostderr=true",
                  "--stderrthreshold=info", "--v=4", "--cloud-config=/etc/cloud-config"}));
  EXPECT_EQ(values.cloud_provider, "externalgrpc");
  EXPECT_THAT(values.notes, IsEmpty());
}

TEST(FlagsTest, TheNamesOfTheFirstExpanderProposalWork) {
  const FlagValues values = MUST(ParseFlags({"--expander=externalgrpc", "--expander-plugin-url=a:1",
                                             "--external-expander-cert=/ca.pem"}));
  EXPECT_THAT(values.options.expander, ElementsAre("grpc"));
  EXPECT_EQ(values.grpc_expander_url, "a:1");
  EXPECT_EQ(values.grpc_expander_cert, "/ca.pem");
}

TEST(FlagsTest, MistakesAreRefusedWithTheRemedy) {
  EXPECT_THAT(Refusal({"--scan-intervall=1s"}), HasSubstr("did you mean --scan-interval?"));
  EXPECT_THAT(Refusal({"scan"}), HasSubstr("flags begin with --"));
  EXPECT_THAT(Refusal({"--scan-interval"}), HasSubstr("needs a value"));
  EXPECT_THAT(Refusal({"--scan-interval=soon"}), HasSubstr("--scan-interval=soon"));
  EXPECT_THAT(Refusal({"--cores-total=5:2"}), HasSubstr("0 <= min <= max"));
  EXPECT_THAT(Refusal({"--memory-total=0:9223372036854775807"}), HasSubstr("can be counted"));
  EXPECT_THAT(Refusal({"--predicate-parallelism=0"}), HasSubstr("at least 1"));
  EXPECT_THAT(Refusal({"--estimator=oldbinpacking"}), HasSubstr("only estimator"));
  EXPECT_THAT(Refusal({"--enable-provisioning-requests"}), HasSubstr("not there yet"));
  EXPECT_THAT(Refusal({"--capacity-quotas-enabled=true"}), HasSubstr("--cores-total"));
  EXPECT_THAT(Refusal({"--profiling"}), HasSubstr("perf"));
  EXPECT_THAT(Refusal({"--logging-format=xml"}), HasSubstr("text or json"));
}

TEST(FlagsTest, FlagsThatExcludeEachOtherAreRefused) {
  EXPECT_THAT(Refusal({"--drain-priority-config=0:30", "--max-graceful-termination-sec=5"}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal({"--balancing-label=a", "--balancing-ignore-label=b"}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal({"--bypassed-scheduler-names=a,b", "--allowed-scheduler-names=a"}),
              HasSubstr("'b'"));
  EXPECT_THAT(Refusal({"--logtostderr=false", "--log_file=/x"}), HasSubstr("redirect"));
}

TEST(FlagsTest, WhatHasNoEffectIsSaid) {
  const FlagValues values = MUST(ParseFlags({"--vmodule=a=5", "--max-failing-time=1h"}));
  ASSERT_EQ(values.notes.size(), 2U);
  EXPECT_THAT(values.notes[0], HasSubstr("--vmodule=a=5 has no effect"));
  EXPECT_THAT(values.notes[1], HasSubstr("--max-startup-time is raised to 1h0m0s"));
  EXPECT_EQ(values.max_startup_time, std::chrono::hours(1));
}

TEST(FlagsTest, UpstreamExactTurnsEveryDeviationOffUnlessToldOtherwise) {
  const Deviations none = MUST(ParseFlags({"--upstream-exact"})).options.deviations;
  EXPECT_FALSE(none.fuses);
  EXPECT_FALSE(none.scan_all_candidates);
  const Deviations one = MUST(ParseFlags({"--fuses", "--upstream-exact"})).options.deviations;
  EXPECT_TRUE(one.fuses);
  EXPECT_FALSE(one.scan_all_candidates);
}

TEST(FlagsTest, HelpAndDocumentationHaveEveryFlag) {
  FlagValues values;
  FlagSet set;
  AddFlags(set, values);
  const std::string help = set.AsHelp();
  const std::string markdown = FlagsAsMarkdown();
  for (const Flag& flag : AllFlags()) {
    EXPECT_THAT(help, HasSubstr("--" + flag.name + " "));
    EXPECT_THAT(markdown, HasSubstr("`--" + flag.name + "`"));
  }
}

}  // namespace
}  // namespace coppice::autoscale
