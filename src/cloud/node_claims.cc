#include "cloud/node_claims.h"

#include <algorithm>

namespace coppice::cloud {

namespace {

constexpr std::string_view kCreateErrorMark = "create error ";
constexpr size_t kLongestMessage = 300;

// Cut between characters, not within one.
std::string CutMessage(const std::string& message) {
  if (message.size() <= kLongestMessage) return message;
  size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  return message.substr(0, end) + "...";
}

}  // namespace

Status CreateError(std::string_view reason, std::string_view message) {
  return {Code::kAborted,
          std::string(kCreateErrorMark) + std::string(reason) + ": " + std::string(message)};
}

LaunchTrouble TroubleOf(const Status& status) {
  LaunchTrouble trouble{.reason = "LaunchFailed", .message = CutMessage(status.message())};
  if (status.code() == Code::kResourceExhausted) {
    trouble.give_up = true;
    trouble.disruption = "insufficient_capacity";
  } else if (status.code() == Code::kFailedPrecondition) {
    trouble.give_up = true;
    trouble.disruption = "nodeclass_not_ready";
  } else if (status.code() == Code::kAborted) {
    // Whatever context stands in front, the provider's words begin at the mark.
    const size_t mark = status.message().find(kCreateErrorMark);
    if (mark == std::string::npos) return trouble;
    const std::string said = status.message().substr(mark + kCreateErrorMark.size());
    const size_t colon = said.find(": ");
    if (colon == std::string::npos || colon == 0) return trouble;
    trouble.reason = said.substr(0, colon);
    trouble.message = CutMessage(said.substr(colon + 2));
  }
  return trouble;
}

Status TakeOver(const model::NodeClaim& created, model::NodeClaim& claim) {
  if (created.status.provider_id.empty()) {
    return Internal("the provider created a machine without saying its provider id");
  }
  for (const auto& [key, value] : created.metadata.labels) {
    if (!claim.metadata.labels.contains(key)) claim.metadata.labels[key] = value;
  }
  for (const auto& [key, value] : created.metadata.annotations) {
    claim.metadata.annotations[key] = value;
  }
  claim.status.provider_id = created.status.provider_id;
  claim.status.image_id = created.status.image_id;
  claim.status.capacity = created.status.capacity;
  claim.status.allocatable = created.status.allocatable;
  return Status::Ok();
}

model::Node NodeOfClaim(const model::NodeClaim& claim, std::string_view name) {
  model::Node node;
  node.metadata.name = std::string(name);
  node.metadata.labels = claim.metadata.labels;
  node.metadata.labels[model::kHostnameLabel] = std::string(name);
  node.metadata.annotations = claim.metadata.annotations;
  node.spec.provider_id = claim.status.provider_id;
  node.spec.taints = claim.spec.taints;
  for (const model::Taint& taint : claim.spec.startup_taints) node.spec.taints.push_back(taint);
  node.spec.taints.push_back({.key = model::karpenter::kUnregisteredTaint, .effect = "NoExecute"});
  node.status.capacity = claim.status.capacity;
  node.status.allocatable = claim.status.allocatable;
  return node;
}

bool IsManaged(const std::optional<model::NodeClassReference>& reference,
               const std::vector<NodeClassKind>& kinds) {
  return reference && std::ranges::any_of(kinds, [&](const NodeClassKind& kind) {
           return kind.group == reference->group && kind.kind == reference->kind;
         });
}

}  // namespace coppice::cloud
