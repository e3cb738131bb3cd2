#include "report/pass_report.h"

#include <array>

namespace coppice::report {

std::string_view ToString(ScaleUpResult result) {
  switch (result) {
    case ScaleUpResult::kNotTried:
      return "NotTried";
    case ScaleUpResult::kNotNeeded:
      return "NotNeeded";
    case ScaleUpResult::kInCooldown:
      return "InCooldown";
    case ScaleUpResult::kLimitedByMaxNodesTotal:
      return "LimitedByMaxNodesTotal";
    case ScaleUpResult::kNoOptionsAvailable:
      return "NoOptionsAvailable";
    case ScaleUpResult::kSuccessful:
      return "Successful";
    case ScaleUpResult::kError:
      return "Error";
  }
  return "Unknown";
}

std::string_view ToString(ScaleDownResult result) {
  switch (result) {
    case ScaleDownResult::kNotTried:
      return "NotTried";
    case ScaleDownResult::kInCooldown:
      return "InCooldown";
    case ScaleDownResult::kNoCandidates:
      return "NoCandidates";
    case ScaleDownResult::kNoNodeDeleted:
      return "NoNodeDeleted";
    case ScaleDownResult::kNodeDeleteStarted:
      return "NodeDeleteStarted";
    case ScaleDownResult::kError:
      return "Error";
  }
  return "Unknown";
}

std::string_view ToString(Unremovable reason) {
  switch (reason) {
    case Unremovable::kNoReason:
      return "NoReason";
    case Unremovable::kScaleDownDisabledAnnotation:
      return "ScaleDownDisabledAnnotation";
    case Unremovable::kScaleDownUnreadyDisabled:
      return "ScaleDownUnreadyDisabled";
    case Unremovable::kNotAutoscaled:
      return "NotAutoscaled";
    case Unremovable::kNotUnneededLongEnough:
      return "NotUnneededLongEnough";
    case Unremovable::kNotUnreadyLongEnough:
      return "NotUnreadyLongEnough";
    case Unremovable::kNodeGroupMinSizeReached:
      return "NodeGroupMinSizeReached";
    case Unremovable::kAtomicScaleDownFailed:
      return "AtomicScaleDownFailed";
    case Unremovable::kMinimalResourceLimitExceeded:
      return "MinimalResourceLimitExceeded";
    case Unremovable::kCurrentlyBeingDeleted:
      return "CurrentlyBeingDeleted";
    case Unremovable::kNotUnderutilized:
      return "NotUnderutilized";
    case Unremovable::kRecentlyUnremovable:
      return "RecentlyUnremovable";
    case Unremovable::kNoPlaceToMovePods:
      return "NoPlaceToMovePods";
    case Unremovable::kBlockedByPod:
      return "BlockedByPod";
    case Unremovable::kUnexpectedError:
      return "UnexpectedError";
    case Unremovable::kNoNodeInfo:
      return "NoNodeInfo";
    case Unremovable::kBlockedByOnCompletionPod:
      return "BlockedByOnCompletionPod";
    case Unremovable::kFused:
      return "Fused";
    case Unremovable::kGroupDelayed:
      return "GroupDelayed";
    case Unremovable::kCooldown:
      return "Cooldown";
    case Unremovable::kNextPass:
      return "NextPass";
  }
  return "Unknown";
}

}  // namespace coppice::report
