// GangBuyer: what was bought is looked after until its gang has started, or for as long as it may.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "batch/buying/gang_buyer.h"
#include "model/kinds.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

cluster::ObjectName GroupNamed(const std::string& id, std::string uid) {
  const size_t slash = id.find('/');
  return {.api_version = std::string(model::kKind<model::PodGroup>.api_version),
          .resource = std::string(model::kKind<model::PodGroup>.resource),
          .namespace_ = id.substr(0, slash),
          .name = id.substr(slash + 1),
          .uid = std::move(uid)};
}

market::Outcome OfOneLot(const market::Outcome& purchase, const market::Lot& lot) {
  market::Outcome one = purchase;
  one.lots = {lot};
  return one;
}

}  // namespace

const model::PodGroup* GangBuyer::GroupOf(const std::string& id) const {
  const size_t slash = id.find('/');
  return parts_.world.objects<model::PodGroup>().Find(id.substr(0, slash), id.substr(slash + 1));
}

coppice::Task<Status> GangBuyer::WriteIntent(std::string id, const market::Intent* intent) {
  const model::PodGroup* group = GroupOf(id);
  if (group == nullptr) co_return NotFound("the group is gone");
  Json annotations;
  annotations[std::string(market::kIntentAnnotation)] =
      intent == nullptr ? Json(nullptr) : Json(market::FormatIntent(*intent));
  const Json patch = {{"metadata", {{"annotations", std::move(annotations)}}}};
  cluster::ObjectName name = GroupNamed(id, group->metadata.uid);
  std::string text = patch.dump();
  const auto answer = co_await parts_.writer.UpdateObject(std::move(name), std::move(text));
  if (!answer.ok())
    parts_.log.Warning("the note of a purchase could not be written",
                       {{"gang", id}, {"error", answer.status()}});
  co_return answer.status();
}

void GangBuyer::Tell(const std::string& id, std::string_view type, std::string_view reason,
                     std::string text) {
  const model::PodGroup* group = GroupOf(id);
  if (group == nullptr) return;
  parts_.writer.Emit({.kind = "PodGroup",
                      .namespace_ = group->metadata.namespace_,
                      .name = group->metadata.name,
                      .uid = group->metadata.uid,
                      .type = std::string(type),
                      .reason = std::string(reason),
                      .text = std::move(text)});
}

std::vector<std::string> GangBuyer::NodesOfOthers(const std::string& id) const {
  std::vector<std::string> taken;
  for (const auto& [other, gang] : gangs_) {
    if (other != id) taken.insert(taken.end(), gang.nodes.begin(), gang.nodes.end());
  }
  return taken;
}

market::Delivery GangBuyer::Delivered(const std::string& id) const {
  market::Delivery all;
  const std::vector<std::string> others = NodesOfOthers(id);
  for (const market::Outcome& purchase : gangs_.at(id).held->bought) {
    const market::Delivery one = parts_.market.Look(purchase, others);
    all.nodes.insert(all.nodes.end(), one.nodes.begin(), one.nodes.end());
    all.coming += one.coming;
    all.lost += one.lost;
  }
  return all;
}

void GangBuyer::WriteOffLost(const std::string& id, std::vector<market::Outcome>& bought) const {
  const std::vector<std::string> others = NodesOfOthers(id);
  for (market::Outcome& purchase : bought) {
    for (market::Lot& lot : purchase.lots) {
      const int lost = parts_.market.Look(OfOneLot(purchase, lot), others).lost;
      const int claimed = std::max(0, lost - lot.machines);
      lot.machines = std::max(0, lot.machines - lost);
      lot.claimed = std::max(0, lot.claimed - claimed);
    }
    std::erase_if(purchase.lots,
                  [](const market::Lot& lot) { return lot.machines + lot.claimed == 0; });
  }
  std::erase_if(bought, [](const market::Outcome& purchase) { return purchase.lots.empty(); });
}

// Machines on their way that nobody else is to count on.
void GangBuyer::TellSellers() {
  std::vector<market::Reserved> reserved;
  for (const auto& [id, gang] : gangs_) {
    if (!gang.held) continue;
    const std::vector<std::string> others = NodesOfOthers(id);
    for (const market::Outcome& purchase : gang.held->bought) {
      for (const market::Lot& lot : purchase.lots) {
        const int coming = parts_.market.Look(OfOneLot(purchase, lot), others).coming;
        if (coming > 0) reserved.push_back({purchase.seller, lot.source, id, coming});
      }
    }
  }
  parts_.market.Keep(reserved);
}

