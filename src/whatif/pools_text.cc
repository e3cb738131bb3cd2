// A plan for node pools, for people and for programs.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "report/explain.h"
#include "report/json_out.h"
#include "whatif/pools.h"
#include "whatif/shortened.h"
#include "wire/time_text.h"

namespace coppice::whatif {
namespace {

using provision::PodPtr;
using report::JsonOut;

constexpr size_t kPodsShown = 3;    // of one machine
constexpr size_t kLinesShown = 20;  // of a section

std::string PodsInWords(const std::vector<PodPtr>& pods, bool whole) {
  const Shortened shown(pods.size(), kPodsShown, whole);
  std::vector<std::string> names;
  for (size_t i = 0; i < shown.shown(); ++i) names.push_back(report::NameOf(*pods[i]));
  std::string text = Join(names, ", ");
  if (names.size() < pods.size()) text += fmt::format(" and {} more", pods.size() - names.size());
  return text;
}

std::string MachineInWords(const WouldBuy& machine) {
  return fmt::format("{} in {}, {}, {:.4f} an hour ({} would do), pool {}", machine.type,
                     machine.zone, machine.capacity_type, machine.price,
                     Count(machine.type_count, "type"), machine.pool);
}

void TellBought(const PoolsPlan& plan, bool whole, std::string& out) {
  const Shortened there(plan.placed.size(), kLinesShown, whole);
  for (size_t i = 0; i < there.shown(); ++i) {
    const PoolsPlan::Placed& placed = plan.placed[i];
    out += fmt::format("  = {} takes {}: {}\n", placed.node, Count(placed.pods.size(), "pod"),
                       PodsInWords(placed.pods, whole));
  }
  out += there.Rest("  = ", "node");
  const Shortened bought(plan.bought.size(), kLinesShown, whole);
  for (size_t i = 0; i < bought.shown(); ++i) {
    const WouldBuy& machine = plan.bought[i];
    out += fmt::format("  + {}: {}\n      for {}: {}\n", machine.node, MachineInWords(machine),
                       Count(machine.pods.size(), "pod"), PodsInWords(machine.pods, whole));
  }
  out += bought.Rest("  + ", "machine");
  if (plan.placed.empty() && plan.bought.empty()) out += "  nothing to buy\n";
}

void TellRefused(const PoolsPlan& plan, bool whole, std::string& out) {
  if (plan.refused.empty()) return;
  out += fmt::format("\n{} that nothing helps\n", Count(plan.refused.size(), "pod"));
  const Shortened refused(plan.refused.size(), kLinesShown, whole);
  for (size_t i = 0; i < refused.shown(); ++i)
    out += "  ! " + report::NameOf(*plan.refused[i].pod) + ": " + plan.refused[i].text + "\n";
  out += refused.Rest("  ! ", "pod");
}

void TellMove(const PoolsPlan::Move& move, size_t number, bool whole, std::string& out) {
  out += fmt::format("  {}. {}: saves {:.4f} an hour\n", number, move.reason, move.savings);
  const Shortened gone(move.gone.size(), kLinesShown, whole);
  for (size_t i = 0; i < gone.shown(); ++i) {
    const PoolsPlan::Gone& one = move.gone[i];
    out += fmt::format("     - {} ({}, {:.4f} an hour, pool {}), {} move\n", one.node,
                       one.type.empty() ? "of a type that is not sold any more" : one.type,
                       one.price, one.pool, Count(one.pods, "pod"));
  }
  out += gone.Rest("     - ", "machine");
  const Shortened bought(move.bought.size(), kLinesShown, whole);
  for (size_t i = 0; i < bought.shown(); ++i)
    out += fmt::format("     + {}: {}\n", move.bought[i].node, MachineInWords(move.bought[i]));
  out += bought.Rest("     + ", "machine");
}

void TellMoves(const PoolsPlan& plan, bool whole, std::string& out) {
  out += "\nConsolidation, as if consolidateAfter were over\n";
  const Shortened moves(plan.moves.size(), kLinesShown, whole);
  for (size_t i = 0; i < moves.shown(); ++i) TellMove(plan.moves[i], i + 1, whole, out);
  out += moves.Rest("  ", "move");
  if (plan.moves.empty()) out += "  nothing would go\n";
  if (!plan.settled) out += "  ... and more: the rest was not looked at\n";
  out += fmt::format("  {:.4f} an hour before, {:.4f} after\n", plan.cost_bought, plan.cost_after);
  if (plan.staying.empty()) return;
  out += "\nWhat stays, and why\n";
  const Shortened staying(plan.staying.size(), kLinesShown, whole);
  for (size_t i = 0; i < staying.shown(); ++i)
    out += "  " + plan.staying[i].node + ": " + plan.staying[i].text + "\n";
  out += staying.Rest("  ", "line");
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
      "Cluster  {}, {}, {} pending{}, as of {}\nPools    {}\n", Count(plan.nodes, "node"),
      Count(plan.pods, "pod"), plan.pending,
      plan.added > 0 ? fmt::format(" ({} of them added)", plan.added) : "",
      wire::FormatRfc3339(plan.now), plan.pools.empty() ? "none" : Join(plan.pools, ", "));
  for (const std::string& problem : plan.problems) out += "Problem  " + problem + "\n";
  for (const std::string& note : plan.notes) out += "Note     " + note + "\n";
  out += "\nFor the pods that wait\n";
  TellBought(plan, whole, out);
  TellRefused(plan, whole, out);
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
