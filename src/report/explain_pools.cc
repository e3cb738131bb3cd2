#include "report/explain_pools.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "report/explain.h"

namespace coppice::report {
namespace {

std::string InWords(const ClaimState& claim) {
  std::string text = fmt::format("claim {} of pool {}: {}", claim.name, claim.pool, claim.stage);
  if (!claim.type.empty())
    text += fmt::format(", {} in {}, {}", claim.type, claim.zone, claim.capacity_type);
  if (claim.price > 0) text += fmt::format(", {:.4f} an hour", claim.price);
  if (!claim.node.empty()) text += ", node " + claim.node;
  if (!claim.text.empty()) text += "; " + claim.text;
  return text;
}

void AboutMachine(const ProvisionReport& report, const ClaimState& claim,
                  std::vector<std::string>& lines) {
  lines.push_back(InWords(claim));
  for (const StayingPoolNode& staying : report.staying) {
    if (staying.claim == claim.name || (!claim.node.empty() && staying.node == claim.node))
      lines.push_back("stays: " + staying.text);
  }
  for (const DisruptionCommand& command : report.commands) {
    const bool goes = std::ranges::find(command.nodes, claim.node) != command.nodes.end();
    const bool comes =
        std::ranges::find(command.replacements, claim.name) != command.replacements.end();
    if ((goes && !claim.node.empty()) || comes) lines.push_back(Sentence(command));
  }
}

}  // namespace

std::string Sentence(const DisruptionCommand& command) {
  const bool one = command.nodes.size() == 1;
  std::string text = fmt::format("{} {} ({}, {})", Join(command.nodes, ", "), one ? "goes" : "go",
                                 command.reason, command.stage);
  if (!command.replacements.empty())
    text +=
        fmt::format("; in {} place: {}", one ? "its" : "their", Join(command.replacements, ", "));
  if (command.savings != 0) text += fmt::format("; saves {:.4f} an hour", command.savings);
  if (!command.text.empty()) text += "; " + command.text;
  return text;
}

std::vector<std::string> ExplainPod(const ProvisionReport& report, std::string_view name) {
  std::vector<std::string> lines;
  if (!report.provisioning) return lines;
  const auto is_it = [&](const PodPtr& pod) { return NameOf(*pod) == name; };
  for (const PlannedMachine& machine : report.provisioning->machines) {
    if (std::ranges::none_of(machine.pods, is_it)) continue;
    lines.push_back(machine.error.empty()
                        ? fmt::format("a machine of pool {} is on its way for it: claim {}, one of "
                                      "{} types from {:.4f} an hour",
                                      machine.pool, machine.claim, machine.type_count,
                                      machine.price)
                        : fmt::format("a machine of pool {} could not be asked for: {}",
                                      machine.pool, machine.error));
  }
  for (const PlacedPod& placed : report.provisioning->placed) {
    if (is_it(placed.pod)) lines.push_back(placed.machine + " will take it");
  }
  for (const UnplacedPod& unplaced : report.provisioning->unplaced) {
    if (!is_it(unplaced.pod)) continue;
    lines.push_back("no pool helps: " + unplaced.text);
    for (const PoolMiss& miss : unplaced.misses) {
      lines.push_back(fmt::format("{}pool {}: {}",
                                  miss.tried ? "the nearest that would do, tried: " : "", miss.pool,
                                  miss.text));
    }
  }
  if (!lines.empty() && !report.provisioning->held_back.empty())
    lines.push_back("held back: " + report.provisioning->held_back);
  return lines;
}

std::vector<std::string> ExplainNode(const ProvisionReport& report, std::string_view node) {
  std::vector<std::string> lines;
  for (const ClaimState& claim : report.claims) {
    if (claim.node == node) AboutMachine(report, claim, lines);
  }
  return lines;
}

std::vector<std::string> ExplainClaim(const ProvisionReport& report, std::string_view name) {
  std::vector<std::string> lines;
  for (const ClaimState& claim : report.claims) {
    if (claim.name == name) AboutMachine(report, claim, lines);
  }
  return lines;
}

std::vector<std::string> ExplainPool(const ProvisionReport& report, std::string_view name) {
  std::vector<std::string> lines;
  for (const PoolState& pool : report.pools) {
    if (pool.name != name) continue;
    lines.push_back(fmt::format(
        "{}{}; {} machines, {:.4f} an hour, {} types", pool.ready ? "ready" : "buys nothing",
        pool.text.empty() ? "" : ": " + pool.text, pool.nodes, pool.cost, pool.types));
    for (const auto& [resource, limit] : pool.limits) {
      std::string used = "0";
      for (const auto& [of, amount] : pool.usage) {
        if (of == resource) used = amount;
      }
      lines.push_back(fmt::format("limit of {}: {} of {}", resource, used, limit));
    }
    for (const auto& [reason, left] : pool.budgets)
      lines.push_back(
          fmt::format("its budgets let {} more machines go because of {}", left, reason));
    for (const ClaimState& claim : report.claims) {
      if (claim.pool == name && claim.stage != "Ready") lines.push_back(InWords(claim));
    }
  }
  return lines;
}

Result<std::string> ExplainPools(const ProvisionReport& report, const PoolsQuestion& question) {
  std::vector<std::string> lines;
  if (question.claim != nullptr) {
    lines = ExplainClaim(report, *question.claim);
  } else if (question.pool != nullptr) {
    lines = ExplainPool(report, *question.pool);
  } else if (question.node != nullptr) {
    lines = ExplainNode(report, *question.node);
  } else if (question.pod != nullptr) {
    lines = ExplainPod(report, *question.pod);
  } else {
    return InvalidArgument("ask for ?pod=NAMESPACE/NAME, ?node=, ?nodeclaim= or ?nodepool=NAME");
  }
  if (lines.empty())
    return NotFound("the last pass over node pools had nothing to decide about it");
  return Join(lines, "\n") + "\n";
}

}  // namespace coppice::report
