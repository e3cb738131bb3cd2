#include "autoscale/drain_options.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

TEST(DrainOptionsTest, TheRulesHearOfEveryFlagThatIsAboutThem) {
  Options options;
  options.skip_nodes_with_system_pods = false;
  options.skip_nodes_with_local_storage = false;
  options.skip_nodes_with_custom_controller_pods = false;
  options.min_replica_count = 7;
  options.blocking_system_pod_distruption_timeout = std::chrono::minutes(9);
  const drain::RuleOptions rules = RuleOptionsFrom(options);
  EXPECT_EQ(rules.annotation_prefix, "cluster-autoscaler.kubernetes.io/");
  EXPECT_FALSE(rules.skip_nodes_with_system_pods);
  EXPECT_FALSE(rules.skip_nodes_with_local_storage);
  EXPECT_FALSE(rules.skip_nodes_with_custom_controller_pods);
  EXPECT_EQ(rules.min_replica_count, 7);
  EXPECT_EQ(rules.blocking_system_pod_timeout, std::chrono::minutes(9));
}

TEST(DrainOptionsTest, WhoEvictsHearsOfItsFlagsAndSpeaksAsUpstreamDoes) {
  Options options;
  options.max_graceful_termination_sec = 11;
  options.drain_priority_config = {{.priority = 1, .shutdown_grace_period_seconds = 2}};
  options.max_pod_eviction_time = std::chrono::seconds(13);
  options.daemonset_eviction_for_empty_nodes = true;
  options.daemonset_eviction_for_occupied_nodes = false;
  const drain::EvictionOptions eviction = EvictionOptionsFrom(options);
  EXPECT_EQ(eviction.annotation_prefix, "cluster-autoscaler.kubernetes.io/");
  EXPECT_EQ(eviction.max_graceful_termination_seconds, 11);
  EXPECT_EQ(eviction.tiers, options.drain_priority_config);
  EXPECT_EQ(eviction.max_pod_eviction_time, std::chrono::seconds(13));
  EXPECT_TRUE(eviction.daemon_sets_of_empty_nodes);
  EXPECT_FALSE(eviction.daemon_sets_of_occupied_nodes);
  EXPECT_EQ(eviction.evicting_reason, "ScaleDown");
  EXPECT_EQ(eviction.evicting_text, "deleting pod for node scale down");
  EXPECT_EQ(eviction.failed_reason, "ScaleDownFailed");
  EXPECT_EQ(eviction.failed_text, "failed to delete pod for ScaleDown");
}

}  // namespace
}  // namespace coppice::autoscale
