// The answer to a live what-if, for the dashboard and for programs (web/assets/openapi.yaml has it).

#include <algorithm>
#include <map>
#include <set>

#include "report/batch_text.h"
#include "report/explain.h"
#include "report/json_out.h"
#include "whatif/live.h"
#include "whatif/shortened.h"

namespace coppice::whatif {
namespace {

using report::JsonOut;

int64_t SecondsOf(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

double CostOf(const std::vector<DumpGroups::Group>& groups) {
  double cost = 0;
  for (const DumpGroups::Group& group : groups)
    cost += group.price_per_hour.value_or(0) * group.target;
  return cost;
}

double CostNow(const LiveSide& side) {
  return (side.groups ? CostOf(side.groups->groups_before) : 0) +
         (side.pools ? side.pools->cost_before : 0);
}

double CostAfter(const LiveSide& side) {
  return (side.groups ? CostOf(side.groups->groups_after) : 0) +
         (side.pools ? side.pools->cost_after : 0);
}

void WriteGroupRows(JsonOut& out, const WhatIfPlan& without, const WhatIfPlan& with) {
  for (size_t i = 0; i < with.groups_after.size(); ++i) {
    const DumpGroups::Group& before = without.groups_before[i];
    out.Open('{').Field("kind", "group").Field("group", before.name).Field("now", before.target);
    out.Field("max", with.groups_before[i].max).Field("without", without.groups_after[i].target);
    out.Field("with", with.groups_after[i].target);
    out.Field("price", before.price_per_hour.value_or(0)).Close('}');
  }
}

void WritePoolRows(JsonOut& out, const PoolsPlan& without, const PoolsPlan& with) {
  std::set<std::string> names(with.pools.begin(), with.pools.end());
  for (const auto& [name, machines] : without.machines) names.insert(name);
  const auto of = [](const PoolsPlan& plan, const std::string& name) {
    const auto found = plan.machines.find(name);
    return found == plan.machines.end() ? PoolsPlan::Machines() : found->second;
  };
  for (const std::string& name : names) {
    out.Open('{').Field("kind", "pool").Field("group", name);
    out.Field("now", of(without, name).before).Field("without", of(without, name).after);
    out.Field("with", of(with, name).after).Close('}');
  }
}

// Pods of one reason together.
void WriteRefused(JsonOut& out, const PoolsPlan& plan) {
  std::map<std::string, std::vector<report::PodPtr>> by_text;
  for (const PoolsPlan::Refused& refused : plan.refused)
    by_text[refused.text].push_back(refused.pod);
  for (const auto& [text, pods] : by_text) {
    out.Open('{').Field("pods", pods.size()).Field("names", report::Names(pods));
    out.Field("why", text).Close('}');
  }
}

// What node pools said of the first of them that they refused; "" if of none.
std::string SaidByPools(const PoolsPlan& plan, const std::vector<report::PodPtr>& pods) {
  for (const report::PodPtr& pod : pods) {
    const auto said = std::ranges::find(plan.refused, report::NameOf(*pod),
                                        [](const auto& one) { return report::NameOf(*one.pod); });
    if (said != plan.refused.end()) return "; node pools: " + said->text;
  }
  return "";
}

// Who is left without a node in the end. Pods that pools refuse have been offered to the groups, if
// there are any.
void WriteUnhelped(JsonOut& out, std::string_view key, const LiveSide& side) {
  out.Key(key).Open('[');
  if (!side.groups) {
    WriteRefused(out, *side.pools);
    out.Close(']');
    return;
  }
  const report::ScaleUp& up = side.groups->about_pods();
  for (const auto* list : {&up.unhelped, &up.unserved}) {
    for (const report::Unhelped& unhelped : *list) {
      out.Open('{').Field("pods", unhelped.pods.size());
      out.Field("names", report::Names(unhelped.pods));
      out.Field("why", report::ReasonCounts(up.result, unhelped, up.considered_groups) +
                           (side.pools ? SaidByPools(*side.pools, unhelped.pods) : ""));
      if (!unhelped.misses.empty()) out.Field("nearest", report::Sentence(unhelped.misses.front()));
      out.Close('}');
    }
  }
  out.Close(']');
}

std::string_view WordOfFate(RemovalAnswer::PodFate::Kind kind) {
  using Kind = RemovalAnswer::PodFate::Kind;
  switch (kind) {
    case Kind::kMoves:
      return "moves";
    case Kind::kStaysBehind:
      return "staysBehind";
    case Kind::kWaits:
      return "waits";
    case Kind::kBlocks:
      return "blocks";
    case Kind::kNoPlace:
      return "noPlace";
  }
  return "";
}

void WriteLiveRemovals(JsonOut& out, const std::vector<RemovalAnswer>& removals) {
  for (const RemovalAnswer& removal : removals) {
    out.Open('{').Field("node", removal.node).Field("group", removal.group);
    out.Field("drains", removal.drains).Field("atOnce", removal.at_once);
    if (!removal.why.empty()) out.Field("why", removal.why);
    out.Key("pods").Open('[');
    for (const RemovalAnswer::PodFate& fate : removal.pods) {
      out.Open('{').Field("pod", report::NameOf(*fate.pod)).Field("fate", WordOfFate(fate.kind));
      out.Field("text", fate.text).Close('}');
    }
    out.Close(']').Close('}');
  }
}

void WriteBought(JsonOut& out, const std::string& group, int64_t from, int64_t to) {
  out.Open('{').Field("group", group).Field("from", from).Field("to", to).Close('}');
}

// One purchase or move of pools; `sizes` is what each pool has, before and then after it.
void WritePoolStep(JsonOut& out, const std::vector<WouldBuy>& bought,
                   const std::vector<PoolsPlan::Gone>& gone,
                   std::map<std::string, int64_t>& sizes) {
  std::map<std::string, int64_t> more;
  for (const WouldBuy& machine : bought) ++more[machine.pool];
  out.Open('{').Field("afterSeconds", 0).Key("bought").Open('[');
  for (const auto& [pool, count] : more) {
    WriteBought(out, pool, sizes[pool], sizes[pool] + count);
    sizes[pool] += count;
  }
  out.Close(']').Key("removed").Open('[');
  for (const PoolsPlan::Gone& machine : gone) {
    out.Text(machine.node);
    --sizes[machine.pool];
  }
  out.Close(']').Close('}');
}

void WritePoolSteps(JsonOut& out, const PoolsPlan& plan) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [pool, machines] : plan.machines) sizes[pool] = machines.before;
  for (const RemovalAnswer& removal : plan.removals)
    if (removal.drains) --sizes[removal.group];
  if (!plan.bought.empty()) WritePoolStep(out, plan.bought, {}, sizes);
  for (const PoolsPlan::Move& move : plan.moves) WritePoolStep(out, move.bought, move.gone, sizes);
}

void WriteLiveSteps(JsonOut& out, std::string_view key, const LiveSide& side) {
  out.Key(key).Open('[');
  if (side.pools) WritePoolSteps(out, *side.pools);
  if (side.groups) {
    for (const WhatIfStep& step : side.groups->steps) {
      out.Open('{').Field("afterSeconds", SecondsOf(step.after)).Key("bought").Open('[');
      for (const report::GroupResize& resize : step.bought)
        WriteBought(out, resize.group, resize.from, resize.to);
      out.Close(']').Key("removed").Open('[');
      for (const report::RemovedNode& node : step.report->scale_down.removed) out.Text(node.node);
      out.Close(']').Close('}');
    }
  }
  out.Close(']');
}

void WriteLiveGangs(JsonOut& out, std::string_view key, const LiveSide& side) {
  if (!side.groups || !side.groups->gangs) return;
  out.Key(key).Open('[');
  for (const GangsPlan::Starting& gang : side.groups->gangs->starting) {
    out.Open('{').Field("gang", gang.gang).Field("starts", true);
    out.Field("text", Count(gang.pods, "pod") + " on " + Count(gang.nodes, "node")).Close('}');
  }
  for (const report::WaitingGang& gang : side.groups->gangs->waiting) {
    out.Open('{').Field("gang", gang.gang).Field("starts", false);
    out.Field("text", report::GangText(gang)).Close('}');
  }
  out.Close(']');
}

// Of whichever engine has counted: with both it is the groups', before pools were asked.
void WriteCounts(JsonOut& out, const LiveSide& with) {
  const TimePoint now = with.groups ? with.groups->now : with.pools->now;
  out.Field("at", SecondsOf(now.time_since_epoch()));
  out.Field("nodes", with.groups ? with.groups->nodes : with.pools->nodes);
  out.Field("pending",
            with.groups ? with.groups->pending + with.groups->unscheduled : with.pools->pending);
  out.Field("added", with.groups ? with.groups->added : with.pools->added);
}

bool EverybodyHelped(const LiveSide& side) {
  if (side.pools && !std::ranges::all_of(side.pools->removals, &RemovalAnswer::drains))
    return false;
  return side.groups ? side.groups->everybody_helped() : side.pools->refused.empty();
}

}  // namespace

