// The page that dashboards and alerts for Cluster Autoscaler read: every family of upstream's, with
// its type and labels, and none under its prefix that it does not have.

#include "autoscale/autoscaler_metrics.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

#include "test/support/engine_rig.h"

namespace coppice::autoscale {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Family {
  std::string type;
  std::set<std::string> labels;
  friend bool operator==(const Family&, const Family&) = default;
  friend void PrintTo(const Family& family, std::ostream* out) {
    *out << family.type << " {";
    for (const std::string& label : family.labels) *out << label << " ";
    *out << "}";
  }
};
using Families = std::map<std::string, Family>;

const std::set<std::string> kDevices = {"gpu_resource_name", "gpu_name", "dra_drivers"};
const std::set<std::string> kReasonAndDevices = {"reason", "gpu_resource_name", "gpu_name",
                                                 "dra_drivers"};
const std::set<std::string> kReasonAndGpu = {"reason", "gpu_resource_name", "gpu_name"};

// Upstream's, without the prefix. Those of features that are refused at the start are not here, as
// upstream has no series of them either while they are off: capacity_buffer_oldest_reconciliation_
// timestamp_seconds, dra_node_template_resources_mismatch, max_node_skip_eval_duration_seconds,
// node_removal_latency_seconds.
const Families kUpstreamMetrics = {
    {"cluster_safe_to_autoscale", {"gauge", {}}},
    {"nodes_count", {"gauge", {"state"}}},
    {"node_groups_count", {"gauge", {"node_group_type"}}},
    {"unschedulable_pods_count", {"gauge", {"type"}}},
    {"skipped_pods_count", {"gauge", {"requestor"}}},
    {"max_nodes_count", {"gauge", {}}},
    {"cluster_cpu_current_cores", {"gauge", {}}},
    {"cluster_memory_current_bytes", {"gauge", {}}},
    {"cpu_limits_cores", {"gauge", {"direction"}}},
    {"memory_limits_bytes", {"gauge", {"direction"}}},
    {"last_activity", {"gauge", {"activity"}}},
    {"function_duration_seconds", {"histogram", {"function"}}},
    {"function_duration_quantile_seconds", {"summary", {"function"}}},
    {"pending_node_deletions", {"gauge", {}}},
    {"errors_total", {"counter", {"type"}}},
    {"scaled_up_nodes_total", {"counter", kDevices}},
    {"scaled_down_nodes_total", {"counter", kReasonAndDevices}},
    {"failed_scale_ups_total", {"counter", kReasonAndDevices}},
    {"failed_node_creations_total", {"counter", {"reason"}}},
    {"scaled_up_gpu_nodes_total", {"counter", {"gpu_resource_name", "gpu_name"}}},
    {"scaled_down_gpu_nodes_total", {"counter", kReasonAndGpu}},
    {"failed_gpu_scale_ups_total", {"counter", kReasonAndGpu}},
    {"evicted_pods_total", {"counter", {"eviction_result"}}},
    {"unneeded_nodes_count", {"gauge", {}}},
    {"unremovable_nodes_count", {"gauge", {"reason"}}},
    {"scale_down_in_cooldown", {"gauge", {}}},
    {"old_unregistered_nodes_removed_count", {"counter", {}}},
    {"overflowing_controllers_count", {"gauge", {}}},
    {"skipped_scale_events_count", {"counter", {"direction", "reason"}}},
    {"created_node_groups_total", {"counter", {"group_type"}}},
    {"deleted_node_groups_total", {"counter", {"group_type"}}},
    {"node_taints_count", {"gauge", {"type"}}},
    {"inconsistent_instances_migs_count", {"gauge", {}}},
    {"binpacking_heterogeneity", {"histogram", {"instance_type", "cpu_count", "namespace_count"}}},
    {"node_group_min_count", {"gauge", {"node_group"}}},
    {"node_group_max_count", {"gauge", {"node_group"}}},
    {"node_group_target_count", {"gauge", {"node_group"}}},
    {"node_group_healthiness", {"gauge", {"node_group"}}},
    {"node_group_backoff_status", {"gauge", {"node_group", "reason"}}},
};

// What the page has under upstream's prefix.
Families FamiliesOf(const std::string& page) {
  const std::string prefix = "cluster_autoscaler_";
  Families families;
  std::string type;
  std::string name;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line.substr(7));
      words >> name >> type;
      continue;
    }
    if (line.starts_with("#") || !name.starts_with(prefix)) continue;
    Family& family = families[name.substr(prefix.size())];
    family.type = type;
    const size_t open = line.find('{');
    const size_t close = line.rfind('}');
    if (open == std::string::npos) continue;
    std::istringstream labels(line.substr(open + 1, close - open - 1));
    for (std::string label; std::getline(labels, label, ',');) {
      const std::string key = label.substr(0, label.find('='));
      if (key != "le") family.labels.insert(key);
    }
  }
  return families;
}

class AutoscalerMetricsTest : public test::EngineRig {
 protected:
  AutoscalerMetrics Numbers(std::vector<std::string> args = {}) {
    return AutoscalerMetrics(metrics_, MUST(ParseFlags(args)).ForMetrics());
  }
  void Tell(AutoscalerMetrics& numbers, const report::PassReport& report) {
    numbers.PassEnded(report, {world_, groups_, assembly_->engine().templates()}, clock_.Now(),
                      clock_.Now());
  }
};

