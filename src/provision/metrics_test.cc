// Every metric that Karpenter documents is there under its name. A busy hour is played and the page
// is read every second: a name that nobody ever writes is missed here, and by somebody's dashboard.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The section on metrics of Karpenter's specification, name by name; build_info is the
// application's (app/real_cluster.cc).
constexpr const char* kNames[] = {"nodeclaims_created_total",
                                  "nodeclaims_terminated_total",
                                  "nodeclaims_disrupted_total",
                                  "pods_disruption_initiated_total",
                                  "nodeclaims_unhealthy_disrupted_total",
                                  "nodeclaims_termination_duration_seconds",
                                  "nodeclaims_instance_termination_duration_seconds",
                                  "nodes_created_total",
                                  "nodes_terminated_total",
                                  "nodes_drained_total",
                                  "nodes_termination_duration_seconds",
                                  "nodes_lifetime_duration_seconds",
                                  "nodes_allocatable",
                                  "nodes_total_pod_requests",
                                  "nodes_total_pod_limits",
                                  "nodes_total_daemon_requests",
                                  "nodes_total_daemon_limits",
                                  "nodes_system_overhead",
                                  "nodes_current_lifetime_seconds",
                                  "cluster_utilization_percent",
                                  "nodepools_limit",
                                  "nodepools_usage",
                                  "nodepools_cost_total",
                                  "nodepools_cost_tracker_errors_total",
                                  "nodepools_allowed_disruptions",
                                  "nodepools_nodes_consuming_budgets",
                                  "pods_state",
                                  "pods_startup_duration_seconds",
                                  "pods_bound_duration_seconds",
                                  "pods_provisioning_bound_duration_seconds",
                                  "pods_provisioning_startup_duration_seconds",
                                  "pods_scheduling_decision_duration_seconds",
                                  "pods_unstarted_time_seconds",
                                  "pods_unbound_time_seconds",
                                  "pods_provisioning_unbound_time_seconds",
                                  "pods_provisioning_unstarted_time_seconds",
                                  "pods_provisioning_scheduling_undecided_time_seconds",
                                  "pods_eviction_requests_total",
                                  "pods_drained_total",
                                  "scheduler_scheduling_duration_seconds",
                                  "scheduler_queue_depth",
                                  "scheduler_unfinished_work_seconds",
                                  "scheduler_unschedulable_pods_count",
                                  "scheduler_ignored_pods_count",
                                  "scheduler_pending_pods_by_effective_zone_count",
                                  "voluntary_disruption_decision_evaluation_duration_seconds",
                                  "voluntary_disruption_decisions_total",
                                  "voluntary_disruption_decisions_by_nodepool_total",
                                  "voluntary_disruption_eligible_nodes",
                                  "voluntary_disruption_consolidation_timeouts_total",
                                  "voluntary_disruption_failed_validations_total",
                                  "voluntary_disruption_queue_failures_total",
                                  "consolidation_score",
                                  "consolidation_moves_total",
                                  "cluster_state_node_count",
                                  "cluster_state_synced",
                                  "cluster_state_unsynced_time_seconds",
                                  "cloudprovider_duration_seconds",
                                  "cloudprovider_errors_total"};