// What the process before this one had bought, or was about to.
coppice::Task<void> GangBuyer::Recover() {
  std::vector<std::pair<std::string, market::Intent>> found;
  for (const auto& group : parts_.world.objects<model::PodGroup>().List()) {
    const std::string* text = group->metadata.annotations.Find(market::kIntentAnnotation);
    if (text == nullptr) continue;
    const std::string id = group->metadata.namespace_ + "/" + group->metadata.name;
    auto intent = market::ParseIntent(*text);
    if (!intent.ok()) {
      parts_.log.Warning("what was bought for a gang cannot be read, and is left alone",
                         {{"gang", id}, {"error", intent.status()}});
      continue;
    }
    for (market::Outcome& purchase : intent->bought) purchase.gang = id;
    if (intent->ordering) intent->ordering->gang = id;
    found.emplace_back(id, *std::move(intent));
  }
  for (auto& [id, intent] : found) {
    if (intent.ordering) {
      // Written, and nobody knows how far the orders went. All of it or nothing.
      market::Outcome purchase = *std::exchange(intent.ordering, std::nullopt);
      const market::Outcome asked = purchase;
      std::erase_if(purchase.lots,
                    [&](const market::Lot& lot) { return !parts_.market.WasOrdered(asked, lot); });
      if (purchase.lots.size() == asked.lots.size()) {
        market::AddPurchase(intent.bought, std::move(purchase));
      } else if (!purchase.lots.empty()) {
        const Status given_back = co_await parts_.market.Cancel(std::move(purchase));
        parts_.log.Info("half a purchase of the process before is given back",
                        {{"gang", id}, {"answer", given_back}});
      }
      const bool nothing = intent.bought.empty();
      static_cast<void>(co_await WriteIntent(id, nothing ? nullptr : &intent));  // says so itself
      if (nothing) continue;
    }
    Gang& gang = gangs_[id];
    gang.attempts = intent.attempt;
    gang.held = std::move(intent);
  }
  TellSellers();
}

coppice::Task<void> GangBuyer::Settle(TimePoint now) {
  std::vector<std::string> ids;
  for (const auto& [id, gang] : gangs_) {
    if (gang.held) ids.push_back(id);
  }
  for (const std::string& id : ids) co_await LookAfter(id, now);
  if (!ids.empty()) TellSellers();
  co_await ClearAgain();
  co_await FreeStrays();
  // What is not waiting and not held is history.
  std::erase_if(gangs_, [&](const auto& entry) {
    return !entry.second.held &&
           std::ranges::find(latest_, entry.first, &WaitingJob::id) == latest_.end();
  });
}

// Notes of what is held no more, whose removal was refused.
coppice::Task<void> GangBuyer::ClearAgain() {
  const std::set<std::string> ids = uncleared_;
  for (const std::string& id : ids) {
    const auto gang = gangs_.find(id);
    const bool again = gang != gangs_.end() && gang->second.held;
    if (again || GroupOf(id) == nullptr) {
      uncleared_.erase(id);
      continue;
    }
    const Status answer = co_await WriteIntent(id, nullptr);
    if (answer.ok()) uncleared_.erase(id);
  }
}

// Nodes that carry the mark of a gang that nothing is held for: a process before this one ended in
// between, or a write was lost.
coppice::Task<void> GangBuyer::FreeStrays() {
  std::set<std::string> held;
  for (const auto& [id, gang] : gangs_) {
    if (gang.held) held.insert(market::HoldValue(id));
  }
  std::vector<std::string> strays;
  parts_.world.ForEachNode([&](const cluster::NodePtr& node) {
    for (const model::Taint& taint : node->spec.taints) {
      if (taint.key == market::kHeldForTaint && !held.contains(taint.value))
        strays.push_back(node->metadata.name);
    }
  });
  for (const std::string& node : strays) {
    cluster::NodeChange change;
    change.remove_taints.emplace_back(market::kHeldForTaint);
    const Status answer = co_await parts_.writer.ChangeNode(node, std::move(change));
    parts_.log.Info("a node is no longer held for a gang", {{"node", node}, {"answer", answer}});
  }
}

