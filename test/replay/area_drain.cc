// drain: which pods keep a node, which move, which are waited for, and what disruption budgets say.

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "autoscale/drain_options.h"
#include "base/go_duration.h"
#include "drain/rules.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"
#include "wire/time_text.h"

namespace coppice::replay {
namespace {

std::string NameOf(const model::Pod& pod) {
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

Json Names(const std::vector<const model::Pod*>& pods) {
  Json names = Json::array();
  for (const model::Pod* pod : pods) names.push_back(NameOf(*pod));
  return names;
}

void Compare(const Json& expect, const char* key, const Json& ours, Report& report) {
  if (expect.at(key) != ours) report.Differs(key, expect.at(key).dump(), ours.dump());
}

drain::RuleOptions ReadOptions(const Json& options) {
  auto timeout =
      ParseGoDuration(options.at("blocking-system-pod-distruption-timeout").get<std::string>());
  if (!timeout.ok()) throw std::runtime_error(timeout.status().ToString());
  return {.annotation_prefix = std::string(autoscale::kAnnotationPrefix),
          .skip_nodes_with_system_pods = options.at("skip-nodes-with-system-pods"),
          .skip_nodes_with_local_storage = options.at("skip-nodes-with-local-storage"),
          .skip_nodes_with_custom_controller_pods =
              options.at("skip-nodes-with-custom-controller-pods"),
          .min_replica_count = options.at("min-replica-count"),
          .blocking_system_pod_timeout = *timeout};
}

drain::ListedControllers ReadControllers(const Json& c) {
  drain::ListedControllers all;
  for (const auto& o : Objects<model::ReplicationController>(c, "replicationControllers")) {
    all.Add("ReplicationController", o.metadata, o.spec.replicas);
  }
  for (const auto& o : Objects<model::ReplicaSet>(c, "replicaSets"))
    all.Add("ReplicaSet", o.metadata, o.spec.replicas);
  for (const auto& o : Objects<model::StatefulSet>(c, "statefulSets")) {
    all.Add("StatefulSet", o.metadata, o.spec.replicas);
  }
  for (const auto& o : Objects<model::DaemonSet>(c, "daemonSets")) all.Add("DaemonSet", o.metadata);
  for (const auto& o : Objects<model::Job>(c, "jobs")) all.Add("Job", o.metadata);
  return all;
}

std::string Alone(const model::Pod& pod, const std::vector<drain::Rule>& rules,
                  const drain::Context& context) {
  const drain::PodsToMove moves = drain::FindPodsToMove(rules, {&pod}, context);
  if (moves.blocking != nullptr) return "block:" + std::string(ToString(moves.blocked_by.reason));
  if (!moves.movable.empty()) return "move";
  if (!moves.daemon_set.empty()) return "daemonset";
  return moves.on_completion.empty() ? "skip" : "onCompletion";
}

}  // namespace

void drain(const Json& c, Report& report) {
  const Json& expect = c.at("expect");
  const auto now = wire::ParseRfc3339(c.at("now").get<std::string>());
  if (!now) return report.Unreadable("now is not a time");
  std::vector<std::shared_ptr<const model::PodDisruptionBudget>> pdbs;
  for (auto& pdb : Objects<model::PodDisruptionBudget>(c, "podDisruptionBudgets")) {
    pdbs.push_back(std::make_shared<const model::PodDisruptionBudget>(std::move(pdb)));
  }
  const auto budgets = drain::PdbTracker::Create(pdbs);
  if (!budgets.ok()) return report.Unreadable(budgets.status().ToString());
  const auto controllers = ReadControllers(c);
  const bool listed = c.at("options").at("listersAvailable");
  const drain::Context context{
      .budgets = *budgets, .controllers = listed ? &controllers : nullptr, .now = *now};
  const auto rules = drain::DefaultRules(ReadOptions(c.at("options")));

  const auto pods = Objects<model::Pod>(c, "pods");
  std::vector<const model::Pod*> on_node;
  Json per_pod = Json::array();
  for (const model::Pod& pod : pods) {
    on_node.push_back(&pod);
    per_pod.push_back({{"pod", NameOf(pod)}, {"outcome", Alone(pod, rules, context)}});
  }
  const drain::PodsToMove moves = drain::FindPodsToMove(rules, on_node, context);

  Compare(expect, "podsToMove", Names(moves.movable), report);
  Compare(expect, "daemonSetPods", Names(moves.daemon_set), report);
  Compare(expect, "onCompletionPods", Names(moves.on_completion), report);
  Json blocking;
  if (moves.blocking != nullptr) {
    blocking = {{"pod", NameOf(*moves.blocking)}, {"reason", ToString(moves.blocked_by.reason)}};
  }
  Compare(expect, "blocking", blocking, report);
  Compare(expect, "perPod", per_pod, report);
  if (expect.contains("pdb")) {
    const auto answer = budgets->CanRemove(moves.movable);
    Json pdb{{"canRemove", answer.can_remove}, {"inParallel", answer.in_parallel}};
    if (answer.blocking != nullptr) pdb["blockingPod"] = NameOf(*answer.blocking);
    Compare(expect, "pdb", pdb, report);
  }
}

}  // namespace coppice::replay
