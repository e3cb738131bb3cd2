// What is told and counted of a drain: evictions as they are answered, pods that are deleted without
// asking their budgets, and for what reason they had to go.

#include <fmt/format.h>

#include "provision/conditions.h"
#include "provision/lifecycle/node_end.h"
#include "wire/time_text.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

}  // namespace

NodeEnd::NodeEnd(Parts parts)
    : parts_(parts),
      evictions_(parts.context.parts.writer, parts.context.parts.executor.clock(),
                 {.spawn = [this](Task<void> task) { context().Spawn(std::move(task)); },
                  .answered = [this](const model::Pod& pod,
                                     const Status& status) { Answered(pod, status); },
                  .forced =
                      [this](const model::Pod& pod, TimePoint deadline) {
                        context().Tell(Context::Of(pod), "Normal", "Disrupted",
                                       "Deleting the pod to accommodate the terminationTime " +
                                           wire::FormatRfc3339(deadline) + " of the node");
                      },
                  .deleted =
                      [this](const model::Pod& pod, const Status& status) {
                        if (status.ok()) CountDrained(DrainReasonOf(pod));
                      }}) {}

void NodeEnd::Answered(const model::Pod& pod, const Status& status) {
  const Code code = status.code();
  // Without an answer there is no code.
  if (code != Code::kUnavailable && code != Code::kDeadlineExceeded) {
    context().Count("karpenter_pods_eviction_requests_total",
                    "The total number of eviction requests made by Karpenter",
                    {{"code", status.ok()                        ? "200"
                              : code == Code::kResourceExhausted ? "429"
                              : code == Code::kNotFound          ? "404"
                              : code == Code::kAborted           ? "409"
                                                                 : "500"}});
  }
  if (status.ok()) {
    const std::string reason = DrainReasonOf(pod);
    context().Tell(Context::Of(pod), "Normal", "Evicted", "Evicted pod: " + reason);
    return CountDrained(reason);
  }
  const bool several =
      status.message().find("more than one PodDisruptionBudget") != std::string::npos;
  if (!several && code != Code::kResourceExhausted) return;
  const NodePtr node = context().world().FindNode(pod.spec.node_name);
  if (node == nullptr) return;
  context().Tell(Context::Of(*node), "Warning", "FailedDraining",
                 fmt::format("Failed to drain node, {} (Pod={}/{})",
                             several ? "eviction does not support multiple PDBs"
                                     : "evicting pod violates a PDB",
                             pod.metadata.namespace_, pod.metadata.name));
}

void NodeEnd::CountDrained(const std::string& reason) {
  context().Count("karpenter_pods_drained_total",
                  "The total number of pods drained during node termination by Karpenter",
                  {{"reason", reason}});
}

std::string NodeEnd::DrainReasonOf(const model::Pod& pod) {
  const NodePtr node = context().world().FindNode(pod.spec.node_name);
  if (node == nullptr) return "";
  for (const ClaimPtr& claim : parts_.store.List()) {
    if (claim->status.provider_id.empty() || claim->status.provider_id != node->spec.provider_id)
      continue;
    const auto* why = model::FindCondition(claim->status.conditions, names::kDisruptionReason);
    return why != nullptr && why->status == "True" ? why->reason : "Forceful Termination";
  }
  return "";
}

}  // namespace coppice::provision
