#include "batch/fit_errors.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "batch/node.h"

namespace coppice::batch {

bool Refusal::Has(int code) const {
  return std::ranges::any_of(statuses, [&](const FitStatus& s) { return s.code == code; });
}

std::string Refusal::Text() const {
  std::vector<std::string> reasons;
  for (const FitStatus& status : statuses) {
    if (!status.reason.empty()) reasons.push_back(status.reason);
  }
  return Join(reasons, ", ");
}

Fit Refuse(int code, std::string reason, std::string plugin) {
  auto refusal = std::make_shared<Refusal>();
  refusal->statuses.push_back(
      {.code = code, .reason = std::move(reason), .plugin = std::move(plugin)});
  return refusal;
}

void FitErrors::Set(const NodeInfo& node, Fit refusal) {
  // Nodes are asked in order, so the last one is the one that may be set again.
  if (!nodes_.empty() && nodes_.back().first == &node) {
    nodes_.back().second = std::move(refusal);
  } else {
    nodes_.emplace_back(&node, std::move(refusal));
  }
}

bool FitErrors::IsUnresolvable(const NodeInfo& node) const {
  return std::ranges::any_of(nodes_, [&](const auto& entry) {
    return entry.first == &node && entry.second->Has(kFitUnresolvable);
  });
}

bool FitErrors::HasUnresolvable() const {
  return std::ranges::any_of(nodes_,
                             [](const auto& entry) { return entry.second->Has(kFitUnresolvable); });
}

std::string FitErrors::Text() const {
  const std::string error =
      error_.empty() ? "0/" + std::to_string(nodes_.size()) + " nodes are unavailable" : error_;
  if (nodes_.empty()) return error;
  std::map<std::string, int> reasons;
  for (const auto& [node, refusal] : nodes_) {
    for (const FitStatus& status : refusal->statuses) {
      if (!status.reason.empty()) ++reasons[status.reason];
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) {
    lines.push_back(std::to_string(count) + " " + reason);
  }
  std::ranges::sort(lines);
  const std::string text = error + ": " + Join(lines, ", ") + ".";
  return hyper_node_.empty() ? text : "In hyperNode " + hyper_node_ + ": " + text;
}

}  // namespace coppice::batch
