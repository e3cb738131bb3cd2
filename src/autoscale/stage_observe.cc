#include "autoscale/stage_observe.h"

#include <utility>
#include <vector>

#include "autoscale/drain_options.h"
#include "autoscale/pod_lists.h"

namespace coppice::autoscale {

// Before the cloud is asked nodes are listed only for who wants to know of them by then.
bool ObserveStage::IsActionable(Pass& pass, Observation& seen) {
  const bool from_zero = shared_.options.buying.scale_up_from_zero;
  if (!shared_.slots.actionable_cluster && from_zero) return true;
  parts_.nodes.Update();
  const std::vector<ListedNode>& nodes = parts_.nodes.nodes();
  if (shared_.slots.actionable_cluster) {
    const auto why = shared_.slots.actionable_cluster->ShouldAbort(nodes, pass.View());
    if (!why.ok()) pass.Fail("internalError", why.status().message());
    if (why.ok() && why->empty()) return true;
    if (why.ok()) seen.unhealthy = *why;
  } else {
    if (!nodes.empty() && parts_.nodes.ready() > 0) return true;
    seen.unhealthy = "Cluster has no ready nodes.";
  }
  seen.nothing_is_unneeded = true;
  return false;
}

Status ObserveStage::List(Observation& seen) {
  parts_.nodes.Update();
  seen.as_of = parts_.still.Now();
  auto budgets = BudgetsOf(shared_.options.deviations, shared_.world);
  if (!budgets.ok()) {
    return InvalidArgument("failed to initialize RemainingPdbTracker: " +
                           budgets.status().message());
  }
  seen.budgets = std::move(*budgets);
  return Status::Ok();
}

Result<bool> ObserveStage::LookAgain(Observation& seen) {
  if (!seen.as_of.HasNews()) return false;
  TRY(List(seen));
  return true;
}

Status ObserveStage::ListAgain(Observation& seen) {
  const bool news = TRY(LookAgain(seen));
  if (news)
    seen.pending = ListPending(shared_.options.pods, shared_.options.deviations, shared_.world);
  return Status::Ok();
}

Status ObserveStage::MakeTemplates(Pass& pass) {
  const auto pods_of = [this](const model::Node& node) {
    std::vector<const model::Pod*> pods;
    const cluster::NodeIndex index = shared_.world.snapshot().FindNode(node.metadata.name);
    if (index == cluster::kNone) return pods;
    for (const cluster::PodIndex pod : shared_.world.PodsInOrder(index)) {
      if (const auto* entry = shared_.world.EntryOf(pod)) pods.push_back(entry->pod.get());
    }
    return pods;
  };
  const std::vector<ListedNode>& nodes = parts_.nodes.nodes();
  parts_.templates.Recompute(nodes, pods_of, shared_.world.objects<model::DaemonSet>().List(),
                             pass.now);
  if (!shared_.slots.node_info) return Status::Ok();
  auto processed =
      TRY(shared_.slots.node_info->Process(parts_.templates.all(), nodes, pass.View()));
  parts_.templates.Replace(std::move(processed));
  return Status::Ok();
}

// The cluster went on while the cloud was asked. From here on what comes is held back: what is
// listed is what is worked with.
Status ObserveStage::Recognize(Pass& pass, Observation& seen) {
  const StandStill::Plan still(parts_.still);
  const Status listed = List(seen);
  seen.listed = true;
  seen.pending = ListPending(shared_.options.pods, shared_.options.deviations, shared_.world);
  for (const auto& observer : shared_.slots.loop_start) observer->Refresh(pass.View());
  if (!listed.ok()) {
    pass.Fail("internalError", listed.message());
    return listed;
  }
  const Status made = MakeTemplates(pass);
  if (!made.ok()) {
    pass.Fail("internalError", "node info: " + made.message());
    return made;
  }
  auto findings = parts_.state.Update(parts_.nodes.nodes(), pass.now);
  if (!findings.ok()) {
    seen.nothing_is_unneeded = true;
    pass.Fail("cloudProviderError", findings.status().message());
    return findings.status();
  }
  seen.findings = std::move(*findings);
  return Status::Ok();
}

Task<Observation> ObserveStage::Run(Pass& pass, DeletionsInProgress deleting) {
  Observation seen;
  if (!IsActionable(pass, seen)) co_return seen;
  seen.deleting = std::move(deleting);
  pass.report->deleting = seen.deleting.empty.size() + seen.deleting.drained.size();
  parts_.owners.TellNodes();
  const Stopwatch refresh(shared_.executor.clock());
  const uint64_t answers = parts_.orders.answers();
  const Status refreshed = co_await shared_.cloud.Refresh();
  if (!refreshed.ok()) {
    pass.Fail("cloudProviderError", refreshed.message());
    co_return seen;
  }
  parts_.orders.Refreshed(answers);
  refresh.Note(pass.report->took, "cloudProviderRefresh");
  if (const std::string stale = parts_.view.Stale(); !stale.empty()) {
    pass.Fail("apiCallError", stale);
    co_return seen;
  }
  const Stopwatch update(shared_.executor.clock());
  seen.known = Recognize(pass, seen).ok();
  if (seen.known) update.Note(pass.report->took, "updateClusterState");
  co_return seen;
}

}  // namespace coppice::autoscale
