#include "report/explain.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/go_duration.h"
#include "base/strings.h"
#include "model/quantity.h"

namespace coppice::report {

namespace {

std::string Number(double value, int digits = 2) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// In as many digits as it takes to see it: "0.50 > 0.50" helps nobody.
std::string Above(double value, double limit) {
  int digits = 2;
  while (digits < 6 && Number(value, digits) == Number(limit, digits)) ++digits;
  return Number(value, digits) + " > " + Number(limit, digits);
}

// An amount of a column as people write it.
std::string Amount(std::string_view resource, int64_t amount) {
  using model::Quantity;
  if (resource == "cpu") return Quantity::FromMillis(amount).Canonical();
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  if (!bytes) return std::to_string(amount);
  constexpr double kMebi = 1 << 20;
  if (amount % (1 << 20) == 0)
    return Quantity::FromUnits(amount, Quantity::Format::kBinarySI).Canonical();
  char text[48];
  std::snprintf(text, sizeof(text), "%.1fMi", static_cast<double>(amount) / kMebi);
  return text;
}

// Seconds are enough for people.
std::string Rounded(Duration duration) {
  return FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

bool Has(const std::vector<PodPtr>& pods, std::string_view namespace_, std::string_view name) {
  return std::ranges::any_of(pods, [&](const PodPtr& pod) {
    return pod->metadata.name == name && pod->metadata.namespace_ == namespace_;
  });
}

std::string ResizeText(const GroupResize& r) {
  return "{" + r.group + " " + std::to_string(r.from) + "->" + std::to_string(r.to) +
         " (max: " + std::to_string(r.max) + ")}";
}

void ExplainUnhelped(const Unhelped& unhelped, std::vector<std::string>& lines) {
  for (const GroupReason& reason : ReasonsByGroup(unhelped))
    lines.push_back("group " + reason.group + ": " + reason.text);
  if (!unhelped.misses.empty()) lines.push_back("nearest: " + Sentence(unhelped.misses.front()));
}

void ExplainUnhelpedPod(const ScaleUp& up, std::string_view namespace_, std::string_view name,
                        std::vector<std::string>& lines) {
  for (const auto* list : {&up.unhelped, &up.unserved}) {
    for (const Unhelped& unhelped : *list) {
      if (!Has(unhelped.pods, namespace_, name)) continue;
      const bool counts = list == &up.unhelped;
      lines.push_back(counts ? NotTriggeredText(up.result, unhelped, up.considered_groups)
                             : "a group would take it, but limits leave it no node");
      ExplainUnhelped(unhelped, lines);
    }
  }
}

}  // namespace

std::string NameOf(const model::Pod& pod) {
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

std::string Names(const std::vector<PodPtr>& pods, size_t most) {
  std::vector<std::string> names;
  for (size_t i = 0; i < pods.size() && i < most; ++i) names.push_back(NameOf(*pods[i]));
  std::string text = Join(names, ", ");
  if (pods.size() > most) text += " and " + std::to_string(pods.size() - most) + " more";
  return text;
}

std::string TriggeredText(const std::vector<GroupResize>& resizes) {
  std::vector<std::string> parts;
  for (const GroupResize& resize : resizes) parts.push_back(ResizeText(resize));
  return "pod triggered scale-up: [" + Join(parts, " ") + "]";
}

std::string ReasonCounts(ScaleUpResult result, const Unhelped& unhelped,
                         const std::vector<std::string>& considered) {
  if (result == ScaleUpResult::kLimitedByMaxNodesTotal) return "max total nodes in cluster reached";
  const std::set<std::string_view> known(considered.begin(), considered.end());
  std::map<std::string, int> counts;
  for (const auto& [group, verdict] : unhelped.rejected) {
    if (!known.contains(group)) continue;
    for (const std::string& reason : verdict.reasons()) ++counts[reason];
  }
  if (unhelped.skipped != nullptr) {
    for (const auto& [group, reasons] : *unhelped.skipped) {
      if (!known.contains(group)) continue;
      for (const std::string& reason : reasons) ++counts[reason];
    }
  }
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::ranges::sort(parts);  // upstream's order is random; ours is at least always the same
  return Join(parts, ", ");
}

std::string NotTriggeredText(ScaleUpResult result, const Unhelped& unhelped,
                             const std::vector<std::string>& considered) {
  return "pod didn't trigger scale-up: " + ReasonCounts(result, unhelped, considered);
}

std::string Sentence(const NearMiss& miss) {
  std::vector<std::string> clauses;
  for (const Change& change : miss.changes) clauses.push_back(change.text);
  std::string text = "group " + miss.group + " would take it if ";
  if (clauses.size() < 2) return text + Join(clauses, "");
  const std::string last = clauses.back();
  clauses.pop_back();
  return text + Join(clauses, ", ") + " and " + last;
}

std::string Sentence(const model::Verdict& verdict) {
  if (verdict.yes()) return "takes it";
  std::string text(verdict.plugin());
  if (!text.empty()) text += ": ";
  text += verdict.reason();
  std::vector<std::string> amounts;
  for (const model::Shortfall& s : verdict.shortfalls()) {
    amounts.push_back("asks for " + Amount(s.what, s.asked) + " " + s.what + ", " +
                      Amount(s.what, s.free) + " free of " + Amount(s.what, s.capacity));
  }
  if (!amounts.empty()) text += " (" + Join(amounts, "; ") + ")";
  return text;
}

std::string Sentence(const StayingNode& node) {
  switch (node.reason) {
    case StayReason::kNoReason:
      break;
    case StayReason::kScaleDownDisabledAnnotation:
      return "its annotation says that it is not to be removed";
    case StayReason::kScaleDownUnreadyDisabled:
      return "unready nodes are not removed (--scale-down-unready-enabled=false)";
    case StayReason::kNotAutoscaled:
      return "belongs to no node group";
    case StayReason::kNotUnneededLongEnough:
      return "unneeded for " + Rounded(node.waited) + " of " + Rounded(node.wait);
    case StayReason::kNotUnreadyLongEnough:
      return "unready and unneeded for " + Rounded(node.waited) + " of " + Rounded(node.wait);
    case StayReason::kNodeGroupMinSizeReached:
      return "its group " + node.group + " is at its minimum (" + std::to_string(node.group_size) +
             " nodes)";
    case StayReason::kMinimalResourceLimitExceeded:
      return "without it the cluster would be below its minimum of cores or memory";
    case StayReason::kCurrentlyBeingDeleted:
      if (!node.detail.empty()) return "is taken down by another engine (" + node.detail + ")";
      return "is being deleted";
    case StayReason::kNotUnderutilized:
      if (!node.utilization) break;
      return node.utilization->resource + " utilization " +
             Above(node.utilization->value, node.threshold);
    case StayReason::kNoPlaceToMovePods: {
      if (!node.stuck_pod) return "its pods find no place elsewhere";
      std::string text = "no other node takes pod " + NameOf(*node.stuck_pod);
      std::vector<std::string> reasons;
      for (const auto& [reason, count] : node.stuck_reasons)
        reasons.push_back(std::to_string(count) + " " + reason);
      return reasons.empty() ? text : text + ": " + Join(reasons, ", ");
    }
    case StayReason::kBlockedByPod: {
      std::string text = "blocked by pod " + (node.blocking_pod ? NameOf(*node.blocking_pod) : "?");
      return text + " (" + node.blocking_reason + ")" +
             (node.detail.empty() ? "" : ": " + node.detail);
    }
    case StayReason::kRecentlyUnremovable:
      return std::string(ToString(node.earlier)) + " " + Rounded(node.ago) + " ago" +
             (node.stuck_pod ? ", because of pod " + NameOf(*node.stuck_pod) : "") +
             (node.detail.empty() ? "" : ": " + node.detail);
    case StayReason::kGroupDelayed:
      return "its group " + node.group + " was changed a short while ago";
    case StayReason::kCooldown:
      return "unneeded for " + Rounded(node.waited) + "; nothing is removed " + node.detail +
             " for another " + Rounded(node.wait);
    case StayReason::kAtomicScaleDownFailed:
    case StayReason::kUnexpectedError:
    case StayReason::kNoNodeInfo:
    case StayReason::kBlockedByOnCompletionPod:
    case StayReason::kFused:
    case StayReason::kNextPass:
      break;
  }
  return node.detail.empty() ? std::string(ToString(node.reason)) : node.detail;
}

std::string Sentence(const ScaleUp& scale_up, const ExpanderStep& step) {
  std::vector<std::string> scores;
  for (const Score& score : step.scores) scores.push_back(score.group + " " + score.text);
  std::string text = step.expander + " keeps " + Join(step.survivors, ", ");
  if (!scores.empty()) text += " (" + Join(scores, "; ") + ")";
  if (!step.note.empty()) text += ": " + step.note;
  const bool last = !scale_up.chosen_by.empty() && &scale_up.chosen_by.back() == &step;
  if (last && scale_up.by_lot) text += "; of these equals " + scale_up.chosen + " was taken";
  return text;
}

std::vector<GroupReason> ReasonsByGroup(const Unhelped& unhelped) {
  std::map<std::string, std::string> by_group;
  for (const auto& [group, verdict] : unhelped.rejected) by_group[group] = Sentence(verdict);
  if (unhelped.skipped != nullptr) {
    for (const auto& [group, reasons] : *unhelped.skipped) by_group[group] = Join(reasons, ", ");
  }
  std::vector<GroupReason> all;
  for (auto& [group, text] : by_group) all.push_back({group, std::move(text)});
  return all;
}

std::vector<std::string> ExplainPod(const PassReport& report, std::string_view namespace_,
                                    std::string_view name) {
  std::vector<std::string> lines;
  for (const ScaleUp& round : report.earlier_rounds) {
    if (Has(round.triggered, namespace_, name)) lines.push_back(TriggeredText(round.resizes));
  }
  const ScaleUp& up = report.scale_up;
  if (Has(up.triggered, namespace_, name)) lines.push_back(TriggeredText(up.resizes));
  if (Has(up.awaiting, namespace_, name)) {
    lines.push_back("another group than " + up.chosen + " would take it: looked at again next");
  }
  ExplainUnhelpedPod(up, namespace_, name, lines);
  // What an earlier round had against it counts only if no later one has anything to say.
  for (auto round = report.earlier_rounds.rbegin();
       lines.empty() && round != report.earlier_rounds.rend(); ++round) {
    ExplainUnhelpedPod(*round, namespace_, name, lines);
  }
  for (const FittingPod& fitting : up.fitting) {
    if (fitting.pod->metadata.name == name && fitting.pod->metadata.namespace_ == namespace_)
      lines.push_back("fits node " + fitting.node + ": nothing has to be bought for it");
  }
  for (const RemovedNode& removed : report.scale_down.removed) {
    for (const Move& move : removed.moves) {
      if (move.pod->metadata.name == name && move.pod->metadata.namespace_ == namespace_)
        lines.push_back("leaves node " + removed.node + ", which goes; " + move.node +
                        " has room for it");
    }
  }
  return lines;
}

std::vector<std::string> ExplainNode(const PassReport& report, std::string_view node) {
  std::vector<std::string> lines;
  for (const RemovedNode& removed : report.scale_down.removed) {
    if (removed.node != node) continue;
    lines.push_back("is removed: " + removed.utilization.resource + " utilization " +
                    Number(removed.utilization.value) + ", " +
                    std::to_string(removed.evicted.size()) + " pods to move");
  }
  for (const auto* list : {&report.scale_down.staying, &report.scale_down.staying_untold}) {
    for (const StayingNode& staying : *list) {
      if (staying.node == node)
        lines.push_back(std::string(ToString(staying.reason)) + ": " + Sentence(staying));
    }
  }
  if (lines.empty() &&
      std::ranges::find(report.scale_down.unneeded, node) != report.scale_down.unneeded.end()) {
    lines.push_back("is not needed");
  }
  return lines;
}

}  // namespace coppice::report
