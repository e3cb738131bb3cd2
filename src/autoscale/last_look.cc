#include "autoscale/last_look.h"

#include "autoscale/taints.h"
#include "drain/keeps_node.h"

namespace coppice::autoscale {
namespace {

Status SameMachine(const Leaving& leaving, const model::Node& now) {
  const std::string& uid = now.metadata.uid;
  if (!leaving.uid.empty() && uid != leaving.uid) {
    return FailedPrecondition("another node has come under the name \"" + leaving.node +
                              "\": its uid is " + uid + ", planned was " + leaving.uid);
  }
  // An id may be missing at first and is never changed afterwards.
  const std::string& id = now.spec.provider_id;
  if (!leaving.provider_id.empty() && id != leaving.provider_id) {
    return FailedPrecondition("another machine is behind the name \"" + leaving.node +
                              "\": its provider id is \"" + id + "\", planned was \"" +
                              leaving.provider_id + "\"");
  }
  return Status::Ok();
}

}  // namespace

Task<Status> LastLook::LookAtPods(std::string node) {
  const auto pods = co_await writer_.PodsOn(node);
  if (pods.code() == Code::kUnimplemented) co_return Status::Ok();
  if (!pods.ok()) {
    co_return Unavailable("the API server could not be asked which pods are on \"" + node +
                          "\" now: " + pods.status().message());
  }
  const cluster::LivePod kept = drain::KeepsNode(*pods, options_.expendable_pods_priority_cutoff);
  if (kept == nullptr) co_return Status::Ok();
  co_return FailedPrecondition("the pod " + kept->metadata.namespace_ + "/" + kept->metadata.name +
                               " is on \"" + node + "\" now");
}

Task<Result<cloud::NodeRef>> LastLook::At(Leaving leaving) {
  const bool fuses = deviations_.fuses;
  cluster::NodePtr node = world_.FindNode(leaving.node);
  if (fuses) {
    const auto live = co_await writer_.NodeNow(leaving.node);
    if (live.ok()) {
      node = *live;
    } else if (live.code() == Code::kNotFound) {
      node = nullptr;
    } else if (live.code() != Code::kUnimplemented) {
      co_return Unavailable("the API server could not be asked about \"" + leaving.node +
                            "\" right before its deletion: " + live.status().message());
    }
  }
  if (node != nullptr) {
    const Status same = SameMachine(leaving, *node);
    if (!same.ok()) co_return same;
  }
  if (fuses && node == nullptr && leaving.provider_id.empty()) {
    co_return FailedPrecondition("the node \"" + leaving.node +
                                 "\" is gone, and nothing says which machine it was");
  }
  if (fuses && node != nullptr && !writer_.pretends() && !HasToBeDeletedTaint(*node)) {
    co_return FailedPrecondition("somebody has taken our mark off \"" + leaving.node +
                                 "\": pods may come to it");
  }
  if (fuses) {
    const Status empty = co_await LookAtPods(leaving.node);
    if (!empty.ok()) co_return empty;
  }
  cloud::NodeRef ref;
  ref.name = leaving.node;
  ref.provider_id = node != nullptr ? node->spec.provider_id : leaving.provider_id;
  ref.node = std::move(node);
  co_return ref;
}

}  // namespace coppice::autoscale
