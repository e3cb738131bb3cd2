#include "report/explain.h"
#include "report/report_json.h"
#include "whatif/whatif_output.h"
#include "wire/time_text.h"

namespace coppice::whatif {

namespace {

using report::JsonOut;
using Fate = RemovalAnswer::PodFate;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

const char* NameOf(Fate::Kind kind) {
  switch (kind) {
    case Fate::Kind::kMoves:
      return "Moves";
    case Fate::Kind::kStaysBehind:
      return "EndsWithNode";
    case Fate::Kind::kWaits:
      return "WaitsForCompletion";
    case Fate::Kind::kBlocks:
      return "Blocks";
    case Fate::Kind::kNoPlace:
      return "NoPlace";
  }
  return "";
}

void WriteGroups(JsonOut& out, const WhatIfPlan& plan) {
  out.Key("groups").Open('[');
  for (size_t i = 0; i < plan.groups_before.size(); ++i) {
    const DumpGroups::Group& group = plan.groups_before[i];
    out.Open('{').Field("name", group.name).Field("min", group.min).Field("max", group.max);
    out.Field("size", group.target);
    out.Field("sizeAfter",
              i < plan.groups_after.size() ? plan.groups_after[i].target : group.target);
    out.Field("origin", group.origin).Close('}');
  }
  out.Close(']');
}

void WriteRemovals(JsonOut& out, const WhatIfPlan& plan) {
  out.Key("removeNode").Open('[');
  for (const RemovalAnswer& answer : plan.removals) {
    out.Open('{').Field("node", answer.node).Field("group", answer.group);
    out.Field("drains", answer.drains).Field("atOnce", answer.at_once).Key("pods").Open('[');
    for (const Fate& fate : answer.pods) {
      out.Open('{').Field("pod", report::NameOf(*fate.pod)).Field("fate", NameOf(fate.kind));
      out.Field(fate.kind == Fate::Kind::kMoves ? "node" : "text", fate.text).Close('}');
    }
    out.Close(']').Close('}');
  }
  out.Close(']');
}

void WriteSteps(JsonOut& out, const WhatIfPlan& plan) {
  out.Key("steps").Open('[');
  for (const WhatIfStep& step : plan.steps) {
    const report::ScaleUp& up = step.report->scale_up;
    out.Open('{').Field("afterSeconds", Seconds(step.after)).Key("bought").Open('[');
    for (const report::GroupResize& resize : step.bought) {
      out.Open('{').Field("group", resize.group).Field("from", resize.from);
      out.Field("to", resize.to).Field("max", resize.max).Close('}');
    }
    out.Close(']').Key("newNodes").Open('[');
    for (const std::string& node : step.new_nodes) out.Text(node);
    out.Close(']').Key("for").Open('[');
    for (const report::ScaleUp& round : step.report->earlier_rounds) {
      for (const auto& pod : round.triggered) out.Text(report::NameOf(*pod));
    }
    for (const auto& pod : up.triggered) out.Text(report::NameOf(*pod));
    out.Close(']').Key("compared").Open('[');
    for (const auto& option : up.options) {
      out.Open('{').Field("group", option.group).Field("nodes", option.nodes);
      out.Field("pods", option.pods).Close('}');
    }
    out.Close(']').Key("chosenBy").Open('[');
    for (const report::ExpanderStep& each : up.chosen_by) out.Text(report::Sentence(up, each));
    out.Close(']').Key("removed").Open('[');
    for (const report::RemovedNode& node : step.report->scale_down.removed)
      report::Write(out, node);
    out.Close(']').Close('}');
  }
  out.Close(']');
}

std::string_view NameOf(report::WaitingGang::State state) {
  using State = report::WaitingGang::State;
  switch (state) {
    case State::kWaits:
      return "waits";
    case State::kBlocked:
      return "blocked";
    case State::kRefused:
      return "refused";
    case State::kOrdered:
      return "ordered";
    case State::kHeld:
      return "held";
  }
  return "";
}

void WriteGangs(JsonOut& out, const GangsPlan& plan) {
  out.Key("startingGangs").Open('[');
  for (const GangsPlan::Starting& one : plan.starting)
    out.Open('{')
        .Field("gang", one.gang)
        .Field("pods", one.pods)
        .Field("nodes", one.nodes)
        .Close('}');
  out.Close(']').Key("gangs").Open('[');
  for (const report::WaitingGang& gang : plan.waiting) {
    out.Open('{').Field("gang", gang.gang).Field("queue", gang.queue);
    out.Field("state", NameOf(gang.state)).Field("admitted", gang.admitted);
    out.Field("placed", gang.placed).Field("needed", gang.min_available);
    out.Field("withRoom", gang.with_room).Field("why", gang.why).Key("machines").Open('[');
    for (const report::WaitingGang::Lot& lot : gang.lots) {
      out.Open('{').Field("seller", lot.seller).Field("group", lot.source);
      out.Field("count", lot.machines).Field("onTheirWay", lot.claimed).Close('}');
    }
    out.Close(']');
    if (gang.price_per_hour) out.Field("pricePerHour", *gang.price_per_hour);
    out.Key("refusals").Open('[');
    for (const std::string& refusal : gang.refusals) out.Text(refusal);
    out.Close(']').Close('}');
  }
  out.Close(']');
}

}  // namespace

std::string AsJson(const WhatIfPlan& plan) {
  JsonOut out;
  out.Open('{').Field("asOf", wire::FormatRfc3339(plan.now));
  out.Field("nodes", plan.nodes).Field("pods", plan.pods).Field("pending", plan.pending);
  out.Field("unscheduled", plan.unscheduled).Field("added", plan.added);
  out.Field("groupsFrom", plan.groups_how);
  WriteGroups(out, plan);
  out.Key("notes").Open('[');
  for (const std::string& note : plan.notes) out.Text(note);
  out.Close(']');
  WriteRemovals(out, plan);
  out.Key("fitting").Open('[');
  for (const report::FittingPod& fitting : plan.fitting) {
    out.Open('{').Field("pod", report::NameOf(*fitting.pod)).Field("node", fitting.node).Close('}');
  }
  out.Close(']');
  if (plan.gangs) WriteGangs(out, *plan.gangs);
  WriteSteps(out, plan);
  out.Field("passes", plan.passes).Field("simulatedSeconds", Seconds(plan.took));
  out.Field("settled", plan.settled).Field("everybodyHelped", plan.everybody_helped());
  if (plan.last != nullptr) {
    out.Key("last");
    report::Write(out, *plan.last);
  }
  out.Close('}');
  return out.Take();
}

}  // namespace coppice::whatif
