#include "provision/pool_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace coppice::provision {

namespace {

void Raise(const model::ResourceList& to, model::ResourceList& most) {
  for (const auto& [name, amount] : to) {
    model::Quantity& there = most[name];
    if (there.Compare(amount) < 0) there = amount;
  }
}

// Of what is limited.
void Subtract(const model::ResourceList& amounts, model::ResourceList& left) {
  for (auto& [resource, amount] : left) {
    if (const model::Quantity* used = amounts.Find(resource)) amount.Sub(*used);
  }
}

model::ResourceList OneNode() {
  model::ResourceList one;
  one["nodes"] = model::Quantity::FromUnits(1);
  return one;
}

std::string PoolOf(const model::NodeClaim& claim) {
  return LabelOr(claim.metadata.labels, model::kNodePoolLabel);
}

bool IsOneOf(const std::vector<ClaimPtr>& claims, const model::NodeClaim& claim) {
  return std::ranges::any_of(
      claims, [&](const ClaimPtr& one) { return one->metadata.uid == claim.metadata.uid; });
}

}  // namespace

model::ResourceList MostOf(const cloud::TypeList& types) {
  model::ResourceList most = OneNode();
  for (const cloud::InstanceType* type : types) Raise(type->capacity, most);
  return most;
}

std::string PoolLedger::WhyFull(const model::NodePool& pool) {
  for (const auto& [resource, limit] : pool.spec.limits) {
    const model::Quantity* used = pool.status.resources.Find(resource);
    if (used != nullptr && used->Compare(limit) > 0) {
      return fmt::format("{} resource usage of {} exceeds limit of {}", resource, used->ToString(),
                         limit.ToString());
    }
  }
  return "";
}

std::optional<model::ResourceList> PoolLedger::MostOf(const model::NodeClaim& claim,
                                                      const std::string& pool) const {
  if (const model::ResourceList* most = parts_.most_of(claim)) return *most;
  const auto types = parts_.pools.TypesOf(pool);
  if (types == nullptr) return std::nullopt;
  std::set<std::string_view> named;
  for (const model::RequirementSpec& spec : claim.spec.requirements) {
    if (spec.key == model::kInstanceTypeLabel && spec.operator_ == "In")
      named.insert(spec.values.begin(), spec.values.end());
  }
  model::ResourceList most = OneNode();
  for (const cloud::InstanceType& type : *types) {
    if (named.empty() || named.contains(type.name)) Raise(type.capacity, most);
  }
  return most;
}

void PoolLedger::Count(const std::vector<ClaimPtr>& claims, const std::vector<ClaimPtr>& instead_of,
                       Rooms& rooms) {
  const auto facts = parts_.store.Facts();
  const Context::NodeIndexById& nodes = context().NodesById();
  for (size_t i = 0; i < claims.size(); ++i) {
    const model::NodeClaim& claim = *claims[i];
    const auto room = rooms.find(PoolOf(claim));
    if (room == rooms.end()) continue;
    const NodePoolPtr pool = parts_.pools.Find(room->first);
    if (pool != nullptr && model::IsStatic(*pool)) {
      Subtract(OneNode(), room->second);
      continue;
    }
    const std::string& id = claim.status.provider_id;
    if (claim.metadata.deletion_timestamp || (!id.empty() && parts_.marks.leaving.contains(id)) ||
        IsOneOf(instead_of, claim))
      continue;
    if (!id.empty()) {
      StateNode state{.claim = facts[i]};
      const auto node = nodes.find(id);
      if (node != nodes.end()) state.node = node->second.front();
      Subtract(state.capacity(), room->second);
    } else if (const auto most = MostOf(claim, room->first)) {
      Subtract(*most, room->second);
    } else {
      Subtract(OneNode(), room->second);
      for (auto& [resource, left] : room->second) {
        // It may take all that there is.
        if (resource != "nodes" && left.Compare({}) > 0) left = model::Quantity();
      }
    }
  }
}

std::vector<PoolLedger::Grant> PoolLedger::Granted() {
  std::erase_if(unsure_, [this](const auto& entry) { return !parts_.store.IsUnsure(entry.first); });
  std::vector<Grant> granted;
  std::erase_if(granted_, [&](const std::weak_ptr<const Entry>& entry) {
    Grant grant = entry.lock();
    if (grant == nullptr) return true;
    granted.push_back(std::move(grant));
    return false;
  });
  return granted;
}

