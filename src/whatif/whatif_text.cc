#include <algorithm>
#include <cstdio>
#include <map>

#include "base/go_duration.h"
#include "base/strings.h"
#include "report/explain.h"
#include "whatif/shortened.h"
#include "whatif/whatif_output.h"
#include "wire/time_text.h"

namespace coppice::whatif {

namespace {

using Fate = RemovalAnswer::PodFate;
using report::Unhelped;

constexpr size_t kNodesShown = 20;  // that stay for the same reason
constexpr size_t kGroupsShown = 8;
constexpr size_t kKindsShown = 20;      // of pods that nothing helps
constexpr size_t kMovesShown = 5;       // of one node
constexpr size_t kRoundsShown = 8;      // of one pass that bought more than once
constexpr size_t kStepsShown = 20;      // of a plan
constexpr size_t kSentenceShown = 400;  // of what an expander said

// Rows in columns as wide as their widest cell.
class Table {
 public:
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string ToString(std::string_view indent) const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line(indent);
      for (size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 2, ' ');
      }
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string After(Duration duration) {
  return "+" + FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

// A sentence about many groups, cut where a part of it ends.
std::string Shorter(std::string text, bool whole) {
  if (whole || text.size() <= kSentenceShown) return text;
  const size_t end = text.rfind(';', kSentenceShown);
  text.resize(end == std::string::npos ? kSentenceShown : end);
  return text + "; ... (--whole shows all)";
}

void Head(const WhatIfPlan& plan, bool whole, std::string& out) {
  out += "Cluster  " + Count(plan.nodes, "node") + ", " + Count(plan.pods, "pod") + ", " +
         std::to_string(plan.pending) + " pending";
  if (plan.added > 0) out += " (" + std::to_string(plan.added) + " of them added)";
  out += ", as of " + wire::FormatRfc3339(plan.now) + "\n";
  out += "Groups   " + plan.groups_how + "\n";
  Table table;
  table.Row({"GROUP", "NODES", "MIN", "MAX", "THEN"});
  size_t left_out = 0;
  for (size_t i = 0; i < plan.groups_before.size(); ++i) {
    const DumpGroups::Group& group = plan.groups_before[i];
    const int then = i < plan.groups_after.size() ? plan.groups_after[i].target : group.target;
    const int change = then - group.target;
    if (!whole && i >= kNodesShown && change == 0) {
      ++left_out;
      continue;
    }
    table.Row({group.name, std::to_string(group.target), std::to_string(group.min),
               std::to_string(group.max),
               std::to_string(then) + (change == 0  ? ""
                                       : change > 0 ? " (+" + std::to_string(change) + ")"
                                                    : " (" + std::to_string(change) + ")")});
  }
  out += table.ToString("  ");
  if (left_out > 0)
    out += "  and " + Count(left_out, "group") + " that stay as they are (--whole shows all)\n";
  for (const std::string& note : plan.notes) out += "Note     " + note + "\n";
  if (plan.unscheduled > 0) {
    out += "Note     " + Count(plan.unscheduled, "pod") +
           " without a node that the scheduler has not called unschedulable yet: not looked at, as "
           "the autoscaler does not\n";
  }
}

void Removals(const WhatIfPlan& plan, bool whole, std::string& out) {
  for (const RemovalAnswer& answer : plan.removals) {
    out += "\nRemove node " + answer.node +
           (answer.group.empty() ? "" : " (group " + answer.group + ")") + ": " +
           (answer.drains ? "it drains" : "it does not drain") + "\n";
    Table table;
    table.Row({"POD", "FATE", ""});
    size_t left_out = 0;
    for (size_t i = 0; i < answer.pods.size(); ++i) {
      const Fate& fate = answer.pods[i];
      // Who keeps the node is always named.
      const bool in_the_way = fate.kind == Fate::Kind::kBlocks || fate.kind == Fate::Kind::kNoPlace;
      if (!whole && i >= kNodesShown && !in_the_way) {
        ++left_out;
        continue;
      }
      const char* kind = "";
      switch (fate.kind) {
        case Fate::Kind::kMoves:
          kind = "moves to";
          break;
        case Fate::Kind::kStaysBehind:
          kind = "ends";
          break;
        case Fate::Kind::kWaits:
          kind = "waits";
          break;
        case Fate::Kind::kBlocks:
          kind = "BLOCKS";
          break;
        case Fate::Kind::kNoPlace:
          kind = "PENDING";
          break;
      }
      table.Row({report::NameOf(*fate.pod), kind, fate.text});
    }
    out += answer.pods.empty() ? "  no pods on it\n" : table.ToString("  ");
    if (left_out > 0)
      out += "  and " + Count(left_out, "pod") + " more that may go (--whole shows all)\n";
    if (answer.drains && !answer.at_once)
      out += "  budgets do not let all of them go at once: the drain takes its time\n";
    if (!answer.drains) out += "  so the plan below keeps it\n";
  }
}

// Whom it was for, and what it was chosen from.
void Decision(const report::ScaleUp& up, bool whole, std::string& out) {
  if (!up.triggered.empty()) {
    out += "      for " + Count(up.triggered.size(), "pod") + ": " + report::Names(up.triggered) +
           "\n";
  }
  if (up.options.size() < 2) return;
  const Shortened options(up.options.size(), kGroupsShown, whole);
  std::vector<std::string> texts;
  for (size_t i = 0; i < options.shown(); ++i) {
    const auto& option = up.options[i];
    texts.push_back(option.group + " (" + Count(static_cast<size_t>(option.nodes), "node") +
                    " for " + Count(option.pods, "pod") + ")");
  }
  out += "      compared: " + Join(texts, ", ") + "\n" + options.Rest("        ", "group");
  for (const report::ExpanderStep& each : up.chosen_by)
    out += "      " + Shorter(report::Sentence(up, each), whole) + "\n";
}

void Purchases(const WhatIfStep& step, bool whole, std::string& out) {
  const Shortened groups(step.bought.size(), kNodesShown, whole);
  for (size_t i = 0; i < groups.shown(); ++i) {
    const report::GroupResize& resize = step.bought[i];
    out += "  " + After(step.after) + "  buy " +
           Count(static_cast<size_t>(resize.to - resize.from), "node") + " in " + resize.group +
           " (" + std::to_string(resize.from) + " -> " + std::to_string(resize.to) + ", max " +
           std::to_string(resize.max) + ")\n";
  }
  out += groups.Rest("  " + After(step.after) + "  ", "group");
  const auto& earlier = step.report->earlier_rounds;
  const Shortened rounds(earlier.size(), kRoundsShown, whole);
  for (size_t i = 0; i < rounds.shown(); ++i) Decision(earlier[i], whole, out);
  out += rounds.Rest("      ", "decision");
  Decision(step.report->scale_up, whole, out);
}

void Deletions(const WhatIfStep& step, bool whole, std::string& out) {
  const auto& removed = step.report->scale_down.removed;
  const Shortened nodes(removed.size(), kNodesShown, whole);
  for (size_t n = 0; n < nodes.shown(); ++n) {
    const report::RemovedNode& node = removed[n];
    char use[64];
    std::snprintf(use, sizeof(use), "%s utilization %.2f", node.utilization.resource.c_str(),
                  node.utilization.value);
    out += "  " + After(step.after) + "  remove " + node.node + " (" + node.group + "), " +
           (node.utilization.resource.empty() ? "empty" : use) + "\n";
    const Shortened moves(node.moves.size(), kMovesShown, whole);
    for (size_t i = 0; i < moves.shown(); ++i) {
      const report::Move& move = node.moves[i];
      out += "      " + report::NameOf(*move.pod) + " moves" +
             (move.node.empty() ? "" : " to " + move.node) + "\n";
    }
    out += moves.Rest("      ", "pod");
  }
  out += nodes.Rest("  " + After(step.after) + "  ", "node");
}

void ShowUnhelped(const report::ScaleUp& up, const std::vector<Unhelped>& kinds,
                  std::string_view heading, bool whole, std::string& out) {
  if (kinds.empty()) return;
  out += "\n" + std::string(heading) + "\n";
  const Shortened shown(kinds.size(), kKindsShown, whole);
  for (size_t k = 0; k < shown.shown(); ++k) {
    const Unhelped& kind = kinds[k];
    out += "  " + report::Names(kind.pods, whole ? kind.pods.size() : 3) + "\n";
    const auto reasons = report::ReasonsByGroup(kind);
    Table table;
    const Shortened groups(reasons.size(), kGroupsShown, whole);
    for (size_t i = 0; i < groups.shown(); ++i) table.Row({reasons[i].group, reasons[i].text});
    out += table.ToString("    ") + groups.Rest("    ", "group");
    if (reasons.empty()) {
      const std::string said = report::ReasonCounts(up.result, kind, up.considered_groups);
      if (!said.empty()) out += "    " + said + "\n";
    }
    if (kind.misses.empty()) {
      out += "    no single change that is known would help\n";
    }
    for (size_t i = 0; i < kind.misses.size() && (whole || i < 1); ++i)
      out += "    nearest: " + report::Sentence(kind.misses[i]) + "\n";
  }
  out += shown.Rest("  ", "kind");
}

void Staying(const WhatIfPlan& plan, bool whole, std::string& out) {
  if (plan.last == nullptr) return;
  std::map<std::string, std::vector<const report::StayingNode*>> by_reason;
  for (const auto* list : {&plan.last->scale_down.staying, &plan.last->scale_down.staying_untold}) {
    for (const report::StayingNode& node : *list) {
      const bool again = node.reason == report::StayReason::kRecentlyUnremovable;
      by_reason[std::string(report::ToString(again ? node.earlier : node.reason))].push_back(&node);
    }
  }
  if (by_reason.empty()) return;
  out += "\nNodes that stay\n";
  Table table;
  table.Row({"NODE", "REASON", "WHY"});
  for (auto& [reason, nodes] : by_reason) {
    std::ranges::sort(nodes, {}, [](const auto* node) { return node->node; });
    for (size_t i = 0; i < nodes.size() && (whole || i < kNodesShown); ++i)
      table.Row({nodes[i]->node, reason, report::Sentence(*nodes[i])});
    if (!whole && nodes.size() > kNodesShown) {
      table.Row({"... " + std::to_string(nodes.size() - kNodesShown) + " more", reason,
                 "(--whole shows all)"});
    }
  }
  out += table.ToString("  ");
}

}  // namespace

std::string AsText(const WhatIfPlan& plan, bool whole) {
  std::string out;
  Head(plan, whole, out);
  Removals(plan, whole, out);
  if (!plan.fitting.empty()) {
    out += "\nPods that need nothing new\n";
    Table table;
    const Shortened pods(plan.fitting.size(), kNodesShown, whole);
    for (size_t i = 0; i < pods.shown(); ++i)
      table.Row({report::NameOf(*plan.fitting[i].pod), "fits " + plan.fitting[i].node});
    out += table.ToString("  ") + pods.Rest("  ", "pod");
  }
  if (plan.gangs) out += "\nGangs\n" + AsText(*plan.gangs, whole);
  out += "\nPlan\n";
  const Shortened steps(plan.steps.size(), kStepsShown, whole);
  for (size_t i = 0; i < steps.shown(); ++i) {
    Purchases(plan.steps[i], whole, out);
    Deletions(plan.steps[i], whole, out);
  }
  out += steps.Rest("  ", "step");
  if (plan.steps.empty()) out += "  nothing to buy, nothing to remove\n";
  out += "  (" + std::to_string(plan.passes) + (plan.passes == 1 ? " pass" : " passes") + " over " +
         FormatGoDuration(std::chrono::duration_cast<std::chrono::seconds>(plan.took)) +
         " of simulated time: new nodes are up at once, pods are bound, timers run out" +
         (plan.settled ? "" : "; more would follow, --horizon looks further") + ")\n";
  if (plan.last != nullptr) {
    const report::ScaleUp& up = plan.about_pods();
    ShowUnhelped(up, up.unhelped, "Pods that nothing helps", whole, out);
    ShowUnhelped(up, up.unserved, "Pods that a group would take if a limit let it grow", whole,
                 out);
  }
  Staying(plan, whole, out);
  return out;
}

}  // namespace coppice::whatif
