#include "batch/scheduler_flags.h"

#include <limits>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace coppice::batch {
namespace {

constexpr Between<Duration> kSomeTime{std::chrono::milliseconds(1), Duration::max()};
constexpr Between<int> kPercent{0, 100};

void AddSessions(FlagSet& set, SchedulerFlags& flags) {
  Options& session = flags.engine.session;
  set.AddString("scheduler-conf", flags.scheduler_conf,
                "volcano-scheduler.conf; read again when it changes, and what is wrong leaves the "
                "one before in force.");
  set.Add("disable-default-scheduler-config", "bool", "false",
          "End instead of running with the built-in configuration when the file cannot be used.",
          [&flags](std::string_view text) -> Status {
            flags.default_conf = !TRY(FlagBool(text));
            return Status::Ok();
          });
  set.Add("scheduler-name", "string", Join(session.scheduler_names, ","),
          "Pods with this spec.schedulerName are placed. May be given several times.",
          [&session, first = true](std::string_view text) mutable -> Status {
            if (text.empty()) return BadFlagValue(text, "the name of a scheduler");
            if (std::exchange(first, false)) session.scheduler_names.clear();
            session.scheduler_names.emplace_back(text);
            return Status::Ok();
          });
  set.AddDuration("schedule-period", flags.engine.schedule_period, kSomeTime,
                  "A session at least so often; changes begin one at once.");
  set.AddDuration("shortest-session-gap", flags.engine.shortest_gap, kSomeTime,
                  "[ours] Between the beginnings of two sessions.");
  set.AddString("default-queue", session.default_queue, "Of groups that name none.");
  set.AddNumber("minimum-feasible-nodes", session.min_feasible_nodes,
                "Enough nodes for a pod to stop looking; with --upstream-exact, else all are "
                "looked at.");
  set.AddNumber("minimum-percentage-nodes-to-find", session.min_percentage_of_nodes, kPercent,
                "Likewise, of all nodes.");
  set.AddNumber("percentage-nodes-to-find", session.percentage_of_nodes, kPercent,
                "Likewise; 0: fewer of them the more there are.");
  set.AddBool("evict-by-budget", flags.engine.evict_by_budget,
              "[ours] Evictions are held against PodDisruptionBudgets, also without the plug-in "
              "pdb.");
}

Status SetPreference(BuyingOptions& buying, std::string_view text) {
  if (text == "buying") {
    buying.prefer = Prefer::kBuying;
  } else if (text == "preempting") {
    buying.prefer = Prefer::kPreempting;
  } else if (text == "price") {
    buying.prefer = Prefer::kByPrice;
  } else {
    return BadFlagValue(text, "one of buying, preempting and price");
  }
  return Status::Ok();
}

void AddBuying(FlagSet& set, SchedulerFlags& flags) {
  BuyingOptions& buying = flags.buying;
  set.AddBool("gang-buying", flags.buys,
              "[ours] Machines are bought for gangs that fit nowhere, whole or not at all, by "
              "whichever engine beside this one sells some (docs/gang-buying.md).");
  set.Add("gang-prefer", "string", "buying",
          "[ours] What a gang without room does first: buying (others are evicted for it only if "
          "nobody sells what it needs), preempting (what evictions leave is bought), price (bought "
          "unless that costs more than --gang-preempt-above).",
          [&buying](std::string_view text) { return SetPreference(buying, text); });
  set.AddNumber("gang-preempt-above", buying.preempt_above,
                "[ours] An hour, with --gang-prefer=price; what has no price is above it.");
  set.AddDuration("gang-preempt-for", buying.preempt_for, kSomeTime,
                  "[ours] With --gang-prefer=price: what is dearer is bought all the same when "
                  "evictions have not helped for so long.");
  set.AddDuration("gang-await-sellers", buying.await_sellers, kSomeTime,
                  "[ours] Evictions wait so long, at most, for whoever sells machines to be "
                  "ready.");
  set.Add("gang-most-per-hour", "float", "",
          "[ours] What costs more an hour is not bought for a gang at all; empty: no limit.",
          [&buying](std::string_view text) -> Status {
            buying.most_per_hour.reset();
            if (!text.empty()) buying.most_per_hour = TRY(FlagNumber<double>(text));
            return Status::Ok();
          });
  set.AddDuration("gang-hold", buying.hold, kSomeTime,
                  "[ours] Machines that were bought for a gang wait for it so long, then they are "
                  "given back.");
  set.AddDuration("gang-ask-again", buying.ask_again, kSomeTime,
                  "[ours] After a refusal of all who sell; doubles with each.");
  set.AddDuration("gang-ask-again-at-most", buying.ask_again_at_most, kSomeTime,
                  "[ours] That long, then.");
  set.AddNumber("gangs-at-once", buying.most_at_once, Between<int>{1, 100'000},
                "[ours] So many waiting gangs are looked at after one session.");
  set.AddNumber("gang-attempts", buying.attempts, Between<int>{1, 1'000},
                "[ours] Purchases in a row for a gang that does not start.");
}

Status SetControllers(SchedulerFlags::Controllers& controllers, std::string_view text) {
  for (const std::string& name : Split(std::string(text), ',')) {
    if (name.empty()) continue;
    const bool all = name == "all";
    if (!all && name != "podgroup" && name != "queue" && name != "job")
      return BadFlagValue(name, "one of podgroup, queue, job and all");
    controllers.pod_groups |= all || name == "podgroup";
    controllers.queues |= all || name == "queue";
    controllers.jobs |= all || name == "job";
  }
  return Status::Ok();
}

void AddProcess(FlagSet& set, SchedulerFlags& flags) {
  set.AddNumber("kube-api-qps", flags.kube_api_qps, "Calls to the API server a second.");
  set.AddNumber("kube-api-burst", flags.kube_api_burst, "Of them at once.");
  set.AddString("listen-address", flags.listen_address,
                "Of /metrics and the other pages, when the scheduler runs alone.");
  set.AddBool("enable-metrics", flags.enable_metrics,
              "Upstream serves metrics only with it; here they are always served.");
  set.AddString("healthz-address", flags.healthz_address,
                "Upstream's second address; health is told at --listen-address, too.");
  set.AddBool("enable-healthz", flags.enable_healthz, "Likewise.");
  set.AddString("lock-object-namespace", flags.lock_namespace,
                "Of the lease, when the scheduler runs alone.");
  set.Add("batch-controllers", "list", "",
          "[ours] Of Volcano's controller-manager, what is done here in its place: podgroup, "
          "queue, job, or all. Leave it empty where that runs itself.",
          [&flags](std::string_view text) { return SetControllers(flags.controllers, text); });
}

void AddOthers(FlagSet& set) {
  set.Accept("node-worker-threads", "int", "20", "nodes are read by the watch, on one thread");
  set.Accept("resource-sync-timeout", "duration", "60s",
             "there is one time-out for reading, --max-startup-time");
  set.Accept("gate-removal-worker-num", "int", "5", "gates are removed by no worker");
  set.Accept("cache-dumper", "bool", "true", "/api/v1 shows what the scheduler knows");
  set.Accept("ca-cert-file", "string", "", "the kubeconfig names its certificates");
  set.Accept("tls-cert-file", "string", "", "pages are served without TLS on a private address");
  set.Accept("tls-private-key-file", "string", "",
             "pages are served without TLS on a private address");
  set.Refuse("priority-class", "true", "take the plug-in priority out of the configuration");
  set.Refuse("plugins-dir", "",
             "build the plug-in as a folder (docs/extending/batch-plugin.md), or ask it over HTTP "
             "(docs/extending/extender.md)");
  set.Refuse("scheduler-sharding-mode", "none", "one process schedules the whole cluster");
  set.Refuse("scheduler-sharding-name", "", "one process schedules the whole cluster");
  set.Refuse("node-selector", "", "use node affinity, or a queue's nodegroup affinity");
  set.Refuse("feature-gates", "", "no feature is behind a gate");
  set.Refuse("enable-csi-storage", "false", "volumes are always looked at");
}

}  // namespace

bool ReadsVolcanoJobs(const SchedulerFlags& flags, bool upstream_exact, bool somebody_sells) {
  return flags.controllers.jobs || (flags.buys && somebody_sells && !upstream_exact);
}

void AddSchedulerFlags(FlagSet& set, SchedulerFlags& flags) {
  set.Group("Batch scheduler (with --batch)");
  AddSessions(set, flags);
  AddBuying(set, flags);
  AddProcess(set, flags);
  AddOthers(set);
}

}  // namespace coppice::batch
