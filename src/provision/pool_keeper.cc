#include "provision/pool_keeper.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/strings.h"
#include "model/node_class.h"
#include "model/node_pool_validation.h"
#include "provision/amounts.h"
#include "provision/claim_builder.h"
#include "provision/claim_store.h"
#include "provision/conditions.h"
#include "wire/wire.h"

namespace coppice::provision {

namespace {

using Json = nlohmann::json;
namespace names = model::karpenter;

constexpr size_t kRing = 4;
constexpr Duration kUnreadableAgain = std::chrono::minutes(10);
constexpr Duration kSoldOutFirst = std::chrono::seconds(10);
constexpr Duration kSoldOutLongest = std::chrono::minutes(3);

bool IsHealthyRing(const std::deque<bool>& ring) {
  const auto failures = std::ranges::count(ring, false);
  return static_cast<size_t>(failures) * 2 < kRing;  // unhealthy from half of the ring on
}

// Only what is ours to write.
Json PoolMetadata(const model::NodePool& pool) {
  Json metadata = Json::object();
  for (const char* key : {names::kHashAnnotation, names::kHashVersionAnnotation}) {
    if (const std::string* value = pool.metadata.annotations.Find(key))
      metadata["annotations"][key] = *value;
  }
  return metadata;
}

Json PoolStatus(const model::NodePool& pool) {
  return Json::parse(wire::ToJson(pool)).value("status", Json::object());
}

}  // namespace

void PoolKeeper::CountUses(const std::vector<ClaimPtr>& claims,
                           const std::vector<std::shared_ptr<const ClaimFacts>>& facts,
                           const Context::NodeIndexById& nodes,
                           const std::set<std::string>& marked) {
  const uint64_t version = context_.world().nodes_version();
  if (version == counted_nodes_ && claims == counted_ && marked == counted_marked_) return;
  counted_nodes_ = version;
  counted_ = claims;
  counted_marked_ = marked;
  uses_.clear();
  for (size_t i = 0; i < claims.size(); ++i) {
    const ClaimPtr& claim = claims[i];
    const std::string pool = LabelOr(claim->metadata.labels, model::kNodePoolLabel);
    const std::string& id = claim->status.provider_id;
    if (pool.empty() || id.empty() || claim->metadata.deletion_timestamp || marked.contains(id))
      continue;
    StateNode state{.claim = facts[i]};
    const auto node = nodes.find(id);
    if (node != nodes.end()) state.node = node->second.front();
    Use& use = uses_[pool];
    AddResources(use.resources, state.capacity());
    ++use.nodes;
  }
}

void PoolKeeper::Look(const std::vector<ClaimPtr>& claims,
                      const std::vector<std::shared_ptr<const ClaimFacts>>& facts,
                      const Context::NodeIndexById& nodes, const std::set<std::string>& marked,
                      TimePoint now) {
  CountUses(claims, facts, nodes, marked);
  pools_.clear();
  std::set<std::string> there;
  context_.world().objects<model::NodePool>().ForEachByName([&](const NodePoolPtr& pool) {
    if (!context_.Manages(pool->spec.template_.spec.node_class_ref)) return;
    there.insert(pool->metadata.name);
    const NodePoolPtr evaluated = Evaluated(pool, now);
    pools_.push_back(evaluated);
    SetMetrics(*evaluated);
    const std::string& name = pool->metadata.name;
    const auto written = written_.find(name);
    const bool behind = written != written_.end() &&
                        IsOlderVersion(pool->metadata.resource_version, written->second);
    if (written != written_.end() && !behind) written_.erase(written);
    // Of an unreadable one nothing is written: a hash of half a template would be another one.
    if (behind || busy_.contains(name) || pool->metadata.unreadable || context_.pretends() ||
        *evaluated == *pool)
      return;
    busy_.insert(name);
    context_.Spawn(WritePool(pool, evaluated));
  });
  context_.ForgetPools(there);
  std::erase_if(health_, [&](const auto& entry) { return !there.contains(entry.first); });
  std::erase_if(sold_out_, [&](const auto& entry) { return !there.contains(entry.first); });
  std::erase_if(written_, [&](const auto& entry) { return !there.contains(entry.first); });
}

NodePoolPtr PoolKeeper::Evaluated(const NodePoolPtr& pool, TimePoint now) {
  auto after = std::make_shared<model::NodePool>(*pool);
  if (pool->metadata.unreadable) {
    const std::string text = "the node pool cannot be read: " + pool->metadata.unreadable->what;
    SetPoolCondition(*after, kValidationSucceeded, "False", "NodePoolUnreadable", text, now);
    SettlePoolConditions(*after, now);
    context_.Tell(Context::Of(*pool), "Warning", "Unreadable",
                  text + "; nothing is bought for it and none of its machines is taken away",
                  kUnreadableAgain);
    return after;
  }
  const auto wrong = model::WrongWith(*pool, context_.labels());
  if (wrong.empty()) {
    SetPoolCondition(*after, kValidationSucceeded, "True", kValidationSucceeded, "", now);
  } else {
    SetPoolCondition(*after, kValidationSucceeded, "False", "NodePoolValidationFailed",
                     Join(wrong, "; "), now);
  }
  JudgeClass(*after, now);
  JudgeHealth(*pool, *after, now);
  SettlePoolConditions(*after, now);
  after->metadata.annotations[names::kHashAnnotation] = model::HashOf(*pool);
  after->metadata.annotations[names::kHashVersionAnnotation] = model::kNodePoolHashVersion;
  const Use& use = uses_[pool->metadata.name];
  after->status.resources = use.resources;
  after->status.resources["nodes"] = model::Quantity::FromUnits(use.nodes);
  after->status.nodes = use.nodes;
  return after;
}

void PoolKeeper::JudgeClass(model::NodePool& pool, TimePoint now) {
  const auto& reference = *pool.spec.template_.spec.node_class_ref;
  const auto found = context_.ClassOf(reference);
  const auto no = [&](std::string_view reason, std::string_view message) {
    SetPoolCondition(pool, kNodeClassReady, "False", reason, message, now);
  };
  if (!found) return no("NodeClassNotFound", "NodeClass not found on cluster");
  if (found->deleting) return no("NodeClassTerminating", "NodeClass is Terminating");
  if (!found->ready) {
    SetPoolCondition(pool, kNodeClassReady, "Unknown", "NodeClassReadinessUnknown",
                     "Node Class Readiness Unknown", now);
    return;
  }
  if (!*found->ready) {
    return no(found->reason.empty() ? "NodeClassNotReady" : found->reason, found->message);
  }
  SetPoolCondition(pool, kNodeClassReady, "True", kNodeClassReady, "", now);
}

void PoolKeeper::JudgeHealth(const model::NodePool& before, model::NodePool& pool, TimePoint now) {
  const auto found = context_.ClassOf(*pool.spec.template_.spec.node_class_ref);
  const int64_t class_generation = found ? found->generation : 0;
  const std::string& name = pool.metadata.name;
  Health& health = health_[name];
  if (health.uid != pool.metadata.uid) {  // after a restart: as it was stored
    health = {.uid = pool.metadata.uid};
    failures_.erase(name);
    health.generation = pool.metadata.generation;
    health.class_generation = pool.status.node_class_observed_generation == 0
                                  ? class_generation
                                  : pool.status.node_class_observed_generation;
    const auto* stored = model::FindCondition(before.status.conditions, kNodeRegistrationHealthy);
    if (stored != nullptr && stored->status == "True") health.ring = {true};
    if (stored != nullptr && stored->status == "False") health.ring = {false, false};
    if (stored != nullptr) failures_[name] = {stored->reason, stored->message};
  }
  if (health.generation != pool.metadata.generation ||
      health.class_generation != class_generation) {
    health = {.uid = pool.metadata.uid,
              .generation = pool.metadata.generation,
              .class_generation = class_generation};
    sold_out_.erase(name);  // it may want something else now
  }
  pool.status.node_class_observed_generation = class_generation;
  if (health.ring.empty()) {
    SetPoolCondition(pool, kNodeRegistrationHealthy, "Unknown", kAwaitingReconciliation,
                     "no launch has ended yet", now);
  } else if (IsHealthyRing(health.ring)) {
    SetPoolCondition(pool, kNodeRegistrationHealthy, "True", kNodeRegistrationHealthy, "", now);
  } else {
    const auto& [reason, message] = failures_[name];
    SetPoolCondition(pool, kNodeRegistrationHealthy, "False",
                     reason.empty() ? "RegistrationFailed" : reason, message, now);
  }
}

void PoolKeeper::LaunchEnded(const model::NodeClaim& claim, bool well, std::string_view reason,
                             std::string_view message) {
  const auto it = health_.find(LabelOr(claim.metadata.labels, model::kNodePoolLabel));
  if (it == health_.end()) return;
  Health& health = it->second;
  const bool owned =
      std::ranges::any_of(claim.metadata.owner_references, [&](const model::OwnerReference& owner) {
        return owner.kind == "NodePool" && owner.uid == health.uid;
      });
  if (!owned) return;
  health.ring.push_back(well);
  if (health.ring.size() > kRing) health.ring.pop_front();
  if (!well) failures_[it->first] = {std::string(reason), std::string(message)};
}

void PoolKeeper::LaunchSoldOut(const std::string& pool, TimePoint now) {
  SoldOut& sold_out = sold_out_[pool];
  if (now < sold_out.until) return;  // another claim of the same attempt
  sold_out.wait = std::clamp(sold_out.wait * 2, kSoldOutFirst, kSoldOutLongest);
  sold_out.until = Later(now, sold_out.wait);
}

TimePoint PoolKeeper::SoldOutUntil(const std::string& pool) const {
  const auto it = sold_out_.find(pool);
  return it == sold_out_.end() ? TimePoint::min() : it->second.until;
}

Task<void> PoolKeeper::WritePool(NodePoolPtr before, NodePoolPtr after) {
  const std::string name = before->metadata.name;
  const std::string metadata =
      MergePatch(PoolMetadata(*before).dump(), PoolMetadata(*after).dump());
  Status failed;
  if (!metadata.empty()) {
    Json patch;
    patch["metadata"] = Json::parse(metadata);
    const auto written = co_await context_.parts.writer.UpdateObject(NameOf(*before), patch.dump());
    if (!written.ok()) failed = written.status();
  }
  const std::string status = MergePatch(PoolStatus(*before).dump(), PoolStatus(*after).dump());
  if (failed.ok() && !status.empty()) {
    Json patch;
    patch["status"] = Json::parse(status);
    const auto written = co_await context_.parts.writer.UpdateStatus(NameOf(*before), patch.dump());
    if (!written.ok()) {
      failed = written.status();
    } else if (const auto stored = wire::FromJson<model::NodePool>(*written); stored.ok()) {
      written_[name] = stored->metadata.resource_version;
    }
  }
  busy_.erase(name);
  if (!failed.ok() && failed.code() != Code::kNotFound && failed.code() != Code::kAborted) {
    context_.parts.log.Warning("the status of a node pool could not be written",
                               {{"nodepool", name}, {"error", failed}});
  }
}

std::vector<PoolView> PoolKeeper::Views(const cloud::WaitingShapes& waiting) {
  std::vector<PoolView> views;
  types_.clear();
  trouble_.clear();
  for (const NodePoolPtr& pool : pools_) {
    PoolView view{.pool = pool};
    auto types = context_.parts.claims.InstanceTypesFor(*pool, waiting);
    if (types.ok()) {
      view.types = *std::move(types);
      types_[pool->metadata.name] = view.types == nullptr ? 0 : view.types->size();
      Sold& sold = sold_[pool->metadata.name];
      if (sold.types != view.types && view.types != nullptr) {
        sold = {.types = view.types};
        ++prices_version_;
        for (const cloud::InstanceType& type : *view.types) sold.by_name[type.name] = &type;
      }
    } else {
      trouble_[pool->metadata.name] = types.status().message();
      if (types.status().code() != Code::kUnavailable) {
        context_.parts.log.Warning("the instance types of a node pool are not known",
                                   {{"nodepool", pool->metadata.name}, {"error", types.status()}});
      }
    }
    views.push_back(std::move(view));
  }
  return views;
}

NodePoolPtr PoolKeeper::Find(std::string_view name) const {
  const auto it = std::ranges::find(pools_, name, [](const NodePoolPtr& pool) -> std::string_view {
    return pool->metadata.name;
  });
  return it == pools_.end() ? nullptr : *it;
}

double PoolKeeper::PriceOfClaim(const model::NodeClaim& claim) const {
  const auto sold = sold_.find(LabelOr(claim.metadata.labels, model::kNodePoolLabel));
  if (sold == sold_.end()) return 0;
  const auto type =
      sold->second.by_name.find(LabelOr(claim.metadata.labels, model::kInstanceTypeLabel));
  return type == sold->second.by_name.end() ? 0 : PriceOf(claim.metadata.labels, type->second);
}

void PoolKeeper::SetMetrics(const model::NodePool& pool) {
  const std::string& name = pool.metadata.name;
  const auto amount = [](std::string_view resource, const model::Quantity& quantity) {
    return resource == "cpu" ? static_cast<double>(quantity.MilliValue()) / 1000
                             : static_cast<double>(quantity.Value());
  };
  std::set<MetricLabels> limits;
  for (const auto& [resource, quantity] : pool.spec.limits) {
    limits.insert({{"resource_type", resource}, {"nodepool", name}});
    context_.SetOfPool(name, "karpenter_nodepools_limit", "Limits specified on the nodepool.",
                       amount(resource, quantity), {{"resource_type", resource}});
  }
  context_.KeepOfPool(name, "karpenter_nodepools_limit", limits);
  std::set<MetricLabels> usages;
  for (const auto& [resource, quantity] : pool.status.resources) {
    usages.insert({{"resource_type", resource}, {"nodepool", name}});
    context_.SetOfPool(name, "karpenter_nodepools_usage",
                       "The amount of resources that has been provisioned.",
                       amount(resource, quantity), {{"resource_type", resource}});
  }
  context_.KeepOfPool(name, "karpenter_nodepools_usage", usages);
}

std::vector<report::PoolState> PoolKeeper::States(
    const std::map<std::string, double>& costs) const {
  std::vector<report::PoolState> states;
  for (const NodePoolPtr& pool : pools_) {
    const std::string& name = pool->metadata.name;
    report::PoolState state{.name = name,
                            .ready = model::IsTrue(pool->status.conditions, names::kReady),
                            .is_static = model::IsStatic(*pool)};
    for (const auto& condition : pool->status.conditions) {
      const bool counts =
          condition.type == kValidationSucceeded || condition.type == kNodeClassReady;
      if (!counts || condition.status == "True") continue;
      if (!state.text.empty()) state.text += "; ";
      state.text += condition.reason + ": " + condition.message;
    }
    if (const auto trouble = trouble_.find(name); trouble != trouble_.end() && state.text.empty())
      state.text = "its instance types are not known: " + trouble->second;
    state.nodes = pool->status.nodes.value_or(0);
    for (const auto& [resource, quantity] : pool->status.resources)
      state.usage.emplace_back(resource, quantity.ToString());
    for (const auto& [resource, quantity] : pool->spec.limits)
      state.limits.emplace_back(resource, quantity.ToString());
    if (const auto cost = costs.find(name); cost != costs.end()) state.cost = cost->second;
    if (const auto types = types_.find(name); types != types_.end()) state.types = types->second;
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace coppice::provision
