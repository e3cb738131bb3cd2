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

// Machines on their way that nobody else is to count on.
void GangBuyer::TellSellers() {
  std::vector<market::Reserved> reserved;
  for (const auto& [id, gang] : gangs_) {
    if (!gang.held) continue;
    for (const market::Lot& lot : gang.held->what.lots) {
      market::Outcome of_lot = gang.held->what;
      of_lot.lots = {lot};
      const int coming = parts_.market.Look(of_lot, NodesOfOthers(id)).coming;
      if (coming > 0) reserved.push_back({gang.held->what.seller, lot.source, id, coming});
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
    intent->what.gang = id;
    found.emplace_back(id, *std::move(intent));
  }
  for (auto& [id, intent] : found) {
    if (!intent.ordered) {
      // Written, and nobody knows how far the orders went. All of it or nothing.
      std::vector<market::Lot> went;
      for (const market::Lot& lot : intent.what.lots) {
        if (parts_.market.WasOrdered(intent.what, lot)) went.push_back(lot);
      }
      const bool all = went.size() == intent.what.lots.size();
      if (!all) {
        intent.what.lots = std::move(went);
        if (!intent.what.lots.empty()) {
          const Status given_back = co_await parts_.market.Cancel(intent.what);
          parts_.log.Info("half a purchase of the process before is given back",
                          {{"gang", id}, {"answer", given_back}});
        }
        static_cast<void>(co_await WriteIntent(id, nullptr));  // says so itself
        continue;
      }
      intent.ordered = true;
      static_cast<void>(co_await WriteIntent(id, &intent));
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
  co_await FreeStrays();
  // What is not waiting and not held is history.
  std::erase_if(gangs_, [&](const auto& entry) {
    return !entry.second.held &&
           std::ranges::find(latest_, entry.first, &WaitingJob::id) == latest_.end();
  });
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
  const market::Delivery delivery = parts_.market.Look(gangs_[id].held->what, NodesOfOthers(id));
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
  const market::Outcome what = gangs_[id].held->what;
  gangs_[id].held.reset();
  gangs_[id].coming = gangs_[id].lost = 0;
  for (const std::string& node : nodes) parts_.world.held_nodes().Release(node, kHolder);
  parts_.log.Info("machines are no longer held for a gang",
                  {{"gang", id}, {"nodes", nodes.size()}, {"why", why}});
  if (give_back) {
    const Status answer = co_await parts_.market.Cancel(what);
    if (!answer.ok())
      parts_.log.Warning("not all that was bought for a gang could be given back",
                         {{"gang", id}, {"error", answer}});
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
    (void)answer;  // an intent that ran out is read again, and found to have run out
  }
  TellSellers();
  if (parts_.wake) parts_.wake();
}

}  // namespace coppice::batch