TEST_F(AutoscalerMetricsTest, ThePageHasUpstreamsFamiliesAndNoOthers) {
  AddGroup("web", 5);
  groups_.SetGpu("accelerator", {"a100"});
  groups_.Change("web", [](cloud::FakeNodeGroups::Group& group) {
    model::Node with_gpu = *group.node_template;
    with_gpu.metadata.labels["accelerator"] = "a100";
    with_gpu.status.allocatable["nvidia.com/gpu"] = model::Quantity::FromUnits(1);
    group.node_template = std::make_shared<const model::Node>(std::move(with_gpu));
  });
  AddNode("web-1", "web");
  model::Node tainted = *world_.FindNode("web-1");
  tainted.spec.taints.push_back({.key = "node.kubernetes.io/not-ready", .effect = "NoSchedule"});
  world_.UpsertNode(std::make_shared<const model::Node>(std::move(tainted)));
  AddPod("web-2", "cpu", 1);
  AutoscalerMetrics numbers = Numbers({"--emit-per-nodegroup-metrics"});
  Assemble({}, inline_, writer_);
  numbers.PassBegan(clock_.Now());
  numbers.Waited(std::chrono::seconds(1));
  report::PassReport pass = *Pass();
  // What no single pass brings about.
  pass.scale_up.result = report::ScaleUpResult::kSuccessful;
  pass.scale_up.resizes = {{"web", 0, 1, 5}};
  pass.scale_up.packings = {{"m4", "4", 7, 3}};
  pass.failed_additions = {{"web", "timeout", 2}};
  pass.groups_created = 1;
  pass.groups_deleted = 1;
  pass.scale_down.removed = {{.node = "web-1", .group = "web"}};
  pass.scale_down.outcomes = {{"web-1", "Ok", ""}};
  pass.scale_down.staying = {{.node = "web-1"}};
  Tell(numbers, pass);

  const std::string page = metrics_.Render();
  const Families are = FamiliesOf(page);
  for (const auto& [name, family] : kUpstreamMetrics) {
    const auto found = are.find(name);
    ASSERT_NE(found, are.end()) << name << " is missing";
    EXPECT_EQ(found->second, family) << name;
  }
  for (const auto& [name, family] : are)
    EXPECT_TRUE(kUpstreamMetrics.contains(name)) << name << " is not upstream's";
  EXPECT_THAT(page, HasSubstr("cluster_autoscaler_scaled_up_gpu_nodes_total{gpu_name=\"a100\","
                              "gpu_resource_name=\"nvidia.com/gpu\"} 1"));
  EXPECT_THAT(page, HasSubstr("namespace_count=\"6-10\""));
  EXPECT_THAT(page, HasSubstr("cluster_autoscaler_scaled_down_gpu_nodes_total{gpu_name=\"a100\","
                              "gpu_resource_name=\"nvidia.com/gpu\",reason=\"unready\"} 1"));
}

TEST_F(AutoscalerMetricsTest, SeriesThatARateStartsFromAreThereBeforeAnythingHappened) {
  const AutoscalerMetrics numbers = Numbers();
  const std::string page = metrics_.Render();
  for (const char* series :
       {"errors_total{type=\"cloudProviderError\"} 0", "errors_total{type=\"internalError\"} 0",
        "failed_node_creations_total{reason=\"timeout\"} 0",
        "evicted_pods_total{eviction_result=\"failed\"} 0",
        "skipped_scale_events_count{direction=\"up\",reason=\"CpuResourceLimit\"} 0"}) {
    EXPECT_THAT(page, HasSubstr(std::string("cluster_autoscaler_") + series));
  }
}

TEST_F(AutoscalerMetricsTest, APassIsCountedAsItWent) {
  AddGroup("web", 5);
  for (int i = 0; i < 3; ++i) AddPod("pod-" + std::to_string(i), "cpu", 3);
  AutoscalerMetrics numbers = Numbers();
  Assemble({}, inline_, writer_);
  Tell(numbers, *Pass());
  std::string page = metrics_.Render();
  EXPECT_THAT(page, HasSubstr("scaled_up_nodes_total{dra_drivers=\"\",gpu_name=\"\","
                              "gpu_resource_name=\"\"} 3"));
  EXPECT_THAT(page, HasSubstr("unschedulable_pods_count{type=\"unschedulable\"} 3"));
  for (const char* part : {"main", "updateClusterState", "cloudProviderRefresh",
                           "filterOutSchedulable", "scaleUp", "scaleUp:buildPodEquivalenceGroups",
                           "scaleUp:estimate", "findUnneeded", "scaleDown:softTaintUnneeded"}) {
    EXPECT_THAT(page, HasSubstr("function_duration_quantile_seconds_count{function=\"" +
                                std::string(part) + "\"} 1"));
  }
}

TEST_F(AutoscalerMetricsTest, FailuresAreCountedByReasonAndByNode) {
  AddGroup("web", 5);
  for (int i = 0; i < 3; ++i) AddPod("pod-" + std::to_string(i), "cpu", 3);
  groups_.Fail("Increase", ResourceExhausted("sold out"));
  AutoscalerMetrics numbers = Numbers({"--emit-per-nodegroup-metrics"});
  Assemble({}, inline_, writer_);
  Tell(numbers, *Pass());
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("failed_node_creations_total{reason=\"cloudProviderError\"} 3"));
  const std::string backed_off =
      "node_group_backoff_status{node_group=\"web\",reason=\"cloudProviderError\"} 1";
  EXPECT_THAT(metrics_.Render(), HasSubstr(backed_off));
  groups_.Fail("Increase", Status::Ok());
  clock_.Set(clock_.Now() + std::chrono::minutes(6));
  Tell(numbers, *Pass());
  EXPECT_THAT(metrics_.Render(), Not(HasSubstr(backed_off)));
}

}  // namespace
}  // namespace coppice::autoscale