constexpr const char* kStatusNames[] = {
    "status_condition_transition_seconds",     "status_condition_count",
    "status_condition_current_status_seconds", "status_condition_transitions_total",
    "termination_current_time_seconds",        "termination_duration_seconds"};

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    EngineOptions options;
    options.gates.node_repair = true;
    rig_ = std::make_unique<EngineRig>(options);
  }
  void Play(Duration time) {
    // What lasts a moment is at the beginning.
    const TimePoint began = rig_->Now();
    while (rig_->Now() < began + time) {
      rig_->RunFor(rig_->Now() < began + seconds(15) ? seconds(1) : seconds(10));
      Read();
    }
  }
  void Read() {
    page_ = rig_->metrics.Render() + rig_->metric_sources.Render();
    std::istringstream lines(page_);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string hash, type, name;
      words >> hash >> type >> name;
      if (hash == "#" && type == "TYPE") seen_.insert(name);
    }
  }
  void AddDaemon() {
    rig_->AddPod("agent", 100, [](model::Pod& pod) {
      pod.metadata.owner_references = {
          {.api_version = "apps/v1", .kind = "DaemonSet", .name = "agent", .controller = true}};
      pod.spec.containers[0].resources.limits["cpu"] = model::Quantity::FromMillis(200);
    });
  }
  static void OnDemandOnly(model::NodePool& pool) {
    pool.spec.limits["cpu"] = model::Quantity::FromUnits(1000);
    pool.spec.disruption.consolidation_policy = "Balanced";
    pool.spec.template_.spec.requirements = {
        {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
  }

  void BuyAndFail() {
    rig_->cloud.on_create = [](const model::NodeClaim&) {
      return cloud::FakeAnswer{.status = Unavailable("not now"), .happens = false};
    };
    rig_->AddPool("default", OnDemandOnly);
    rig_->AddPod("big", 6000);
    rig_->AddPod("small", 1000);
    rig_->AddPod("giant", 10'000'000);
    Play(seconds(5));
    rig_->cloud.on_create = nullptr;
    Play(minutes(3));
    AddDaemon();
    Play(minutes(1));
    rig_->RemovePod("giant");
  }
  void ReplaceAndTakeBack() {
    rig_->cloud.on_create = [](const model::NodeClaim&) {
      return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
    };
    rig_->RemovePod("big");
    Play(minutes(3));
    rig_->cloud.on_create = nullptr;
    Play(minutes(5));
  }
  void FillWhatWasEmpty() {
    rig_->AddPool("empty");
    rig_->AddPod("e", 3000, [](model::Pod& pod) {
      pod.spec.node_selector[std::string(model::kNodePoolLabel)] = "empty";
    });
    Play(minutes(2));
    rig_->RemovePod("e");
    Play(seconds(12));
    rig_->AddPod("f", 3000, [](model::Pod& pod) {
      pod.spec.node_selector[std::string(model::kNodePoolLabel)] = "empty";
    });
    Play(minutes(2));
    rig_->RemovePod("f");
    Play(minutes(3));
  }
  void FallSickAndGo() {
    ASSERT_FALSE(rig_->Nodes().empty());
    rig_->SetReady(rig_->Nodes()[0].metadata.name, "False");
    Play(minutes(15));
    ASSERT_FALSE(rig_->Claims().empty());
    rig_->DeleteClaim(rig_->Claims()[0].metadata.name);
    Play(minutes(5));
  }

  std::unique_ptr<EngineRig> rig_;
  std::set<std::string> seen_;
  std::string page_;
};

TEST_F(MetricsTest, EveryNameOfTheSpecificationIsWrittenInABusyHour) {
  BuyAndFail();
  ReplaceAndTakeBack();
  FillWhatWasEmpty();
  FallSickAndGo();
  std::vector<std::string> missing;
  for (const std::string name : kNames) {
    if (!seen_.contains("karpenter_" + name)) missing.push_back(name);
  }
  for (const std::string kind : {"operator_nodeclaim_", "operator_node_", "operator_"}) {
    for (const std::string name : kStatusNames) {
      if (!seen_.contains(kind + name)) missing.push_back(kind + name);
    }
  }
  EXPECT_TRUE(seen_.contains("operator_nodepool_status_condition_count"));
  EXPECT_THAT(missing, IsEmpty());
}

TEST_F(MetricsTest, NodesAndPodsAreThereAsLongAsTheyAre) {
  rig_->AddPool("default");
  rig_->AddPod("p", 1500);
  Play(minutes(2));
  const std::string node = rig_->Nodes()[0].metadata.name;
  EXPECT_THAT(page_, HasSubstr("karpenter_pods_state{arch=\""));
  EXPECT_THAT(page_, HasSubstr("name=\"p\",namespace=\"default\",node=\"" + node + "\""));
  EXPECT_THAT(page_, testing::ContainsRegex("karpenter_nodes_total_pod_requests[{][^}]*" + node +
                                            "[^}]*resource_type=\"cpu\"[^}]*[}] 1.5\n"));
  EXPECT_THAT(page_, HasSubstr("karpenter_pods_startup_duration_seconds_count 1\n"));
  EXPECT_THAT(page_, HasSubstr("karpenter_cluster_state_synced 1\n"));
  rig_->RemovePod("p");
  Play(minutes(3));
  ASSERT_THAT(rig_->Nodes(), IsEmpty());
  EXPECT_THAT(page_, Not(HasSubstr("karpenter_nodes_total_pod_requests{")));
  EXPECT_THAT(page_, Not(HasSubstr("karpenter_pods_state{")));
  EXPECT_THAT(page_, Not(HasSubstr("operator_nodeclaim_status_condition_count{")));
}

TEST_F(MetricsTest, APodThatWaitsSaysHowLongAndInWhichZone) {
  rig_->AddPool("default");
  rig_->AddPod("p", 10'000'000, [](model::Pod& pod) {
    pod.spec.node_selector[std::string(model::kZoneLabel)] = "zone-a";
  });
  rig_->AddPod("q", 10'000'000);
  Play(seconds(32));
  EXPECT_THAT(page_, HasSubstr("karpenter_scheduler_pending_pods_by_effective_zone_count"
                               "{controller=\"provisioner\",zone=\"zone-a\"} 1\n"));
  EXPECT_THAT(page_, HasSubstr("{controller=\"provisioner\",zone=\"flexible\"} 1\n"));
  EXPECT_THAT(page_, HasSubstr("karpenter_pods_unbound_time_seconds{dynamic_resources=\"false\","
                               "name=\"p\",namespace=\"default\"} 3"));
  EXPECT_THAT(page_, Not(HasSubstr("karpenter_pods_provisioning_unbound_time_seconds{")));
  rig_->RemovePod("p");
  rig_->RemovePod("q");
  Play(seconds(15));
  EXPECT_THAT(page_, Not(HasSubstr("karpenter_pods_unbound_time_seconds{")));
}

TEST_F(MetricsTest, WhatIsSaidOfAPoolGoesWithIt) {
  rig_->AddPool("first", OnDemandOnly);
  rig_->AddPool("second", OnDemandOnly);
  rig_->AddPod("p", 1500);
  Play(minutes(2));
  const auto lines = [&](const std::string& pool) {
    std::vector<std::string> found;
    std::istringstream page(page_);
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("karpenter_nodepools_") &&
          line.find("nodepool=\"" + pool + "\"") != std::string::npos)
        found.push_back(line);
    }
    return found;
  };
  for (const char* pool : {"first", "second"}) {
    EXPECT_THAT(lines(pool), testing::Contains(HasSubstr("nodepools_limit")));
    EXPECT_THAT(lines(pool), testing::Contains(HasSubstr("nodepools_usage")));
    EXPECT_THAT(lines(pool), testing::Contains(HasSubstr("nodepools_cost_total")));
    EXPECT_THAT(lines(pool), testing::Contains(HasSubstr("nodepools_allowed_disruptions")));
  }
  const bool first = *rig_->Claims()[0].metadata.labels.Find(model::kNodePoolLabel) == "first";
  const std::string unused = first ? "second" : "first";
  rig_->Patch({"karpenter.sh/v1", "nodepools", "", first ? "first" : "second"},
              nlohmann::json::parse(R"({"spec": {"limits": null}})"));
  rig_->DeletePool(unused);
  Play(seconds(30));
  EXPECT_THAT(lines(unused), testing::Each(HasSubstr("cost_tracker_errors_total")));
  EXPECT_THAT(lines(first ? "first" : "second"),
              Not(testing::Contains(HasSubstr("nodepools_limit"))));
}

TEST_F(MetricsTest, FailuresOfTheQueueAreCountedByReplacement) {
  BuyAndFail();
  ReplaceAndTakeBack();
  EXPECT_THAT(page_, testing::ContainsRegex("queue_failures_total[{]consolidation_type=\"replace\","
                                            "decision=\"replace\",reason=\"underutilized\"[}] "
                                            "[1-9]"));
}

TEST(ObservabilityTest, MayBeSwitchedOff) {
  EngineOptions options;
  options.observe_cluster_state = false;
  EngineRig rig(options);
  rig.AddPool("default");
  rig.AddPod("p", 1500);
  rig.RunFor(minutes(2));
  const std::string page = rig.metrics.Render() + rig.metric_sources.Render();
  EXPECT_THAT(page, HasSubstr("karpenter_nodeclaims_created_total"));
  EXPECT_THAT(page, Not(HasSubstr("karpenter_pods_state")));
  EXPECT_THAT(page, Not(HasSubstr("operator_")));
}

}  // namespace
}  // namespace coppice::provision
