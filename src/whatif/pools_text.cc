// A plan for node pools, for people and for programs.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "report/explain.h"
#include "report/json_out.h"
#include "whatif/pools.h"
#include "wire/time_text.h"

namespace coppice::whatif {
namespace {

using provision::PodPtr;
using report::JsonOut;

constexpr size_t kPodsShown = 3;
constexpr size_t kStayingShown = 20;

std::string Counted(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string PodsInWords(const std::vector<PodPtr>& pods, bool whole) {
  std::vector<std::string> names;
  for (const PodPtr& pod : pods) {
    if (!whole && names.size() == kPodsShown) break;
    names.push_back(report::NameOf(*pod));
  }
  std::string text = Join(names, ", ");
  if (names.size() < pods.size()) text += fmt::format(" and {} more", pods.size() - names.size());
  return text;
}

std::string MachineInWords(const WouldBuy& machine) {
  return fmt::format("{} in {}, {}, {:.4f} an hour ({} would do), pool {}", machine.type,
                     machine.zone, machine.capacity_type, machine.price,
                     Counted(machine.type_count, "type"), machine.pool);
}

void TellBought(const PoolsPlan& plan, bool whole, std::string& out) {
  for (const PoolsPlan::Placed& placed : plan.placed) {
    out += fmt::format("  = {} takes {}: {}\n", placed.node, Counted(placed.pods.size(), "pod"),
                       PodsInWords(placed.pods, whole));
  }
  for (const WouldBuy& machine : plan.bought) {
    out += fmt::format("  + {}: {}\n      for {}: {}\n", machine.node, MachineInWords(machine),
                       Counted(machine.pods.size(), "pod"), PodsInWords(machine.pods, whole));
  }
  if (plan.placed.empty() && plan.bought.empty()) out += "  nothing to buy\n";
}

void TellMoves(const PoolsPlan& plan, bool whole, std::string& out) {
  out += "\nConsolidation, as if consolidateAfter were over\n";
  size_t number = 0;
  for (const PoolsPlan::Move& move : plan.moves) {
    out += fmt::format("  {}. {}: saves {:.4f} an hour\n", ++number, move.reason, move.savings);
    for (const PoolsPlan::Gone& gone : move.gone) {
      out += fmt::format("     - {} ({}, {:.4f} an hour, pool {}), {} move\n", gone.node,
                         gone.type.empty() ? "of a type that is not sold any more" : gone.type,
                         gone.price, gone.pool, Counted(gone.pods, "pod"));
    }
    for (const WouldBuy& machine : move.bought)
      out += fmt::format("     + {}: {}\n", machine.node, MachineInWords(machine));
  }
  if (plan.moves.empty()) out += "  nothing would go\n";
  if (!plan.settled) out += "  ... and more: the rest was not looked at\n";
  out += fmt::format("  {:.4f} an hour before, {:.4f} after\n", plan.cost_bought, plan.cost_after);
  if (plan.staying.empty()) return;
  out += "\nWhat stays, and why\n";
  size_t shown = 0;
  for (const PoolsPlan::Staying& staying : plan.staying) {
    if (!whole && shown++ == kStayingShown) {
      out += fmt::format("  ... and {} more (--whole)\n", plan.staying.size() - kStayingShown);
      break;
    }
    out += "  " + staying.node + ": " + staying.text + "\n";
  }
}

void WritePods(JsonOut& out, const std::vector<PodPtr>& pods) {
  out.Key("pods").Open('[');
  for (const PodPtr& pod : pods) out.Text(report::NameOf(*pod));
  out.Close(']');
}

void WriteMachines(JsonOut& out, std::string_view key, const std::vector<WouldBuy>& machines) {
  out.Key(key).Open('[');
  for (const WouldBuy& machine : machines) {
    out.Open('{').Field("node", machine.node).Field("pool", machine.pool);
    out.Field("type", machine.type).Field("zone", machine.zone);
    out.Field("capacityType", machine.capacity_type).Field("pricePerHour", machine.price);
    out.Field("typesThatWouldDo", machine.type_count);
    WritePods(out, machine.pods);
    out.Close('}');
  }
  out.Close(']');
}

void WriteMoves(JsonOut& out, const PoolsPlan& plan) {
  out.Key("moves").Open('[');
  for (const PoolsPlan::Move& move : plan.moves) {
    out.Open('{').Field("reason", move.reason).Field("decision", move.decision);
    out.Field("savesPerHour", move.savings).Key("gone").Open('[');
    for (const PoolsPlan::Gone& gone : move.gone) {
      out.Open('{').Field("node", gone.node).Field("pool", gone.pool).Field("type", gone.type);
      out.Field("pricePerHour", gone.price).Field("podsThatMove", gone.pods).Close('}');
    }
    out.Close(']');
    WriteMachines(out, "bought", move.bought);
    out.Close('}');
  }
  out.Close(']').Key("staying").Open('[');
  for (const PoolsPlan::Staying& staying : plan.staying)
    out.Open('{').Field("node", staying.node).Field("text", staying.text).Close('}');
  out.Close(']').Field("settled", plan.settled);
}

void WriteTexts(JsonOut& out, std::string_view key, const std::vector<std::string>& texts) {
  out.Key(key).Open('[');
  for (const std::string& text : texts) out.Text(text);
  out.Close(']');
}

}  // namespace

std::string AsText(const PoolsPlan& plan, bool whole) {
  std::string out = fmt::format(
      "Cluster  {}, {}, {} pending{}, as of {}\nPools    {}\n", Counted(plan.nodes, "node"),
      Counted(plan.pods, "pod"), plan.pending,
      plan.added > 0 ? fmt::format(" ({} of them added)", plan.added) : "",
      wire::FormatRfc3339(plan.now), plan.pools.empty() ? "none" : Join(plan.pools, ", "));
  for (const std::string& problem : plan.problems) out += "Problem  " + problem + "\n";
  for (const std::string& note : plan.notes) out += "Note     " + note + "\n";
  out += "\nFor the pods that wait\n";
  TellBought(plan, whole, out);
  if (!plan.refused.empty()) {
    out += fmt::format("\n{} that nothing helps\n", Counted(plan.refused.size(), "pod"));
    for (const PoolsPlan::Refused& refused : plan.refused)
      out += "  ! " + report::NameOf(*refused.pod) + ": " + refused.text + "\n";
  }
  out += fmt::format("\nCost     {:.4f} an hour now, {:.4f} with what is bought\n",
                     plan.cost_before, plan.cost_bought);
  if (plan.consolidated) TellMoves(plan, whole, out);
  return out;
}

std::string AsJson(const PoolsPlan& plan) {
  JsonOut out;
  out.Open('{').Field("now", wire::FormatRfc3339(plan.now)).Field("nodes", plan.nodes);
  out.Field("pods", plan.pods).Field("pending", plan.pending).Field("added", plan.added);
  WriteTexts(out, "pools", plan.pools);
  WriteTexts(out, "problems", plan.problems);
  WriteTexts(out, "notes", plan.notes);
  out.Key("placed").Open('[');
  for (const PoolsPlan::Placed& placed : plan.placed) {
    out.Open('{').Field("node", placed.node);
    WritePods(out, placed.pods);
    out.Close('}');
  }
  out.Close(']');
  WriteMachines(out, "bought", plan.bought);
  out.Key("refused").Open('[');
  for (const PoolsPlan::Refused& refused : plan.refused) {
    out.Open('{').Field("pod", report::NameOf(*refused.pod)).Field("text", refused.text);
    out.Close('}');
  }
  out.Close(']').Field("costPerHour", plan.cost_before);
  out.Field("costPerHourBought", plan.cost_bought);
  if (plan.consolidated) {
    out.Field("costPerHourAfter", plan.cost_after);
    WriteMoves(out, plan);
  }
  out.Close('}');
  return out.Take();
}

}  // namespace coppice::whatif
