#include "whatif/pools_removal.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "drain/pdb_tracker.h"
#include "model/node_claim.h"
#include "provision/disruption/candidate.h"
#include "report/explain.h"

namespace coppice::whatif {
namespace {

using provision::PodPtr;
using PodFate = RemovalAnswer::PodFate;

// What keeps this pod where it is; empty: nothing does.
std::string WhatKeeps(const model::Pod& pod, const provision::PodBudgets& budgets, TimePoint now) {
  if (!provision::IsDisruptable(pod, now))
    return "it may not be disturbed: " + std::string(model::karpenter::kDoNotDisruptAnnotation);
  const std::vector<std::string> blocking = budgets.BlockingNow(pod, now);
  if (blocking.empty()) return "";
  return "no eviction is allowed now: PodDisruptionBudget " + Join(blocking, ", ");
}

// Why pools would not touch the machine itself; empty if they would, or if it is none of theirs.
std::string WhyMachineStays(const provision::DisruptionWorld& world,
                            const provision::PodBudgets& budgets, size_t index) {
  if (world.machines[index].claim == nullptr) return "";
  provision::DisruptionEvents events;
  const auto list =
      provision::FindCandidates(world, budgets, provision::DisruptionClass::kGraceful, {}, events);
  const auto is_it = [index](const provision::Candidate& one) { return one.machine == index; };
  if (std::ranges::any_of(list.candidates, is_it)) return "";
  for (const provision::DisruptionEvent& event : events)
    if (event.machine == index) return event.text;
  return "it is being taken away already";
}

struct Judged {
  RemovalAnswer answer;
  std::vector<PodPtr> moving;
};

Judged JudgeRemoval(const provision::DisruptionWorld& world, const provision::PodBudgets& budgets,
                    const drain::PdbTracker& tracker, size_t index) {
  const std::string* pool = world.solver.nodes[index].labels().Find(model::kNodePoolLabel);
  Judged judged{.answer = {.node = world.solver.nodes[index].name(),
                           .group = pool == nullptr ? "" : *pool,
                           .drains = true}};
  RemovalAnswer& answer = judged.answer;
  std::vector<const model::Pod*> moving;
  for (const PodPtr& pod : world.machines[index].pods) {
    if (provision::IsTerminal(*pod)) continue;
    PodFate fate{.pod = pod};
    if (std::string why = WhatKeeps(*pod, budgets, world.now); !why.empty()) {
      fate.kind = PodFate::Kind::kBlocks;
      fate.text = std::move(why);
      answer.drains = false;
    } else if (!provision::IsReschedulable(*pod)) {
      fate.kind = PodFate::Kind::kStaysBehind;
      fate.text = "goes with the node";
    } else {
      judged.moving.push_back(pod);
      moving.push_back(pod.get());
    }
    answer.pods.push_back(std::move(fate));
  }
  answer.at_once = tracker.CanRemove(moving).in_parallel;
  if (answer.drains) answer.why = WhyMachineStays(world, budgets, index);
  if (!answer.why.empty()) answer.drains = false;
  // Places are looked for only for pods of a node that goes.
  for (PodFate& fate : answer.pods) {
    if (!answer.drains && fate.kind == PodFate::Kind::kMoves)
      fate.text = "another node, if this went";
  }
  return judged;
}

}  // namespace

Result<std::vector<RemovalAnswer>> RemoveNodes(PoolsScene& scene,
                                               const std::vector<std::string>& names) {
  std::vector<RemovalAnswer> answers;
  if (names.empty()) return answers;
  const provision::DisruptionWorld world = scene.World();
  const provision::PodBudgets budgets(world.budgets);
  const auto tracker = TRY(drain::PdbTracker::Create(world.budgets));
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(world.solver.nodes, [&](const auto& state) {
      return state.node != nullptr && state.node->metadata.name == name;
    });
    if (found == world.solver.nodes.end()) continue;
    const auto index = static_cast<size_t>(found - world.solver.nodes.begin());
    Judged judged = JudgeRemoval(world, budgets, tracker, index);
    if (judged.answer.drains) scene.Remove(name, judged.moving);
    answers.push_back(std::move(judged.answer));
  }
  return answers;
}

void SayWhereTheyWent(PoolsPlan& plan) {
  if (plan.removals.empty()) return;
  std::map<std::string, PodFate> told;
  for (const PoolsPlan::Placed& placed : plan.placed)
    for (const PodPtr& pod : placed.pods) told[report::NameOf(*pod)].text = placed.node;
  for (const WouldBuy& bought : plan.bought)
    for (const PodPtr& pod : bought.pods)
      told[report::NameOf(*pod)].text = "a new " + bought.type + " in " + bought.zone;
  for (const PoolsPlan::Refused& refused : plan.refused)
    told[report::NameOf(*refused.pod)] = {.kind = PodFate::Kind::kNoPlace, .text = refused.text};
  for (RemovalAnswer& removal : plan.removals) {
    for (PodFate& fate : removal.pods) {
      const auto found = told.find(report::NameOf(*fate.pod));
      if (fate.kind != PodFate::Kind::kMoves || found == told.end()) continue;
      fate.kind = found->second.kind;
      fate.text = found->second.text;
    }
  }
}

}  // namespace coppice::whatif
