#include "test/simulation/gangs_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "market/intent.h"
#include "model/resources.h"

namespace coppice::simulation {
namespace {

using std::chrono::minutes;

// A hold ends when its time has come. Somebody has to see it, and may be away, blind or refused
// meanwhile.
constexpr Duration kHoldGrace = minutes(25);
// Sessions have a say about every gang; pods and groups come one after the other.
constexpr Duration kReasonGrace = minutes(5);
constexpr Duration kBlindFor = minutes(3);

int64_t CpuOf(const model::Pod& pod) {
  const auto requests = model::RequestList(pod);
  const auto cpu = requests.find("cpu");
  return cpu == requests.end() ? 0 : cpu->second.MilliValue();
}

bool IsThere(const model::Pod& pod) {
  return pod.status.phase != "Succeeded" && pod.status.phase != "Failed";
}

}  // namespace

GangRules::GangRules(sim::Model& model, const whatif::GangLoad& load,
                     const std::vector<whatif::GangQueue>& queues, Broken broken)
    : model_(model), load_(load), broken_(std::move(broken)) {
  for (const whatif::GangQueue& queue : queues) {
    if (queue.most_cores > 0) most_millis_[queue.name] = queue.most_cores * 1000;
  }
  sim::Api::Hooks& hooks = model_.api.hooks;
  hooks.bound = [this](const model::Pod& pod, const std::string& node) { Bound(pod, node); };
  hooks.bound_twice = [this](const model::Pod& pod, const std::string& node) {
    Break("pod " + pod.metadata.name + " is on " + pod.spec.node_name + " and was to be bound to " +
          node);
  };
  // With the plug-in pdb whoever has to go is evicted, and the API server asks the budgets. Jobs
  // delete their own.
  hooks.deleted = [this](const model::Pod& pod) {
    const whatif::PlayedGang* gang = load_.Of(pod);
    if (gang != nullptr && !gang->as_job && !pod.spec.node_name.empty())
      Break("pod " + pod.metadata.name + " was deleted without asking its budget");
  };
}

void GangRules::ViewIsStale(bool stale) {
  stale_ = stale;
  if (!stale) stale_until_ = model_.agenda.Now();
}

bool GangRules::BlindLately() const {
  return stale_ || (stale_until_ && model_.agenda.Now() < *stale_until_ + kBlindFor);
}

void GangRules::Bound(const model::Pod& pod, const std::string& node) {
  const whatif::PlayedGang* gang = load_.Of(pod);
  if (gang == nullptr) return;
  ++counts_.placements;
  if (gang->hopeless) Break("a pod of " + gang->name + ", which cannot start, was bound");
  CheckRoom(node);
  CheckCapability(gang->queue);
}

void GangRules::CheckRoom(const std::string& node) {
  const sim::NodePtr object = model_.cluster.objects().FindNode(node);
  if (object == nullptr) {
    if (!BlindLately()) Break("a pod was bound to " + node + ", which is not there");
    return;
  }
  model::ResourceList used;
  int64_t pods = 0;
  for (const auto* entry : model_.cluster.objects().BoundTo(node)) {
    if (!IsThere(*entry->pod)) continue;
    ++pods;
    for (const auto& [name, amount] : model::RequestList(*entry->pod)) used[name].Add(amount);
  }
  used["pods"] = model::Quantity::FromUnits(pods);
  for (const auto& [name, amount] : used) {
    const auto room = object->status.allocatable.find(name);
    if (room == object->status.allocatable.end() || amount.Compare(room->second) <= 0) continue;
    // Others place pods, too, and who is blind does not see them.
    if (!BlindLately())
      Break(fmt::format("node {} has more {} on it than it has room for", node, name));
  }
}

void GangRules::CheckCapability(const std::string& queue) {
  const auto most = most_millis_.find(queue);
  if (most == most_millis_.end()) return;
  int64_t millis = 0;
  for (const auto* entry : model_.cluster.objects().Pods()) {
    const model::Pod& pod = *entry->pod;
    if (pod.spec.node_name.empty() || pod.metadata.deletion_timestamp || !IsThere(pod)) continue;
    const whatif::PlayedGang* gang = load_.Of(pod);
    if (gang != nullptr && gang->queue == queue) millis += CpuOf(pod);
  }
  if (millis > most->second)
    Break(fmt::format("queue {} has {} millicores, its capability is {}", queue, millis,
                      most->second));
}

const whatif::PlayedGang* GangRules::GangOf(const std::string& pod_key) const {
  const size_t slash = pod_key.find('/');
  const sim::PodPtr pod =
      model_.cluster.objects().FindPod(pod_key.substr(0, slash), pod_key.substr(slash + 1));
  return pod == nullptr ? nullptr : load_.Of(*pod);
}

// As the scheduler believes: what it has decided, and the watch has not shown yet, is in there.
int GangRules::PlacedIn(const batch::Scheduler& scheduler, const whatif::PlayedGang& gang) const {
  int placed = 0;
  for (int i = 0; i < gang.size; ++i) {
    const auto pod = scheduler.engine().world().FindPod(whatif::GangLoad::kNamespace,
                                                        fmt::format("{}-w-{}", gang.name, i));
    placed += pod != nullptr && !pod->spec.node_name.empty() && !pod->metadata.deletion_timestamp;
  }
  return placed;
}

void GangRules::AfterSession(const report::SessionReport& report,
                             const batch::Scheduler& scheduler) {
  last_session_ = model_.agenda.Now();
  counts_.not_carried_out += report.refused.size();
  std::set<const whatif::PlayedGang*> started, robbed;
  std::map<const whatif::PlayedGang*, int> lost;
  for (const auto& placement : report.placements) {
    if (const auto* gang = GangOf(placement.pod)) started.insert(gang);
  }
  for (const auto& eviction : report.evictions) {
    ++counts_.evictions;
    if (const auto* gang = GangOf(eviction.pod)) {
      robbed.insert(gang);
      ++lost[gang];
    }
  }
  for (const whatif::PlayedGang* gang : started) {
    const int placed = PlacedIn(scheduler, *gang);
    if (placed < gang->min)
      Break(fmt::format("{} was started with {} of {} pods", gang->name, placed, gang->min));
  }
  // The plug-in gang: nobody is taken from a gang that needs him.
  for (const whatif::PlayedGang* gang : robbed) {
    const int placed = PlacedIn(scheduler, *gang);
    if (placed < gang->min && placed + lost[gang] >= gang->min)
      Break(fmt::format("{} was left with {} of {} pods", gang->name, placed, gang->min));
  }
  explained_.clear();
  for (const auto& gang : report.gangs) {
    if (!gang.why.empty() || !gang.session.empty()) explained_.insert(gang.gang);
  }
  for (const auto& waiting : report.waiting) {
    if (!waiting.why.empty()) explained_.insert(waiting.job);
  }
  if (!report.error.empty())
    for (const auto& [name, gang] : load_.gangs()) explained_.insert(load_.GroupOf(gang));
}

void GangRules::Heard(const cluster::Event& event) {
  if (event.kind != "PodGroup") return;
  if (event.reason == "NotTriggerScaleUp") ++counts_.refusals;
  if (event.reason == "HoldRanOut") ++counts_.holds_run_out;
  if (event.reason == "FailedToScaleUp") ++counts_.orders_failed;
  if (event.reason != "TriggeredScaleUp") return;
  ++counts_.purchases;
  const std::string group = event.namespace_ + "/" + event.name;
  for (const auto& [name, gang] : load_.gangs()) {
    if (load_.GroupOf(gang) != group) continue;
    if (gang.hopeless) Break("machines were bought for " + name + ", which cannot start");
    if (extender_down_ && gang.asks)
      Break("machines were bought for " + name + " while whoever has to be asked was away");
  }
}

std::vector<std::string> GangRules::Held() const {
  std::vector<std::string> held;
  for (const sim::NodePtr& node : model_.cluster.objects().Nodes()) {
    if (std::ranges::any_of(node->spec.taints, [](const model::Taint& taint) {
          return taint.key == market::kHeldForTaint;
        }))
      held.push_back("node " + node->metadata.name);
  }
  model_.cluster.objects().objects<model::PodGroup>().ForEach([&](const auto& group) {
    if (group->metadata.annotations.Find(market::kIntentAnnotation) != nullptr)
      held.push_back("group " + group->metadata.name);
  });
  return held;
}

// A node is held for a gang that is there and whose hold has not run out.
void GangRules::CheckHolds() {
  const TimePoint now = model_.agenda.Now();
  std::set<std::string> rightful;  // values of the taint
  std::set<std::string> wrong;
  model_.cluster.objects().objects<model::PodGroup>().ForEach([&](const auto& group) {
    const std::string* text = group->metadata.annotations.Find(market::kIntentAnnotation);
    if (text == nullptr) return;
    const auto intent = market::ParseIntent(*text);
    const std::string id = group->metadata.namespace_ + "/" + group->metadata.name;
    if (intent.ok() && now <= intent->until) {
      rightful.insert(market::HoldValue(id));
    } else {
      wrong.insert("group " + group->metadata.name);
    }
  });
  counts_.held_nodes = 0;
  for (const sim::NodePtr& node : model_.cluster.objects().Nodes()) {
    for (const model::Taint& taint : node->spec.taints) {
      if (taint.key != market::kHeldForTaint) continue;
      ++counts_.held_nodes;
      if (!rightful.contains(taint.value)) wrong.insert("node " + node->metadata.name);
    }
  }
  std::erase_if(overdue_, [&](const auto& entry) { return !wrong.contains(entry.first); });
  for (const std::string& what : wrong) {
    const TimePoint since = overdue_.try_emplace(what, now).first->second;
    if (now - since > kHoldGrace)
      Break(fmt::format("{} is held for {} minutes too long", what, (now - since) / minutes(1)));
  }
}

void GangRules::CheckReasons() {
  const TimePoint now = model_.agenda.Now();
  std::set<std::string> silent;
  for (const auto& [name, gang] : load_.gangs()) {
    if (gang.started || load_.BoundOf(gang) >= gang.min) continue;
    if (!explained_.contains(load_.GroupOf(gang))) silent.insert(name);
  }
  std::erase_if(reasonless_, [&](const auto& entry) { return !silent.contains(entry.first); });
  for (const std::string& name : silent) {
    const TimePoint since = reasonless_.try_emplace(name, now).first->second;
    // A new process says nothing before its first session; one that is blind knows of nobody new.
    if (now - since > kReasonGrace && !BlindLately() && now - restarted_ > kReasonGrace)
      Break(fmt::format("{} waits for {} minutes and nobody says why", name,
                        (now - since) / minutes(1)));
  }
}

void GangRules::Look() {
  CheckHolds();
  CheckReasons();
  if (model_.agenda.Now() - last_session_ > minutes(10)) Break("no session for ten minutes");
}

}  // namespace coppice::simulation