PoolLedger::Rooms PoolLedger::RoomsFor(const std::vector<Entry>& wanted,
                                       const std::vector<ClaimPtr>& instead_of) {
  Rooms rooms;
  if (context().options().upstream_exact) return rooms;
  for (const Entry& entry : wanted) {
    const NodePoolPtr pool = parts_.pools.Find(entry.pool);
    if (pool != nullptr && !pool->spec.limits.empty()) rooms[entry.pool] = pool->spec.limits;
  }
  if (rooms.empty()) return rooms;
  Count(parts_.store.List(), instead_of, rooms);
  for (const Grant& grant : Granted()) {
    const auto room = rooms.find(grant->pool);
    if (room != rooms.end()) Subtract(grant->most, room->second);
  }
  return rooms;
}

std::string PoolLedger::Take(const Entry& entry, Rooms& rooms) const {
  const NodePoolPtr pool = parts_.pools.Find(entry.pool);
  if (pool == nullptr) return "it is gone";
  if (std::string why = WhyFull(*pool); !why.empty()) return why;
  const auto room = rooms.find(entry.pool);
  if (room == rooms.end()) return "";
  for (const auto& [resource, left] : room->second) {
    const model::Quantity* more = entry.most.Find(resource);
    if (more == nullptr || more->Compare(left) <= 0) continue;
    return fmt::format("its limit of {} {} leaves {} beside what is on its way, and {} is wanted",
                       pool->spec.limits.Find(resource)->ToString(), resource,
                       left.Compare({}) < 0 ? "nothing" : left.ToString(), more->ToString());
  }
  Subtract(entry.most, room->second);
  return "";
}

std::vector<PoolLedger::Answer> PoolLedger::TakeEach(std::vector<Entry> wanted) {
  Rooms rooms = RoomsFor(wanted, {});
  std::vector<Answer> answers;
  for (Entry& entry : wanted) {
    Answer answer;
    answer.why_not = Take(entry, rooms);
    if (answer.why_not.empty()) {
      answer.grant = std::make_shared<const Entry>(std::move(entry));
      granted_.push_back(answer.grant);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

Result<std::vector<PoolLedger::Grant>> PoolLedger::TakeAll(
    std::vector<Entry> wanted, const std::vector<ClaimPtr>& instead_of) {
  Rooms rooms = RoomsFor(wanted, instead_of);
  for (const Entry& entry : wanted) {
    if (const std::string why = Take(entry, rooms); !why.empty())
      return FailedPrecondition("nodepool " + entry.pool + ": " + why);
  }
  std::vector<Grant> grants;
  for (Entry& entry : wanted) {
    grants.push_back(std::make_shared<const Entry>(std::move(entry)));
    granted_.push_back(grants.back());
  }
  return grants;
}

void PoolLedger::KeepWhileUnsure(const std::string& claim, Grant grant) {
  unsure_[claim] = std::move(grant);
}

void PoolLedger::HoldBack(DisruptionWorld& world) {
  const auto limits_of = [&](const std::string& pool) -> model::ResourceList* {
    const auto it = std::ranges::find(world.solver.pools, pool, &Pool::name);
    return it == world.solver.pools.end() || it->limits.empty() ? nullptr : &it->limits;
  };
  std::set<std::string_view> shown;
  for (const Machine& machine : world.machines) {
    if (machine.claim != nullptr && machine.claim->status.provider_id.empty())
      shown.insert(machine.claim->metadata.uid);
  }
  for (const ClaimPtr& claim : parts_.store.List()) {
    if (!claim->status.provider_id.empty() || claim->metadata.deletion_timestamp ||
        shown.contains(claim->metadata.uid))
      continue;
    const std::string pool = PoolOf(*claim);
    if (auto* limits = limits_of(pool)) Subtract(MostOf(*claim, pool).value_or(OneNode()), *limits);
  }
  for (const Grant& grant : Granted()) {
    if (auto* limits = limits_of(grant->pool)) Subtract(grant->most, *limits);
    ++world.counts[grant->pool].active;  // what static pools go by
  }
}

}  // namespace coppice::provision
