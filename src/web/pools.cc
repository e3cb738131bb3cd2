#include "web/pools.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "report/explain.h"

namespace coppice::web {
namespace {

using report::GroupResize;
using report::PassReport;
using report::ProvisionReport;

constexpr size_t kCommandsRemembered = 1'000;

std::string Cheapest(const report::PlannedMachine& machine) {
  std::string text = machine.types.empty() ? "" : machine.types.front();
  if (machine.type_count > 1)
    text += " or one of " + std::to_string(machine.type_count - 1) + " others";
  return text;
}

void AddMachines(const ProvisionReport& from, const report::Provisioning& solve, PassReport& to) {
  std::map<std::string, int> bought;
  for (const report::PlannedMachine& machine : solve.machines) {
    if (!machine.error.empty()) {
      to.failed_additions.push_back({machine.pool, machine.error, 1});
      continue;
    }
    ++bought[machine.pool];
    to.scale_up.triggered.insert(to.scale_up.triggered.end(), machine.pods.begin(),
                                 machine.pods.end());
    to.scale_up.options.push_back({machine.pool, 1, machine.pods.size()});
    to.scale_up.chosen = machine.pool;
    to.scale_up.chosen_by = {{.expander = "price",
                              .survivors = {machine.pool},
                              .scores = {{machine.pool, machine.price, Cheapest(machine)}}}};
  }
  for (const auto& [pool, count] : bought) {
    const auto state = std::ranges::find(from.pools, pool, &report::PoolState::name);
    const int now = state == from.pools.end() ? 0 : static_cast<int>(state->nodes);
    to.scale_up.resizes.push_back({pool, now, now + count, 0});
  }
  if (!bought.empty()) to.scale_up.result = report::ScaleUpResult::kSuccessful;
}

report::Unhelped WhyNot(const report::UnplacedPod& pod) {
  report::Unhelped unhelped{.pods = {pod.pod}};
  std::map<std::string, std::vector<std::string>> said;
  for (const report::PoolMiss& miss : pod.misses) {
    said[miss.pool].push_back(miss.text);
    if (miss.tried) unhelped.misses.push_back({miss.pool, {{.text = miss.text}}});
  }
  if (said.empty()) said["every pool"].push_back(pod.text);
  unhelped.skipped =
      std::make_shared<const std::map<std::string, std::vector<std::string>>>(std::move(said));
  return unhelped;
}

void AddCommands(const ProvisionReport& from, std::set<std::string>& told, PassReport& to) {
  if (told.size() > kCommandsRemembered) told.clear();
  for (const report::DisruptionCommand& command : from.commands) {
    const bool over = command.stage == "Abandoned" || command.stage == "RolledBack";
    if (!told.insert(command.id + (over ? "/" + command.stage : "")).second) continue;
    for (size_t i = 0; i < command.nodes.size(); ++i) {
      const std::string pool = i < command.pools.size() ? command.pools[i] : "";
      if (over) {
        to.scale_down.outcomes.push_back({command.nodes[i], command.stage, command.text});
      } else {
        report::RemovedNode& removed = to.scale_down.removed.emplace_back();
        removed.node = command.nodes[i];
        removed.group = pool;
        removed.utilization.resource = command.reason;
      }
    }
  }
}

}  // namespace

std::shared_ptr<const PassReport> PoolTeller::Tell(const ProvisionReport& report) {
  auto told = std::make_shared<PassReport>();
  told->at = report.at;
  told->error = report.error;
  for (const report::PoolState& pool : report.pools)
    told->scale_up.considered_groups.push_back(pool.name);
  told->scale_up.considered_groups.push_back("every pool");
  if (report.provisioning) {
    const report::Provisioning& solve = *report.provisioning;
    told->scale_up.result = report::ScaleUpResult::kNoOptionsAvailable;
    for (const report::UnplacedPod& pod : solve.unplaced)
      if (!pod.ignored) told->scale_up.unhelped.push_back(WhyNot(pod));
    for (const report::PlacedPod& placed : solve.placed)
      told->scale_up.fitting.push_back({placed.pod, placed.machine});
    if (std::exchange(solved_at_, solve.at) != solve.at) AddMachines(report, solve, *told);
  }
  for (const report::StayingPoolNode& of_pool : report.staying) {
    report::StayingNode& staying = told->scale_down.staying.emplace_back();
    staying.node = of_pool.node;
    staying.group = of_pool.pool;
    staying.detail = of_pool.text.empty() ? of_pool.reason : of_pool.text;
  }
  AddCommands(report, commands_, *told);
  return told;
}

std::shared_ptr<const Seen> WithPools(const Seen& seen, const ProvisionReport& report) {
  auto both = std::make_shared<Seen>(seen);
  std::map<std::string, const report::ClaimState*> of_node;
  for (const report::ClaimState& claim : report.claims) {
    if (!claim.node.empty()) of_node[claim.node] = &claim;
  }
  std::set<std::string> there;
  for (SeenNode& node : both->nodes) {
    const auto claim = of_node.find(node.node->metadata.name);
    there.insert(node.node->metadata.name);
    if (claim == of_node.end()) continue;
    node.row = claim->second->pool;
    if (node.price == 0) node.price = claim->second->price;
    const std::string& stage = claim->second->stage;
    if (stage == "Draining" || stage == "Terminating") node.taken_by = "provision";
  }
  for (const report::ClaimState& claim : report.claims) {
    if (there.contains(claim.node)) continue;
    const bool leaves = claim.stage == "Draining" || claim.stage == "Terminating";
    both->machines.push_back(
        {claim.pool, "claim/" + claim.name,
         leaves ? cloud::InstanceState::kDeleting : cloud::InstanceState::kCreating, ""});
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
