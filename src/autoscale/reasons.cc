#include "autoscale/reasons.h"

#include <utility>

#include "base/strings.h"
#include "report/explain.h"

namespace coppice::autoscale {
namespace {

using report::StayReason;

// True of most nodes at most times.
bool IsEveryday(StayReason reason) {
  switch (reason) {
    case StayReason::kNotUnderutilized:
    case StayReason::kNotAutoscaled:
    case StayReason::kNodeGroupMinSizeReached:
    case StayReason::kNotUnneededLongEnough:
    case StayReason::kNotUnreadyLongEnough:
    case StayReason::kCurrentlyBeingDeleted:
    case StayReason::kGroupDelayed:
    case StayReason::kCooldown:
    case StayReason::kNextPass:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Reasons::TellNodes(const report::ScaleDown& scale_down) {
  std::map<std::string, std::string> telling;
  for (const report::StayingNode& node : scale_down.staying) {
    if (IsEveryday(node.reason)) continue;
    const auto before = told_.find(node.node);
    if (node.reason == StayReason::kRecentlyUnremovable) {  // found so before, not looked at again
      if (before != told_.end()) telling.insert(*before);
      continue;
    }
    std::string what(report::ToString(node.reason));
    if (node.blocking_pod) what += " " + report::NameOf(*node.blocking_pod);
    what += " " + node.blocking_reason;
    if (before == told_.end() || before->second != what) {
      log_.Info("a node stays that is not needed", {{"node", node.node},
                                                    {"group", node.group},
                                                    {"reason", report::ToString(node.reason)},
                                                    {"why", report::Sentence(node)}});
    }
    telling[node.node] = std::move(what);
  }
  told_ = std::move(telling);
}

void Reasons::PassEnded(std::shared_ptr<const report::PassReport> report) {
  TellNodes(report->scale_down);
  const MutexLock lock(mutex_);
  last_ = std::move(report);
}

Result<std::string> Reasons::Explain(const std::string* pod, const std::string* node) const {
  std::shared_ptr<const report::PassReport> last;
  {
    const MutexLock lock(mutex_);
    last = last_;
  }
  if ((pod == nullptr) == (node == nullptr))
    return InvalidArgument("ask for ?pod=NAMESPACE/NAME or ?node=NAME");
  if (!last) return Unavailable("no pass has ended yet; another replica may be leading");
  std::vector<std::string> lines;
  if (pod != nullptr) {
    const size_t slash = pod->find('/');
    if (slash == std::string::npos) return InvalidArgument("a pod is asked for as NAMESPACE/NAME");
    const std::string_view text = *pod;
    lines = report::ExplainPod(*last, text.substr(0, slash), text.substr(slash + 1));
  } else {
    lines = report::ExplainNode(*last, *node);
  }
  if (lines.empty()) return NotFound("the last pass had nothing to decide about it");
  return Join(lines, "\n") + "\n";
}

}  // namespace coppice::autoscale
