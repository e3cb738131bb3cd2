#include "report/explain_provision.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "report/explain.h"

namespace coppice::report {

namespace {

bool IsPod(const PodPtr& pod, std::string_view namespace_, std::string_view name) {
  return pod->metadata.namespace_ == namespace_ && pod->metadata.name == name;
}

std::string ListOf(const std::vector<std::string>& all, size_t most) {
  if (all.size() <= most) return Join(all, ", ");
  const std::vector<std::string> first(all.begin(), all.begin() + static_cast<ptrdiff_t>(most));
  return fmt::format("{} and {} more", Join(first, ", "), all.size() - most);
}

std::string_view NameOfMiss(PoolMiss::What what) {
  switch (what) {
    case PoolMiss::What::kRequirement:
      return "requirement";
    case PoolMiss::What::kTaint:
      return "taint";
    case PoolMiss::What::kResource:
      return "resource";
    case PoolMiss::What::kOffering:
      return "offering";
    case PoolMiss::What::kLimit:
      return "limit";
    case PoolMiss::What::kNotReady:
      return "not-ready";
    case PoolMiss::What::kTopology:
      return "topology";
    case PoolMiss::What::kOther:
      break;
  }
  return "other";
}

void WriteProvisioning(JsonOut& out, const Provisioning& provisioning) {
  out.Open('{').Field("pods", provisioning.pods).Field("heldBack", provisioning.held_back);
  out.Key("machines").Open('[');
  for (const PlannedMachine& machine : provisioning.machines) {
    out.Open('{')
        .Field("claim", machine.claim)
        .Field("pool", machine.pool)
        .Field("price", machine.price)
        .Field("typeCount", machine.type_count)
        .Field("error", machine.error);
    out.Key("types").Open('[');
    for (const std::string& type : machine.types) out.Text(type);
    out.Close(']').Key("pods").Open('[');
    for (const PodPtr& pod : machine.pods) out.Text(NameOf(*pod));
    out.Close(']').Close('}');
  }
  out.Close(']').Key("unplaced").Open('[');
  for (const UnplacedPod& unplaced : provisioning.unplaced) {
    out.Open('{').Field("pod", NameOf(*unplaced.pod)).Field("text", unplaced.text);
    out.Field("ignored", unplaced.ignored).Key("misses").Open('[');
    for (const PoolMiss& miss : unplaced.misses) {
      out.Open('{')
          .Field("pool", miss.pool)
          .Field("what", NameOfMiss(miss.what))
          .Field("key", miss.key)
          .Field("text", miss.text)
          .Field("tried", miss.tried)
          .Close('}');
    }
    out.Close(']').Close('}');
  }
  out.Close(']').Close('}');
}

void WritePool(JsonOut& out, const PoolState& pool) {
  out.Open('{')
      .Field("name", pool.name)
      .Field("ready", pool.ready)
      .Field("static", pool.is_static)
      .Field("text", pool.text)
      .Field("nodes", pool.nodes)
      .Field("cost", pool.cost)
      .Field("types", pool.types);
  out.Key("usage").Open('{');
  for (const auto& [resource, amount] : pool.usage) out.Field(resource, amount);
  out.Close('}').Key("limits").Open('{');
  for (const auto& [resource, amount] : pool.limits) out.Field(resource, amount);
  out.Close('}').Key("budgets").Open('{');
  for (const auto& [reason, left] : pool.budgets) out.Field(reason, left);
  out.Close('}').Close('}');
}

}  // namespace

std::string Sentence(const PoolMiss& miss) {
  return fmt::format("nodepool {}: {}{}", miss.pool, miss.text,
                     miss.tried && miss.what != PoolMiss::What::kOther
                         ? " (tried: without that it would be bought for)"
                         : "");
}

std::string Sentence(const DisruptionCommand& command) {
  std::string text = fmt::format("{}: {} {} node(s) ({})", command.reason, command.decision,
                                 command.nodes.size(), ListOf(command.nodes, 5));
  if (!command.replacements.empty()) text += " by " + ListOf(command.replacements, 3);
  text += fmt::format(", saves {:.4g} of {:.4g} per hour: {}", command.savings,
                      command.price_before, command.stage);
  if (!command.text.empty()) text += ", " + command.text;
  return text;
}

std::vector<std::string> ExplainPod(const ProvisionReport& report, std::string_view namespace_,
                                    std::string_view name) {
  std::vector<std::string> lines;
  if (!report.provisioning) return lines;
  const Provisioning& last = *report.provisioning;
  for (const PlannedMachine& machine : last.machines) {
    if (!std::ranges::any_of(machine.pods,
                             [&](const PodPtr& pod) { return IsPod(pod, namespace_, name); }))
      continue;
    lines.push_back(machine.claim.empty()
                        ? fmt::format("a machine of nodepool {} was planned for it and not asked "
                                      "for: {}",
                                      machine.pool, machine.error)
                        : fmt::format("nodeclaim {} of nodepool {} was created for it ({} types, "
                                      "from {:.4g} per hour)",
                                      machine.claim, machine.pool, machine.type_count,
                                      machine.price));
  }
  for (const PlacedPod& placed : last.placed) {
    if (IsPod(placed.pod, namespace_, name))
      lines.push_back("it has room on " + placed.machine + ", which exists or is on its way");
  }
  for (const UnplacedPod& unplaced : last.unplaced) {
    if (!IsPod(unplaced.pod, namespace_, name)) continue;
    lines.push_back((unplaced.ignored ? "it was not tried: " : "nothing can be bought for it: ") +
                    unplaced.text);
    for (const PoolMiss& miss : unplaced.misses) lines.push_back(Sentence(miss));
  }
  if (!lines.empty() && !last.held_back.empty()) lines.push_back(last.held_back);
  return lines;
}

std::vector<std::string> ExplainNodeClaim(const ProvisionReport& report, std::string_view name) {
  std::vector<std::string> lines;
  for (const ClaimState& claim : report.claims) {
    if (claim.name != name && claim.node != name) continue;
    std::string text =
        fmt::format("nodeclaim {} of nodepool {}: {}", claim.name, claim.pool, claim.stage);
    if (!claim.text.empty()) text += ", " + claim.text;
    if (!claim.type.empty()) {
      text += fmt::format(" ({} {} in {}{})", claim.capacity_type, claim.type, claim.zone,
                          claim.price > 0 ? fmt::format(", {:.4g} per hour", claim.price) : "");
    }
    lines.push_back(std::move(text));
  }
  for (const StayingPoolNode& staying : report.staying) {
    if (staying.node == name || staying.claim == name)
      lines.push_back("stays: " + staying.reason + ": " + staying.text);
  }
  for (const DisruptionCommand& command : report.commands) {
    const bool goes = std::ranges::find(command.nodes, name) != command.nodes.end();
    const bool comes = std::ranges::find(command.replacements, name) != command.replacements.end();
    if (goes || comes) lines.push_back(Sentence(command));
  }
  return lines;
}

std::vector<std::string> ExplainNodePool(const ProvisionReport& report, std::string_view name) {
  std::vector<std::string> lines;
  for (const PoolState& pool : report.pools) {
    if (pool.name != name) continue;
    lines.push_back(fmt::format("nodepool {} is {}{}: {} node(s), {} type(s) for sale", pool.name,
                                pool.ready ? "ready" : "not ready",
                                pool.is_static ? ", static" : "", pool.nodes, pool.types));
    if (!pool.text.empty()) lines.push_back(pool.text);
    for (const auto& [resource, limit] : pool.limits) {
      const auto used =
          std::ranges::find(pool.usage, resource, &std::pair<std::string, std::string>::first);
      lines.push_back(fmt::format("{}: {} of {} used", resource,
                                  used == pool.usage.end() ? "0" : used->second, limit));
    }
    for (const auto& [reason, left] : pool.budgets)
      lines.push_back(fmt::format("{} more node(s) may be disrupted for {}", left, reason));
  }
  for (const DisruptionCommand& command : report.commands) {
    if (std::ranges::find(command.pools, name) != command.pools.end())
      lines.push_back(Sentence(command));
  }
  return lines;
}

void Write(JsonOut& out, const ProvisionReport& report) {
  out.Open('{').Field("error", report.error).Field("waitingPods", report.waiting_pods);
  out.Key("pools").Open('[');
  for (const PoolState& pool : report.pools) WritePool(out, pool);
  out.Close(']').Key("claims").Open('[');
  for (const ClaimState& claim : report.claims) {
    out.Open('{')
        .Field("name", claim.name)
        .Field("pool", claim.pool)
        .Field("node", claim.node)
        .Field("providerId", claim.provider_id)
        .Field("type", claim.type)
        .Field("zone", claim.zone)
        .Field("capacityType", claim.capacity_type)
        .Field("price", claim.price)
        .Field("stage", claim.stage)
        .Field("text", claim.text)
        .Close('}');
  }
  out.Close(']');
  if (report.provisioning) {
    out.Key("provisioning");
    WriteProvisioning(out, *report.provisioning);
  }
  out.Key("staying").Open('[');
  for (const StayingPoolNode& staying : report.staying) {
    out.Open('{')
        .Field("node", staying.node)
        .Field("claim", staying.claim)
        .Field("pool", staying.pool)
        .Field("reason", staying.reason)
        .Field("text", staying.text)
        .Close('}');
  }
  out.Close(']').Key("commands").Open('[');
  for (const DisruptionCommand& command : report.commands) {
    out.Open('{')
        .Field("id", command.id)
        .Field("reason", command.reason)
        .Field("decision", command.decision)
        .Field("stage", command.stage)
        .Field("savings", command.savings)
        .Field("priceBefore", command.price_before)
        .Field("text", Sentence(command));
    out.Key("nodes").Open('[');
    for (const std::string& node : command.nodes) out.Text(node);
    out.Close(']').Key("replacements").Open('[');
    for (const std::string& name : command.replacements) out.Text(name);
    out.Close(']').Close('}');
  }
  out.Close(']').Close('}');
}

std::string ToJson(const ProvisionReport& report) {
  JsonOut out;
  Write(out, report);
  return out.Take();
}

}  // namespace coppice::report
