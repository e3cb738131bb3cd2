#include "whatif/removal.h"

#include <algorithm>
#include <map>

#include "autoscale/drain_options.h"
#include "base/strings.h"
#include "drain/rules.h"
#include "drain/world_controllers.h"
#include "fit/search.h"
#include "model/resources.h"

namespace coppice::whatif {

namespace {

using Fate = RemovalAnswer::PodFate;
using drain::Outcome;

Fate Judge(const drain::Verdict& verdict, const report::PodPtr& pod, bool daemon) {
  switch (verdict.outcome) {
    case Outcome::kBlock:
      return {pod, Fate::Kind::kBlocks,
              std::string(drain::ToString(verdict.reason)) +
                  (verdict.text.empty() ? "" : ": " + verdict.text)};
    case Outcome::kWaitForCompletion:
      return {pod, Fate::Kind::kWaits, "is waited for: it asks to end by itself"};
    case Outcome::kSkip:
      return {pod, Fate::Kind::kStaysBehind,
              "goes with the node (" + std::string(verdict.rule) + ")"};
    case Outcome::kOk:
      if (daemon) return {pod, Fate::Kind::kStaysBehind, "goes with the node (DaemonSet)"};
      break;
    case Outcome::kUndefined:
      break;
  }
  return {pod, Fate::Kind::kMoves, ""};
}

std::string WhyNowhere(fit::Search& search, cluster::PodIndex pod, cluster::NodeIndex except) {
  std::map<std::string, int> counts;
  for (const cluster::NodeIndex node : search.snapshot().nodes()) {
    if (node == except) continue;
    const model::Verdict verdict = search.Check(pod, node);
    for (const std::string& reason : verdict.reasons()) ++counts[reason];
  }
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  return parts.empty() ? "there is no other node" : "no other node takes it: " + Join(parts, ", ");
}

}  // namespace

Result<RemovalAnswer> TryRemoval(const std::string& name, cluster::World& world,
                                 const fit::Chain& filters, const autoscale::DrainOptions& options,
                                 const autoscale::Deviations& deviations, TimePoint now) {
  const cluster::NodePtr node = world.FindNode(name);
  const cluster::NodeIndex index = world.snapshot().FindNode(name);
  if (node == nullptr || index == cluster::kNone) {
    std::vector<std::string> names;
    for (const auto& each : world.Nodes()) names.push_back(each->metadata.name);
    const std::string near = Nearest(name, names);
    return NotFound("--remove-node=" + name + ": the dump has no such node" +
                    (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  RemovalAnswer answer{.node = name, .drains = true};
  auto budgets = TRY(autoscale::BudgetsOf(deviations, world));
  const drain::WorldControllers controllers(world);
  const auto rules = drain::DefaultRules(autoscale::RuleOptionsFrom(options));
  const drain::Context context{budgets, &controllers, now};

  struct Moving {
    cluster::PodIndex index;
    size_t fate;
    int32_t priority;
  };
  std::vector<Moving> moving;
  std::vector<const model::Pod*> moved;
  for (const cluster::PodIndex pod : world.PodsInOrder(index)) {
    const cluster::World::PodEntry* entry = world.EntryOf(pod);
    if (entry == nullptr) continue;
    const drain::Verdict verdict = drain::JudgePod(rules, *entry->pod, context);
    Fate fate = Judge(verdict, entry->pod, verdict.rule == "DaemonSet");
    if (fate.kind == Fate::Kind::kBlocks) answer.drains = false;
    if (fate.kind == Fate::Kind::kMoves) {
      moving.push_back({pod, answer.pods.size(), model::PriorityOf(*entry->pod)});
      moved.push_back(entry->pod.get());
    }
    answer.pods.push_back(std::move(fate));
  }
  answer.at_once = budgets.CanRemove(moved).in_parallel;

  cluster::Snapshot& snapshot = world.snapshot();
  const auto fork = snapshot.Fork();
  const std::vector<cluster::PodIndex> all(snapshot.pods_on(index).begin(),
                                           snapshot.pods_on(index).end());
  for (const cluster::PodIndex pod : all) snapshot.Unplace(pod);
  fit::Search search(snapshot, filters);
  std::ranges::stable_sort(moving, std::greater<>(), &Moving::priority);
  for (const Moving& each : moving) {
    Fate& fate = answer.pods[each.fate];
    const cluster::NodeIndex to = search.Find(each.index, {.except = index});
    if (to == cluster::kNone) {
      fate.kind = Fate::Kind::kNoPlace;
      fate.text = WhyNowhere(search, each.index, index);
      continue;
    }
    snapshot.Place(each.index, to);
    fate.text = snapshot.node(to).name;
  }
  return answer;
}

}  // namespace coppice::whatif