std::string AsJson(const LiveAnswer& answer) {
  const auto& [without, with, notes] = answer;
  JsonOut out;
  out.Open('{');
  WriteCounts(out, with);
  out.Field("helps", EverybodyHelped(with)).Key("groups").Open('[');
  if (with.groups) WriteGroupRows(out, *without.groups, *with.groups);
  if (with.pools) WritePoolRows(out, *without.pools, *with.pools);
  out.Close(']').Key("cost").Open('{').Field("now", CostNow(without));
  out.Field("without", CostAfter(without)).Field("with", CostAfter(with)).Close('}');
  WriteUnhelped(out, "unhelpedWithout", without);
  WriteUnhelped(out, "unhelped", with);
  out.Key("removals").Open('[');
  if (with.pools) WriteLiveRemovals(out, with.pools->removals);
  if (with.groups) WriteLiveRemovals(out, with.groups->removals);
  out.Close(']');
  WriteLiveSteps(out, "stepsWithout", without);
  WriteLiveSteps(out, "steps", with);
  WriteLiveGangs(out, "gangsWithout", without);
  WriteLiveGangs(out, "gangs", with);
  out.Key("notes").Open('[');
  if (with.groups)
    for (const std::string& note : with.groups->notes) out.Text(note);
  for (const std::string& note : notes) out.Text(note);
  out.Close(']').Field(
      "settled", (!with.groups || with.groups->settled) && (!with.pools || with.pools->settled));
  out.Field("tookSeconds", with.groups ? SecondsOf(with.groups->took) : 0);
  return out.Close('}').Take();
}

}  // namespace coppice::whatif
