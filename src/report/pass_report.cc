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

std::string_view ToString(StayReason reason) {
  switch (reason) {
    case StayReason::kNoReason:
      return "NoReason";
    case StayReason::kScaleDownDisabledAnnotation:
      return "ScaleDownDisabledAnnotation";
    case StayReason::kScaleDownUnreadyDisabled:
      return "ScaleDownUnreadyDisabled";
    case StayReason::kNotAutoscaled:
      return "NotAutoscaled";
    case StayReason::kNotUnneededLongEnough:
      return "NotUnneededLongEnough";
    case StayReason::kNotUnreadyLongEnough:
      return "NotUnreadyLongEnough";
    case StayReason::kNodeGroupMinSizeReached:
      return "NodeGroupMinSizeReached";
    case StayReason::kAtomicScaleDownFailed:
      return "AtomicScaleDownFailed";
    case StayReason::kMinimalResourceLimitExceeded:
      return "MinimalResourceLimitExceeded";
    case StayReason::kCurrentlyBeingDeleted:
      return "CurrentlyBeingDeleted";
    case StayReason::kNotUnderutilized:
      return "NotUnderutilized";
    case StayReason::kRecentlyUnremovable:
      return "RecentlyUnremovable";
    case StayReason::kNoPlaceToMovePods:
      return "NoPlaceToMovePods";
    case StayReason::kBlockedByPod:
      return "BlockedByPod";
    case StayReason::kUnexpectedError:
      return "UnexpectedError";
    case StayReason::kNoNodeInfo:
      return "NoNodeInfo";
    case StayReason::kBlockedByOnCompletionPod:
      return "BlockedByOnCompletionPod";
    case StayReason::kFused:
      return "Fused";
    case StayReason::kGroupDelayed:
      return "GroupDelayed";
    case StayReason::kCooldown:
      return "Cooldown";
    case StayReason::kNextPass:
      return "NextPass";
  }
  return "Unknown";
}

}  // namespace coppice::report
