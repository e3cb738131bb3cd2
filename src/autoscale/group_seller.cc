#include "autoscale/group_seller.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "autoscale/hold_nodes.h"
#include "market/intent.h"
#include "model/pod_kinds.h"

namespace coppice::autoscale {

namespace {

market::Refusal NotYet(std::string text) {
  market::Refusal no;
  no.seller = GroupSeller::kName;
  no.text = std::move(text);
  return no;
}

bool Leaves(const model::Pod& pod) {
  return model::IsMirrorPod(pod) || model::IsStaticPod(pod) || model::IsDaemonSetPod(pod) ||
         pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool IsHeldFor(const model::Node& node, std::string_view gang) {
  const std::string value = market::HoldValue(gang);
  return std::ranges::any_of(node.spec.taints, [&](const model::Taint& taint) {
    return taint.key == market::kHeldForTaint && taint.value == value;
  });
}

}  // namespace

// The values to be tried, each for itself. {""}: anywhere.
std::vector<std::string> GroupSeller::DomainsOf(const market::TopologyWish& wish) const {
  if (wish.key.empty()) return {""};
  if (!wish.value.empty()) return {wish.value};
  std::set<std::string> values;
  for (const auto& [group, node_template] : parts_.templates.all()) {
    const std::string* value = node_template->node.metadata.labels.Find(wish.key);
    if (value != nullptr && !value->empty()) values.insert(*value);
  }
  return {values.begin(), values.end()};
}

Task<market::Quotes> GroupSeller::Quote(market::Want want, market::View view) {
  if (!Ready()) co_return NotYet("the node groups have not been looked at yet");
  if (!shared_.options.deviations.news_between_stages)
    co_return NotYet("passes keep the world to themselves under --upstream-exact");
  const GroupQuote::Parts parts{shared_,          parts_.nodes,       parts_.state,
                                parts_.templates, parts_.search,      parts_.expanders,
                                parts_.choosing,  parts_.still,       parts_.tpus,
                                parts_.reserved,  parts_.first_of_tie};
  std::vector<market::Offer> offers;
  std::optional<market::Refusal> refusal;
  for (const std::string& domain : DomainsOf(want.topology)) {
    GroupQuote quote(parts, want, view, domain);
    co_await quote.Run();
    if (!quote.refusal || (want.in_part && quote.offer.served > 0)) {
      quote.offer.seller = kName;
      offers.push_back(std::move(quote.offer));
    } else if (!refusal || quote.refusal->short_of < refusal->short_of) {
      refusal = std::move(quote.refusal);  // the nearest miss
    }
  }
  if (!offers.empty()) co_return offers;
  if (!refusal) co_return NotYet("no node group has a value for " + want.topology.key);
  refusal->seller = kName;
  co_return *std::move(refusal);
}

Task<market::Outcome> GroupSeller::Order(market::Offer offer) {
  const TimePoint now = shared_.executor.clock().Now();
  market::Outcome outcome;
  outcome.seller = kName;
  outcome.gang = offer.gang;
  outcome.ordered_at = now;
  const std::vector<cloud::GroupInfo> groups = shared_.groups.Groups();
  ScaleUpPlan plan;
  plan.all_or_nothing = true;
  plan.skipped = std::make_shared<const std::map<std::string, std::vector<std::string>>>();
  for (const market::Lot& lot : offer.lots) {
    if (lot.machines <= 0) continue;
    const auto target = shared_.groups.TargetSize(lot.source);
    const auto info = std::ranges::find(groups, lot.source, &cloud::GroupInfo::id);
    if (!target.ok() || *target != lot.before || info == groups.end()) {
      outcome.status = FailedPrecondition("group " + lot.source +
                                          " is not what it was when it was offered; ask again");
      co_return outcome;
    }
    plan.resizes.push_back({lot.source, lot.before, lot.after, info->max_size});
    std::set<std::string>& known = there_before_[{offer.gang, lot.source}];
    known.clear();
    if (const auto instances = shared_.groups.Instances(lot.source); instances.ok()) {
      for (const cloud::Instance& instance : *instances) known.insert(instance.id);
    }
  }
  outcome.lots = offer.lots;
  if (plan.resizes.empty()) co_return outcome;  // what is on its way is enough
  plan.chosen = plan.resizes.front().group;
  const report::ScaleUp done = co_await parts_.buyer.Buy(std::move(plan), now);
  if (done.result == report::ScaleUpResult::kSuccessful) {
    parts_.cooldowns.ScaledUp(now);
    co_return outcome;
  }
  // One after the other: what comes after the one that failed was not tried.
  const auto failed = [&](const std::string& group) {
    return std::ranges::find(done.failed_groups, group) != done.failed_groups.end();
  };
  market::Outcome bought = outcome;
  bought.lots.clear();
  for (const market::Lot& lot : outcome.lots) {
    if (lot.machines <= 0) continue;
    if (failed(lot.source)) {
      if (!shared_.options.buying.parallel_scale_up) break;
      continue;
    }
    bought.lots.push_back(lot);
  }
  outcome.lots.clear();
  outcome.status = Unavailable(done.error.empty() ? "the order failed" : done.error);
  const Status given_back = co_await Cancel(std::move(bought));
  if (!given_back.ok())
    outcome.status =
        outcome.status.Context("and not all was given back (" + given_back.message() + ")");
  co_return outcome;
}

std::vector<cloud::NodeRef> GroupSeller::UnusedOf(const market::Lot& lot, const std::string& gang,
                                                  size_t most) const {
  std::vector<cloud::NodeRef> unused;
  const auto instances = shared_.groups.Instances(lot.source);
  if (!instances.ok() || most == 0) return unused;
  std::map<std::string, cluster::NodePtr> nodes;  // by provider id
  shared_.world.ForEachNode([&](const cluster::NodePtr& node) {
    if (!node->spec.provider_id.empty()) nodes.emplace(node->spec.provider_id, node);
  });
  const auto known = there_before_.find({gang, lot.source});
  for (const cloud::Instance& instance : *instances) {
    if (unused.size() == most) break;
    if (instance.state == cloud::InstanceState::kDeleting) continue;
    if (known != there_before_.end() && known->second.contains(instance.id)) continue;
    const auto node = nodes.find(instance.id);
    if (node == nodes.end()) {
      // After a restart nobody can say whose it is: it becomes a node, and scale-down sees it.
      if (known != there_before_.end())
        unused.push_back({.provider_id = instance.id, .stand_in_reason = "unregistered"});
      continue;
    }
    const model::Node& object = *node->second;
    const auto pods = shared_.world.BoundTo(object.metadata.name);
    const bool empty = std::ranges::all_of(pods, [](const auto* e) { return Leaves(*e->pod); });
    // Only what nobody else could have started on since we looked.
    if (!empty || !IsHeldFor(object, gang)) continue;
    unused.push_back(
        {.provider_id = instance.id, .name = object.metadata.name, .node = node->second});
  }
  return unused;
}

// Never below the group's minimum.
Task<Status> GroupSeller::GiveBack(market::Lot lot, std::string gang) {
  const std::vector<cloud::GroupInfo> groups = shared_.groups.Groups();
  const auto info = std::ranges::find(groups, lot.source, &cloud::GroupInfo::id);
  const auto target = shared_.groups.TargetSize(lot.source);
  const auto instances = shared_.groups.Instances(lot.source);
  if (info == groups.end() || !target.ok() || !instances.ok())
    co_return Unavailable("group " + lot.source + " cannot be asked");
  int left = std::min(lot.machines, std::max(0, *target - info->min_size));
  const int not_there = std::max(0, *target - static_cast<int>(instances->size()));
  Status first;
  if (const int fewer = std::min(left, not_there); fewer > 0) {
    const Status answer = co_await shared_.cloud.DecreaseTarget(lot.source, -fewer);
    if (answer.ok()) {
      left -= fewer;
      parts_.state.RegisterScaleUp(lot.source, -fewer, shared_.executor.clock().Now());
    } else {
      first = answer.Context("group " + lot.source);
    }
  }
  std::vector<cloud::NodeRef> unused = UnusedOf(lot, gang, static_cast<size_t>(left));
  std::erase_if(unused, [&](const cloud::NodeRef& ref) {
    if (!parts_.owners.NotOurs(ref, lot.source).empty()) return true;
    if (ref.node == nullptr) return false;
    return !shared_.world.held_nodes().Hold(ref.name, ref.node->metadata.uid, kHolder).ok();
  });
  if (!unused.empty()) {
    const auto count = static_cast<int>(unused.size());
    const Status answer = co_await shared_.cloud.Delete(lot.source, unused);
    for (const cloud::NodeRef& ref : unused) {
      if (ref.node != nullptr) shared_.world.held_nodes().Release(ref.name, kHolder);
    }
    if (answer.ok()) {
      parts_.state.RegisterScaleUp(lot.source, -count, shared_.executor.clock().Now());
    } else if (first.ok()) {
      first = answer.Context("group " + lot.source);
    }
  }
  parts_.state.InvalidateInstances(lot.source);
  parts_.state.RecalculateRanges();
  co_return first;
}

Task<Status> GroupSeller::Cancel(market::Outcome outcome) {
  Status first;
  for (const market::Lot& lot : outcome.lots) {
    if (lot.machines <= 0) continue;
    const Status answer = co_await GiveBack(lot, outcome.gang);
    if (first.ok() && !answer.ok()) first = answer;
    there_before_.erase({outcome.gang, lot.source});
  }
  co_return first;
}

bool GroupSeller::WasOrdered(const market::Outcome&, const market::Lot& lot) const {
  const auto target = shared_.groups.TargetSize(lot.source);
  return target.ok() && *target >= lot.after;
}

market::Delivery GroupSeller::Look(const market::Outcome& outcome,
                                   const std::vector<std::string>& taken) const {
  // API servers write whole seconds.
  const TimePoint since = std::chrono::floor<std::chrono::seconds>(outcome.ordered_at);
  const std::set<std::string_view> others(taken.begin(), taken.end());
  std::map<std::string, std::vector<const model::Node*>, std::less<>> fresh;  // by group
  for (const market::Lot& lot : outcome.lots) fresh[lot.source];
  std::vector<cluster::NodePtr> nodes;
  shared_.world.ForEachNode([&](const cluster::NodePtr& node) {
    const auto& created = node->metadata.creation_timestamp;
    if (!created || created->at < since || others.contains(node->metadata.name)) return;
    const auto group = parts_.owners.GroupOf(*node);
    const auto of = group ? fresh.find(*group) : fresh.end();
    if (of == fresh.end()) return;
    nodes.push_back(node);
    of->second.push_back(node.get());
  });
  std::map<std::string, int, std::less<>> upcoming;
  for (const GroupStates::Upcoming& one :
       parts_.state.UpcomingNodes(shared_.executor.clock().Now()))
    upcoming[one.group] = one.count;
  market::Delivery delivery;
  for (const market::Lot& lot : outcome.lots) {
    auto& here = fresh[lot.source];
    std::ranges::sort(here, [](const model::Node* a, const model::Node* b) {
      return std::tie(a->metadata.creation_timestamp, a->metadata.name) <
             std::tie(b->metadata.creation_timestamp, b->metadata.name);
    });
    const int wanted = lot.machines + lot.claimed;
    const int found = std::min<int>(wanted, static_cast<int>(here.size()));
    for (int i = 0; i < found; ++i) delivery.nodes.push_back(here[i]->metadata.name);
    const int coming = std::min(wanted - found, upcoming[lot.source]);
    delivery.coming += coming;
    delivery.lost += wanted - found - coming;
  }
  return delivery;
}

model::ResourceList GroupSeller::Stock(TimePoint now) const {
  std::map<std::string, int, std::less<>> upcoming;
  for (const GroupStates::Upcoming& one : parts_.state.UpcomingNodes(now))
    upcoming[one.group] = one.count;
  const int limit = shared_.options.limits.max_nodes_total;
  int room = limit > 0 ? std::max(0, limit - static_cast<int>(shared_.world.node_count())) : -1;
  model::ResourceList total;
  for (const cloud::GroupInfo& group : shared_.groups.Groups()) {
    const TemplatePtr node_template = parts_.templates.Find(group.id);
    const auto target = shared_.groups.TargetSize(group.id);
    if (node_template == nullptr || !target.ok()) continue;
    int machines = upcoming[group.id];
    if (parts_.state.SafeToScaleUp(group.id, now))
      machines += std::max(0, group.max_size - *target);
    if (room >= 0) {
      machines = std::min(machines, room);
      room -= machines;
    }
    if (machines <= 0) continue;
    for (const auto& [name, amount] : node_template->node.status.allocatable) {
      model::Quantity all = name == "cpu"
                                ? model::Quantity::FromMillis(amount.MilliValue() * machines)
                                : model::Quantity::FromUnits(amount.Value() * machines);
      total[name].Add(all);
    }
  }
  return total;
}

}  // namespace coppice::autoscale
