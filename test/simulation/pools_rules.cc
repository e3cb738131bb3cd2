#include "test/simulation/pools_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/node_claim.h"
#include "model/node_pool.h"
#include "model/pod_kinds.h"
#include "model/selector.h"
#include "wire/time_text.h"

namespace coppice::simulation {

namespace {

using std::chrono::duration_cast;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
namespace names = model::karpenter;

// A machine that is nobody's is ended after the grace and some refreshes.
constexpr auto kLeakGrace = minutes(10) + minutes(10);
// A claim whose machine is gone, or never came, is given up after a quarter of an hour.
constexpr auto kEmptyClaimGrace = minutes(15) + minutes(10);
// A process that was down, or a view that was stale, could not look.
constexpr auto kBlind = minutes(15);

std::string PoolOf(const model::NodeClaim& claim) {
  const std::string* pool = claim.metadata.labels.Find(model::kNodePoolLabel);
  return pool == nullptr ? "" : *pool;
}

bool IsGuarded(const model::Pod& pod) {
  const std::string* mark = pod.metadata.annotations.Find(names::kDoNotDisruptAnnotation);
  return mark != nullptr && *mark == "true";
}

bool HasEnded(const model::Pod& pod) {
  return pod.metadata.deletion_timestamp || pod.status.phase == "Succeeded" ||
         pod.status.phase == "Failed";
}

int64_t MillisOf(const model::ResourceList& list, std::string_view resource) {
  if (resource == "nodes") return 1000;
  const model::Quantity* amount = list.Find(resource);
  return amount == nullptr ? 0 : amount->MilliValue();
}

}  // namespace

PoolRules::PoolRules(sim::Model& model, Broken broken) : model_(model), broken_(std::move(broken)) {
  model_.api.hooks.evicted = [this](const model::Pod& pod) { Evicted(pod); };
  model_.api.hooks.deleted = [this](const model::Pod& pod) { Deleted(pod); };
}

std::vector<PoolRules::ClaimPtr> PoolRules::Claims() const {
  return model_.cluster.objects().objects<model::NodeClaim>().List();
}

PoolRules::PoolPtr PoolRules::FindPool(const std::string& name) const {
  return model_.cluster.objects().objects<model::NodePool>().Get("", name);
}

PoolRules::ClaimPtr PoolRules::ClaimOf(const std::string& node) const {
  for (const ClaimPtr& claim : Claims()) {
    if (!node.empty() && claim->status.node_name == node) return claim;
  }
  return nullptr;
}

std::optional<TimePoint> PoolRules::DeadlineOf(const std::string& node) const {
  const ClaimPtr claim = ClaimOf(node);
  if (claim == nullptr) return std::nullopt;
  const std::string* text =
      claim->metadata.annotations.Find(names::kTerminationTimestampAnnotation);
  return text == nullptr ? std::nullopt : wire::ParseRfc3339(*text);
}

void PoolRules::Evicted(const model::Pod& pod) {
  if (IsGuarded(pod)) Break("a pod that is not to be disturbed was evicted: " + pod.metadata.name);
  CheckBudgetOf(pod);
}

// Counted anew, and not by what the budget's status says.
void PoolRules::CheckBudgetOf(const model::Pod& pod) {
  const sim::WorkloadSpec* spec = model_.controllers.SpecOf(pod);
  if (spec == nullptr || !(spec->budget_min || spec->budget_max)) return;
  int healthy = 0;
  for (const auto* entry : model_.cluster.objects().Pods()) {
    const model::Pod& other = *entry->pod;
    if (model_.controllers.SpecOf(other) != spec || HasEnded(other)) continue;
    const auto node = model_.cluster.objects().FindNode(other.spec.node_name);
    healthy += node != nullptr && sim::IsReady(*node) ? 1 : 0;
  }
  const int needed = spec->budget_min
                         ? sim::ResolveAmount(*spec->budget_min, spec->replicas)
                         : spec->replicas - sim::ResolveAmount(*spec->budget_max, spec->replicas);
  if (healthy - 1 < needed) {
    Break(fmt::format("{} was evicted although only {} of its kind run and {} have to",
                      pod.metadata.name, healthy, needed));
  }
}

// Past its budget, and past its own will: only at the end of a grace period, and then early enough
// that it has its own.
void PoolRules::Deleted(const model::Pod& pod) {
  const auto deadline = DeadlineOf(pod.spec.node_name);
  const seconds grace(
      pod.spec.termination_grace_period_seconds.value_or(model::kDefaultGraceSeconds));
  if (!deadline || model_.agenda.Now() <= *deadline - grace) {
    return Break(fmt::format("{} was deleted {}", pod.metadata.name,
                             deadline ? "before its time" : "and no grace period was running"));
  }
  ++counts_.forced;
}

// By our hand, and not because the cloud took it back: nobody may still be working there.
void PoolRules::Ended(const cloud::ProviderId& id) {
  const auto nodes = model_.cluster.objects().Nodes();
  const auto node = std::ranges::find_if(
      nodes, [&](const sim::NodePtr& one) { return one->spec.provider_id == id; });
  if (node == nodes.end() || !sim::IsReady(**node)) return;
  const auto deadline = DeadlineOf((*node)->metadata.name);
  if (deadline && *deadline <= model_.agenda.Now()) return;
  for (const auto* entry : model_.cluster.objects().BoundTo((*node)->metadata.name)) {
    const model::Pod& pod = *entry->pod;
    if (model::IsDaemonSetPod(pod) || HasEnded(pod)) continue;
    Break("machine of " + (*node)->metadata.name + " was ended under " + pod.metadata.name);
  }
}

void PoolRules::AfterPass(const report::ProvisionReport& pass) {
  CheckCommands(pass);
  CheckLimits();
  if (!pass.provisioning || pass.provisioning->at == told_provisioning_) return;
  told_provisioning_ = pass.provisioning->at;
  for (const report::PlannedMachine& machine : pass.provisioning->machines)
    counts_.refused += machine.error.find("is on its way") != std::string::npos ? 1 : 0;
}

// By our hand: machines in commands that are under way, and those that such a command has deleted
// and that still drain. From when the cloud was told to end it a machine counts no longer, nor does
// one whose Node is gone, as that of a machine that was taken back; and one that was never up has
// nothing that a budget protects.
void PoolRules::CheckCommands(const report::ProvisionReport& pass) {
  std::map<std::string, bool> in_command;  // node: because it is sick
  for (const report::DisruptionCommand& command : pass.commands) {
    if (command.stage == "RolledBack" && taken_back_.emplace(command.id, command.since).second)
      may_exceed_.insert(command.pools.begin(), command.pools.end());
    if (command.stage == "Abandoned" && taken_back_.emplace(command.id, command.since).second)
      counts_.refused += command.text.find("is on its way") != std::string::npos ? 1 : 0;
    if (command.stage != "Deleting" && command.stage != "Launching") continue;
    for (const std::string& node : command.nodes) in_command[node] = command.reason == "Unhealthy";
  }
  std::map<std::string, int64_t> leaving;
  std::set<std::string> going;
  for (const ClaimPtr& claim : Claims()) {
    const std::string& name = claim->metadata.name;
    const auto command = in_command.find(claim->status.node_name);
    const bool now = !claim->status.node_name.empty() && command != in_command.end();
    if (!now && !(going_.contains(name) && claim->metadata.deletion_timestamp)) continue;
    if (!going_.contains(name)) {
      ++counts_.gone;
      if (command->second) ++counts_.repaired;
    }
    going.insert(name);
    const bool stands = model_.cluster.objects().FindNode(claim->status.node_name) != nullptr;
    const auto& conditions = claim->status.conditions;
    if (stands && model::IsTrue(conditions, names::kInitialized) &&
        !model::IsTrue(conditions, names::kInstanceTerminating))
      ++leaving[PoolOf(*claim)];
  }
  going_ = std::move(going);
  for (const auto& [pool, count] : leaving) {
    const auto budget = budgets_.find(pool);
    if (budget == budgets_.end() || count <= budget->second) continue;
    Break(fmt::format("{} machines of pool {} go at once, its budget is {}", count, pool,
                      budget->second));
  }
}

void PoolRules::CheckLimits() {
  std::map<std::string, std::map<std::string, int64_t>> used;  // by pool and resource, in millis
  for (const ClaimPtr& claim : Claims()) {
    const PoolPtr pool = FindPool(PoolOf(*claim));
    if (pool == nullptr) continue;
    const bool leaves = claim->metadata.deletion_timestamp || going_.contains(claim->metadata.name);
    if (leaves && !model::IsStatic(*pool)) continue;
    for (const auto& [resource, limit] : pool->spec.limits)
      used[pool->metadata.name][resource] += MillisOf(claim->status.capacity, resource);
  }
  for (const auto& [name, amounts] : used) {
    const PoolPtr pool = FindPool(name);
    bool above = false;
    for (const auto& [resource, amount] : amounts) {
      const int64_t limit = pool->spec.limits.Find(resource)->MilliValue();
      int64_t& most = counts_.most[name + "/" + resource];
      most = std::max(most, amount);
      if (amount <= limit) continue;
      above = true;
      if (may_exceed_.contains(name) && !model::IsStatic(*pool)) continue;
      Break(fmt::format("pool {} has {} {} of at most {}, in thousandths", name, amount, resource,
                        limit));
    }
    if (!above) may_exceed_.erase(name);
  }
}

void PoolRules::Restarted() {
  std::set<std::string> going;
  for (const ClaimPtr& claim : Claims()) {
    if (claim->metadata.deletion_timestamp && going_.contains(claim->metadata.name))
      going.insert(claim->metadata.name);
    may_exceed_.insert(PoolOf(*claim));
  }
  going_ = std::move(going);
}

void PoolRules::Look() {
  CheckMachines();
  CheckClaims();
  for (const auto* entry : model_.cluster.objects().Pods()) {
    if (IsGuarded(*entry->pod) && !entry->pod->spec.node_name.empty()) ++counts_.guarded;
  }
}

void PoolRules::CheckMachines() {
  const TimePoint now = model_.agenda.Now();
  std::set<std::string> ids;
  for (const ClaimPtr& claim : Claims()) ids.insert(claim->status.provider_id);
  std::map<std::string, TimePoint> nobodys;
  std::map<std::string, int> by_claim;
  for (const cloud::Machine& machine : model_.cloud.Truth()) {
    if (machine.state == cloud::MachineState::kDeleting) continue;
    if (const auto claim = machine.tags.find(cloud::kClaimTag); claim != machine.tags.end()) {
      if (++by_claim[claim->second] > 1) Break("two machines of the claim " + claim->second);
    }
    if (ids.contains(machine.id)) continue;
    const auto since = nobodys_.find(machine.id);
    nobodys[machine.id] = since == nobodys_.end() ? now : since->second;
    const Duration alone = now - nobodys[machine.id];
    if (alone > kLeakGrace + kBlind)
      Break(fmt::format("machine {} is nobody's for {} minutes", machine.name,
                        duration_cast<minutes>(alone).count()));
  }
  nobodys_ = std::move(nobodys);
}

void PoolRules::CheckClaims() {
  const TimePoint now = model_.agenda.Now();
  std::set<std::string> machines;
  for (const cloud::Machine& machine : model_.cloud.Truth()) machines.insert(machine.id);
  std::map<std::string, TimePoint> empty;
  for (const ClaimPtr& claim : Claims()) {
    if (machines.contains(claim->status.provider_id)) continue;
    const auto since = empty_.find(claim->metadata.uid);
    const TimePoint from = since == empty_.end() ? now : since->second;
    empty[claim->metadata.uid] = from;
    if (now - from > kEmptyClaimGrace + kBlind)
      Break(fmt::format("claim {} has no machine for {} minutes", claim->metadata.name,
                        duration_cast<minutes>(now - from).count()));
  }
  empty_ = std::move(empty);
}

// A node that is not ready for long is replaced, if the other nodes of its pool are well.
void PoolRules::FindSick(std::vector<std::string>& ill) const {
  struct Nodes {
    size_t all = 0;
    std::vector<std::string> sick;
    bool lately = false;  // one of them became so a short time ago
  };
  std::map<std::string, Nodes> pools;
  model_.cluster.objects().ForEachNode([&](const sim::NodePtr& node) {
    const std::string* pool = node->metadata.labels.Find(model::kNodePoolLabel);
    if (pool == nullptr) return;
    Nodes& nodes = pools[*pool];
    ++nodes.all;
    if (sim::IsReady(*node)) return;
    const auto ready =
        std::ranges::find(node->status.conditions, "Ready", &model::NodeCondition::type);
    const bool lately =
        model_.agenda.Now() - ready->last_transition_time->at < minutes(30) + hours(1);
    nodes.lately = nodes.lately || lately;
    if (!lately && !node->metadata.deletion_timestamp) nodes.sick.push_back(node->metadata.name);
  });
  for (const auto& [pool, nodes] : pools) {
    if (nodes.sick.size() > (nodes.all + 4) / 5 || nodes.lately) continue;
    for (const std::string& node : nodes.sick) ill.push_back("node " + node + " stays sick");
  }
}

std::vector<std::string> PoolRules::Ill() const {
  const TimePoint now = model_.agenda.Now();
  std::vector<std::string> ill;
  for (const sim::PodPtr& pod : model_.Pending()) {
    if (now - pod->metadata.creation_timestamp->at > minutes(30))
      ill.push_back("pod " + pod->metadata.name + " waits");
  }
  std::set<std::string> machines;
  for (const cloud::Machine& machine : model_.cloud.Truth()) machines.insert(machine.id);
  std::map<std::string, int64_t> standing;  // by pool
  for (const ClaimPtr& claim : Claims()) {
    const auto& meta = claim->metadata;
    if (!meta.deletion_timestamp) ++standing[PoolOf(*claim)];
    if (meta.deletion_timestamp && now - meta.deletion_timestamp->at > hours(1))
      ill.push_back("claim " + meta.name + " does not go");
    if (!meta.deletion_timestamp && now - meta.creation_timestamp->at > hours(1) &&
        !machines.contains(claim->status.provider_id))
      ill.push_back("claim " + meta.name + " has no machine");
  }
  model_.cluster.objects().ForEachNode([&](const sim::NodePtr& node) {
    if (node->metadata.deletion_timestamp && now - node->metadata.deletion_timestamp->at > hours(1))
      ill.push_back("node " + node->metadata.name + " does not go");
  });
  for (const auto& pool : model_.cluster.objects().objects<model::NodePool>().List()) {
    const std::string& name = pool->metadata.name;
    if (model::IsStatic(*pool) && standing[name] != *pool->spec.replicas)
      ill.push_back(fmt::format("static pool {} has {} claims of {}", name, standing[name],
                                *pool->spec.replicas));
  }
  for (const auto& [machine, since] : nobodys_) {
    if (now - since > kLeakGrace) ill.push_back("machine " + machine + " is nobody's");
  }
  FindSick(ill);
  return ill;
}

}  // namespace coppice::simulation
