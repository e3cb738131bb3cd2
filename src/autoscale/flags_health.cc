#include "autoscale/flag_parts.h"

namespace coppice::autoscale {

void AddHealthFlags(FlagSet& t, FlagValues& v) {
  t.Group("Health and taints");
  t.AddBool("force-delete-unregistered-nodes", v.options.force_delete_unregistered_nodes,
            "Remove machines that never registered, also below the minimum.");
  t.AddBool("force-delete-failed-nodes", v.options.force_delete_failed_nodes,
            "Remove machines that failed to come up, also below the minimum; every provider here "
            "does so either way.");
  t.AddNumber("max-total-unready-percentage", v.options.max_total_unready_percentage, {0, 100},
              "More unready nodes than this: do nothing.");
  t.AddNumber("ok-total-unready-count", v.options.ok_total_unready_count,
              "So many unready nodes are always all right.");
  t.AddRepeated("startup-taint", v.options.startup_taint,
                "A node with this taint is still starting.");
  t.AddRepeated("startup-taint-prefix", v.options.startup_taint_prefix,
                "The same for all taints that begin with it.");
  t.AddRepeated("status-taint", v.options.status_taint,
                "A taint that says something about one machine only.");
  t.Alias("ignore-taint", "startup-taint");
  t.AddBool("enable-graceful-degradation", v.options.enable_graceful_degradation,
            "Under too much load, alternate between the directions.");
  t.AddDuration("pending-pods-batching-timeout", v.options.pending_pods_batching_timeout,
                "Most time for placing pending pods then.");
}

void AddDeviationFlags(FlagSet& t, FlagValues& v) {
  t.Group("Where Coppice differs from upstream by default");
  const auto deviation = [&](std::string name, bool Deviations::* member, std::string help) {
    t.AddBool(std::move(name), v.options.deviations.*member, std::move(help));
  };
  deviation("unremovable-recheck-on-change", &Deviations::unremovable_recheck_on_change,
            "[ours] Look again at a node that could not be emptied as soon as its pods change.");
  deviation("scan-all-candidates", &Deviations::scan_all_candidates,
            "[ours] Evaluate every node in every pass.");
  deviation("debounce-new-pods", &Deviations::debounce_new_pods,
            "[ours] Act when no new pod has come for --new-pod-quiet instead of holding pods for "
            "two seconds.");
  t.AddDuration("new-pod-quiet", v.options.deviations.new_pod_quiet,
                "[ours] See --debounce-new-pods.");
  t.AddDuration("new-pod-wait", v.options.deviations.new_pod_wait,
                "[ours] At the latest so long after the first.");
  deviation(
      "unmarked-kin", &Deviations::unmarked_kin,
      "[ours] Buy for a pod that its scheduler has not got to yet with another one of the same "
      "controller and shape that it could not place.");
  deviation("wake-when-due", &Deviations::wake_when_due,
            "[ours] The next pass comes when something that was held back may have changed, when "
            "pods went, nodes changed or a deletion ended; --scan-interval is the fallback.");
  t.AddDuration(
      "order-patience", v.options.deviations.order_patience,
      "[ours] How long a pass waits for the answer to an order, which then goes on by itself; 0s: "
      "until it comes.");
  deviation(
      "fuses", &Deviations::fuses,
      "[ours] Never empty more than --fuse-max-removed-share of the nodes in --fuse-window, "
      "nothing on a stale view, and no machine that the provider does not list in the group.");
  t.AddNumber("fuse-max-removed-share", v.options.deviations.fuse_max_removed_share, kShare,
              "[ours] See --fuses.");
  t.AddDuration("fuse-window", v.options.deviations.fuse_window, "[ours] See --fuses.");
  t.AddNumber("fuse-min-nodes", v.options.deviations.fuse_min_nodes,
              "[ours] So many may always go.");
  t.AddDuration(
      "fuse-max-view-age", v.options.deviations.fuse_max_view_age,
      "[ours] Older than this, the view is stale, and a pass on it neither buys nor removes. A "
      "view "
      "of a quiet cluster is up to 160s old.");
  deviation("fresh-instances", &Deviations::fresh_instances,
            "[ours] Read the list of machines in every pass instead of every two minutes.");
  deviation(
      "count-machines-on-their-way", &Deviations::count_machines_on_their_way,
      "[ours] Machines that may still become nodes count as upcoming, also after a restart, if "
      "somebody else ordered them, or if their group is backed off.");
  deviation("larger-pods-first", &Deviations::larger_pods_first,
            "[ours] While nodes are on their way, pods that they were bought for take them first, "
            "by decreasing size, as they were packed then; else some may be bought for again.");
  deviation("survive-restarts", &Deviations::survive_restarts,
            "[ours] Unneeded timers and back-offs of a process that ran a moment ago go on: the "
            "former are read from the soft taints, the latter from the status ConfigMap.");
  deviation("news-between-stages", &Deviations::news_between_stages,
            "[ours] What happens in the cluster while a pass waits for the cloud or an expander is "
            "known to its next stage, instead of being held back until its last plan is made.");
  t.AddNumber("explain-checks", v.options.explain_checks, AnyNumber<int>(),
              "[ours] How many questions to the filters a pass may spend on what would have helped "
              "the pods that nothing helps; 0: none, below 0: no limit, and every other reason is "
              "told in full, too.");
}

}  // namespace coppice::autoscale
