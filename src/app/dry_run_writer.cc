#include "app/dry_run_writer.h"

#include <vector>

#include "base/strings.h"

namespace coppice::app {

Task<Status> DryRunWriter::ChangeNode(std::string node, cluster::NodeChange change) {
  std::vector<std::string> taints;
  for (const model::Taint& taint : change.add_taints) taints.push_back("+" + taint.key);
  for (const std::string& key : change.remove_taints) taints.push_back("-" + key);
  log_.Info("dry run: a node would have been changed",
            {{"node", node},
             {"taints", Join(taints, ",")},
             {"unschedulable", !change.unschedulable   ? "as it is"
                               : *change.unschedulable ? "true"
                                                       : "false"}});
  co_return Status::Ok();
}

Task<Status> DryRunWriter::Evict(cluster::PodName pod, int64_t grace_period_seconds) {
  log_.Info("dry run: a pod would have been evicted",
            {{"pod", pod.namespace_ + "/" + pod.name}, {"grace_seconds", grace_period_seconds}});
  co_return Status::Ok();
}

Task<Result<std::optional<std::string>>> DryRunWriter::WhereIs(cluster::PodName) {
  co_return std::optional<std::string>();
}

Task<Result<std::vector<cluster::LivePod>>> DryRunWriter::PodsOn(std::string node) {
  return real_.PodsOn(std::move(node));
}

void DryRunWriter::Emit(cluster::Event event) {
  log_.Info("dry run: an event would have been written", {{"kind", event.kind},
                                                          {"object", event.name},
                                                          {"reason", event.reason},
                                                          {"text", event.text}});
}

}  // namespace coppice::app