coppice::Task<void> GangBuyer::LookAfter(std::string id, TimePoint now) {
  const model::PodGroup* group = GroupOf(id);
  if (group == nullptr || group->status.phase == "Completed" ||
      group->metadata.deletion_timestamp) {
    co_await LetGo(id, true, "the gang is gone");
    co_return;
  }
  const auto waiting = std::ranges::find(latest_, id, &WaitingJob::id);
  const market::Delivery delivery = Delivered(id);
  if (waiting == latest_.end() || (waiting->ready && delivery.coming == 0)) {
    co_await LetGo(id, waiting == latest_.end() && delivery.coming > 0, "the gang has started");
    co_return;
  }
  gangs_[id].coming = delivery.coming;
  gangs_[id].lost = delivery.coming > 0 ? 0 : delivery.lost;
  for (const std::string& node : delivery.nodes) co_await HoldNode(id, node);
  if (now < gangs_[id].held->until) co_return;
  co_await LetGo(id, true, "the hold ran out");
  Refuse(gangs_[id], "what was bought for it was given back: it did not start in time", now);
  Tell(id, "Warning", "HoldRanOut", gangs_[id].told.why);
}

// Nobody else may start there, and no other engine takes it down.
coppice::Task<void> GangBuyer::HoldNode(std::string id, std::string node) {
  const cluster::NodePtr object = parts_.world.FindNode(node);
  if (object == nullptr) co_return;
  Gang& gang = gangs_[id];
  const bool known = std::ranges::find(gang.nodes, node) != gang.nodes.end();
  (void)parts_.world.held_nodes().Hold(node, object->metadata.uid, kHolder);
  const std::string value = market::HoldValue(id);
  const bool tainted = std::ranges::any_of(object->spec.taints, [&](const model::Taint& taint) {
    return taint.key == market::kHeldForTaint && taint.value == value;
  });
  if (!known) gang.nodes.push_back(node);
  if (tainted || known) co_return;  // it is there, or is about to be seen
  cluster::NodeChange change;
  change.add_taints.push_back(
      {.key = std::string(market::kHeldForTaint), .value = value, .effect = "NoSchedule"});
  const Status answer = co_await parts_.writer.ChangeNode(node, std::move(change));
  if (answer.ok()) co_return;
  parts_.log.Warning("a node could not be kept for its gang",
                     {{"node", node}, {"gang", id}, {"error", answer}});
  std::erase(gangs_[id].nodes, node);  // again after the next session
}

coppice::Task<void> GangBuyer::LetGo(std::string id, bool give_back, std::string why) {
  const std::vector<std::string> nodes = std::exchange(gangs_[id].nodes, {});
  const std::vector<market::Outcome> bought = gangs_[id].held->bought;
  gangs_[id].held.reset();
  gangs_[id].coming = gangs_[id].lost = 0;
  for (const std::string& node : nodes) parts_.world.held_nodes().Release(node, kHolder);
  parts_.log.Info("machines are no longer held for a gang",
                  {{"gang", id}, {"nodes", nodes.size()}, {"why", why}});
  for (const market::Outcome& purchase : bought) {
    if (!give_back) break;
    const Status answer = co_await parts_.market.Cancel(purchase);
    if (!answer.ok())
      parts_.log.Warning("not all that was bought for a gang could be given back",
                         {{"gang", id}, {"seller", purchase.seller}, {"error", answer}});
  }
  for (const std::string& node : nodes) {
    if (parts_.world.FindNode(node) == nullptr) continue;
    cluster::NodeChange change;
    change.remove_taints.emplace_back(market::kHeldForTaint);
    const Status answer = co_await parts_.writer.ChangeNode(node, std::move(change));
    if (!answer.ok() && answer.code() != Code::kNotFound)
      parts_.log.Warning("a node is still marked as held for a gang",
                         {{"node", node}, {"gang", id}, {"error", answer}});
  }
  if (GroupOf(id) != nullptr) {
    const Status answer = co_await WriteIntent(id, nullptr);
    if (!answer.ok()) uncleared_.insert(id);
  }
  TellSellers();
  if (parts_.wake) parts_.wake();
}

}  // namespace coppice::batch
