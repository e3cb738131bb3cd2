#include "web/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "report/explain.h"
#include "report/explain_pools.h"
#include "report/report_json.h"
#include "web/picture.h"

namespace coppice::web {
namespace {

using report::JsonOut;
using report::ProvisionReport;

constexpr size_t kCommandsRemembered = 1'000;
constexpr size_t kNodesNamed = 3;
constexpr size_t kClaimsListed = 200;

// Of one that was tried.
std::string TakesIf(const report::PoolMiss& miss) {
  if (miss.would_take_if.empty())
    return "pool " + miss.pool + " would take it but for this: " + miss.text;
  return "pool " + miss.pool + " would take it if " + miss.would_take_if;
}

std::string SomeOf(const std::vector<std::string>& names) {
  if (names.size() <= kNodesNamed) return Join(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + kNodesNamed);
  return fmt::format("{} and {} more", Join(first, ", "), names.size() - kNodesNamed);
}

void WriteAmounts(JsonOut& out, std::string_view key,
                  const std::vector<std::pair<std::string, std::string>>& amounts) {
  out.Key(key).Open('{');
  for (const auto& [resource, amount] : amounts) out.Field(resource, amount);
  out.Close('}');
}

void WriteTexts(JsonOut& out, std::string_view key, const std::vector<std::string>& texts) {
  out.Key(key).Open('[');
  for (const std::string& text : texts) out.Text(text);
  out.Close(']');
}

void WriteClaim(JsonOut& out, const report::ClaimState& claim) {
  out.Open('{').Field("claim", claim.name).Field("pool", claim.pool).Field("stage", claim.stage);
  for (const auto& [key, text] : {std::pair("node", &claim.node), std::pair("type", &claim.type),
                                  std::pair("zone", &claim.zone), std::pair("text", &claim.text),
                                  std::pair("capacityType", &claim.capacity_type),
                                  std::pair("providerId", &claim.provider_id)})
    if (!text->empty()) out.Field(key, *text);
  if (claim.price > 0) out.Field("price", claim.price);
  if (claim.since > TimePoint{}) out.Field("since", Unix(claim.since));
  if (claim.expires) out.Field("expiresAt", Unix(*claim.expires));
  out.Close('}');
}

void WriteCommand(JsonOut& out, const report::DisruptionCommand& command) {
  out.Open('{').Field("reason", command.reason).Field("decision", command.decision);
  out.Field("stage", command.stage).Field("priceBefore", command.price_before);
  out.Field("savings", command.savings);
  if (!command.text.empty()) out.Field("text", command.text);
  WriteTexts(out, "nodes", command.nodes);
  WriteTexts(out, "replacements", command.replacements);
  out.Close('}');
}

bool IsGivenUp(const report::DisruptionCommand& command) {
  return command.stage == "Abandoned" || command.stage == "RolledBack";
}

// "Underutilized: replaced by on-demand-x, saves 0.42 an hour"
std::string WhyItGoes(const report::DisruptionCommand& command) {
  std::string why = command.reason;
  if (!command.replacements.empty()) why += ": replaced by " + SomeOf(command.replacements);
  if (command.savings > 0)
    why += fmt::format("{} saves {:.2f} an hour", command.replacements.empty() ? ":" : ",",
                       command.savings);
  return why;
}

// The machines of one pool that one solve has asked for.
Decision Bought(const ProvisionReport& report, TimePoint at, const std::string& pool,
                const std::vector<const report::PlannedMachine*>& machines) {
  const auto state = std::ranges::find(report.pools, pool, &report::PoolState::name);
  const auto now = state == report.pools.end() ? 0 : state->nodes;
  std::vector<report::PodPtr> pods;
  double price = 0;
  size_t types = 0;
  JsonOut out;
  out.Open('{').Key("machines").Open('[');
  for (const report::PlannedMachine* machine : machines) {
    pods.insert(pods.end(), machine->pods.begin(), machine->pods.end());
    price += machine->price;
    types = std::max(types, machine->type_count);
    WriteMachine(out, *machine);
  }
  out.Close(']').Close('}');
  std::vector<std::string> helps;
  for (const report::PodPtr& pod : pods) helps.push_back(OwnerOf(*pod));
  std::string why = pods.empty() ? "as many as it is to have" : "for " + ByOwner(pods);
  why += machines.size() > 1 ? fmt::format("; from {:.2f} an hour for all", price)
         : types > 1         ? fmt::format("; one of {} types, from {:.2f} an hour", types, price)
                             : fmt::format("; from {:.2f} an hour", price);
  return {
      .at = at,
      .kind = "up",
      .title = fmt::format("{} {} → {}", pool, now, now + static_cast<int64_t>(machines.size())),
      .why = std::move(why),
      .row = pool,
      .detail = out.Take(),
      .helps = std::move(helps)};
}

// Pods of one owner that no pool takes.
Decision Waits(const std::vector<const report::UnplacedPod*>& pods, TimePoint at) {
  const report::UnplacedPod& pod = *pods.front();
  std::vector<report::PodPtr> all;
  for (const report::UnplacedPod* one : pods) all.push_back(one->pod);
  JsonOut out;
  out.Open('{').Key("pools").Open('[');
  WritePoolMisses(out, pod);
  out.Close(']');
  const std::string nearest = NearestPool(pod);
  if (!nearest.empty()) out.Field("nearest", nearest);
  return {.at = at,
          .kind = "waits",
          .title = ByOwner(all),
          .why = pod.text + (nearest.empty() ? "" : "; " + nearest),
          .detail = out.Close('}').Take(),
          .owner = OwnerOf(*pod.pod)};
}

}  // namespace

std::string BoughtText(const report::PlannedMachine& machine) {
  return machine.error.empty()
             ? fmt::format("pool {} has ordered {}, from {:.2f} an hour", machine.pool,
                           machine.types.size() == 1 && machine.type_count == 1
                               ? machine.types.front()
                               : fmt::format("one of {} types", machine.type_count),
                           machine.price)
             : fmt::format("pool {} could not order: {}", machine.pool, machine.error);
}

std::string NearestPool(const report::UnplacedPod& pod) {
  const auto nearest = std::ranges::find(pod.misses, true, &report::PoolMiss::tried);
  if (nearest == pod.misses.end()) return "";
  return TakesIf(*nearest);
}

void WritePoolMisses(JsonOut& out, const report::UnplacedPod& pod) {
  for (const report::PoolMiss& miss : pod.misses) {
    out.Open('{').Field("group", miss.pool).Field("kind", "pool").Field("text", miss.text);
    if (!miss.key.empty()) out.Field("key", miss.key);
    if (!miss.shortfalls.empty()) report::WriteShortfalls(out, miss.shortfalls);
    if (miss.tried) out.Field("wouldTakeIf", TakesIf(miss));
    out.Close('}');
  }
}

void WriteMachine(JsonOut& out, const report::PlannedMachine& machine) {
  out.Open('{').Field("pool", machine.pool).Field("claim", machine.claim);
  out.Field("typeCount", machine.type_count).Field("price", machine.price);
  if (!machine.error.empty()) out.Field("error", machine.error);
  WriteTexts(out, "types", machine.types);
  out.Key("pods").Open('[');
  for (const report::PodPtr& pod : machine.pods) out.Text(report::NameOf(*pod));
  out.Close(']').Close('}');
}

void WritePool(JsonOut& out, const ProvisionReport& report, std::string_view name) {
  const auto pool = std::ranges::find(report.pools, name, &report::PoolState::name);
  if (pool == report.pools.end()) return;
  WriteTexts(out, "lines", report::ExplainPool(report, name));
  out.Key("pool").Open('{').Field("ready", pool->ready).Field("static", pool->is_static);
  out.Field("nodes", pool->nodes).Field("types", pool->types).Field("cost", pool->cost);
  if (!pool->text.empty()) out.Field("text", pool->text);
  WriteAmounts(out, "usage", pool->usage);
  WriteAmounts(out, "limits", pool->limits);
  out.Key("budgets").Open('{');
  for (const auto& [reason, left] : pool->budgets) out.Field(reason, left);
  out.Close('}').Close('}');
  out.Key("claims").Open('[');
  size_t listed = 0;
  for (const report::ClaimState& claim : report.claims)
    if (claim.pool == name && listed++ < kClaimsListed) WriteClaim(out, claim);
  out.Close(']').Key("commands").Open('[');
  for (const report::DisruptionCommand& command : report.commands)
    if (std::ranges::find(command.pools, name) != command.pools.end()) WriteCommand(out, command);
  out.Close(']');
}

Result<std::string> ClaimJson(const ProvisionReport& report, std::string_view name,
                              const std::vector<const Decision*>& about) {
  const auto claim = std::ranges::find(report.claims, name, &report::ClaimState::name);
  if (claim == report.claims.end()) return NotFound("there is no claim " + std::string(name));
  JsonOut out;
  out.Open('{').Field("claim", name).Field("passAt", Unix(report.at)).Key("now");
  WriteClaim(out, *claim);
  WriteTexts(out, "lines", report::ExplainClaim(report, name));
  out.Key("decisions").Open('[');
  for (const Decision* decision : about) out.Raw(decision->Brief());
  return out.Close(']').Close('}').Take();
}

void PoolTeller::TellSolve(const ProvisionReport& report, std::vector<Decision>& made) {
  const report::Provisioning& solve = *report.provisioning;
  if (std::exchange(solved_at_, solve.at) == solve.at) return;
  std::map<std::string, std::vector<const report::PlannedMachine*>> bought;
  std::map<std::string, std::string> held;
  for (const report::PlannedMachine& machine : solve.machines) {
    if (machine.error.empty()) {
      bought[machine.pool].push_back(&machine);
    } else {
      held[machine.pool] = machine.error;
    }
  }
  for (const auto& [pool, machines] : bought)
    made.push_back(Bought(report, solve.at, pool, machines));
  for (const auto& [pool, why] : held) {
    const auto before = held_.find(pool);
    if (before != held_.end() && before->second == why) continue;  // it is tried again and again
    made.push_back({.at = solve.at,
                    .kind = "trouble",
                    .title = pool + ": machines are not asked for",
                    .why = why,
                    .row = pool});
  }
  held_ = std::move(held);
  std::map<std::string, std::vector<const report::UnplacedPod*>> waiting;  // by owner
  for (const report::UnplacedPod& pod : solve.unplaced)
    if (!pod.ignored) waiting[OwnerOf(*pod.pod)].push_back(&pod);
  for (const auto& [owner, pods] : waiting) made.push_back(Waits(pods, solve.at));
}

void PoolTeller::TellCommands(const ProvisionReport& report, std::vector<Decision>& made) {
  if (commands_.size() > kCommandsRemembered) commands_.clear();
  for (const report::DisruptionCommand& command : report.commands) {
    const bool over = IsGivenUp(command);
    // One that is still weighed is no decision yet.
    if (command.stage == "Validating") continue;
    if (!commands_.insert(command.id + (over ? "/over" : "")).second) continue;
    JsonOut out;
    out.Open('{').Key("command");
    WriteCommand(out, command);
    made.push_back({.at = report.at,
                    .kind = over ? "trouble" : "down",
                    .title = SomeOf(command.nodes) + (over ? " stay" : ""),
                    .why = over ? command.stage + (command.text.empty() ? "" : ": " + command.text)
                                : WhyItGoes(command),
                    .row = command.pools.empty() ? "" : command.pools.front(),
                    .detail = out.Close('}').Take()});
    if (over && command.nodes.size() == 1) made.back().title += "s";
  }
}

std::vector<Decision> PoolTeller::Tell(const ProvisionReport& report) {
  std::vector<Decision> made;
  if (std::exchange(error_, report.error) != report.error && !report.error.empty()) {
    made.push_back({.at = report.at,
                    .kind = "trouble",
                    .title = "pass over node pools given up",
                    .why = report.error});
  }
  if (report.provisioning) TellSolve(report, made);
  TellCommands(report, made);
  return made;
}

std::shared_ptr<const Seen> WithPools(const Seen& seen, const ProvisionReport& report) {
  auto both = std::make_shared<Seen>(seen);
  std::map<std::string_view, const report::ClaimState*> of_node;
  for (const report::ClaimState& claim : report.claims) {
    if (!claim.node.empty()) of_node[claim.node] = &claim;
  }
  const auto leaves = [](const report::ClaimState& claim) {
    return claim.stage == "Draining" || claim.stage == "Terminating";
  };
  std::set<std::string_view> there;
  for (SeenNode& node : both->nodes) {
    const auto claim = of_node.find(node.node->metadata.name);
    there.insert(node.node->metadata.name);
    if (claim == of_node.end()) continue;
    node.row = claim->second->pool;
    node.claim = claim->second->name;
    node.expires = claim->second->expires;
    if (node.price == 0) node.price = claim->second->price;
    if (leaves(*claim->second)) node.taken_by = "provision";
  }
  for (const report::ClaimState& claim : report.claims) {
    if (there.contains(claim.node)) continue;
    SeenMachine& machine = both->machines.emplace_back();
    machine.row = claim.pool;
    machine.id = "claim/" + claim.name;
    machine.claim = claim.name;
    machine.state =
        leaves(claim) ? cloud::InstanceState::kDeleting : cloud::InstanceState::kCreating;
    machine.text = claim.stage + (claim.text.empty() ? "" : ": " + claim.text);
  }
  for (const report::PoolState& pool : report.pools) {
    SeenRow& row = both->rows.emplace_back();
    row.kind = "pool";
    row.name = pool.name;
    row.target = static_cast<int>(pool.nodes);
    row.trouble = pool.ready ? "" : pool.text.empty() ? "not ready" : pool.text;
    for (const auto& [resource, amount] : pool.usage) row.usage.push_back(resource + " " + amount);
    for (const auto& [resource, amount] : pool.limits)
      row.limits.push_back(resource + " " + amount);
  }
  return both;
}

}  // namespace coppice::web
