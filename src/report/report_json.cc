#include "report/report_json.h"

#include <algorithm>
#include <chrono>

#include "report/explain.h"

namespace coppice::report {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

double Seconds(Duration duration) {
  return static_cast<double>(duration.count()) / static_cast<double>(kNanosPerSecond);
}

void WriteNames(JsonOut& out, std::string_view key, const std::vector<std::string>& names) {
  out.Key(key).Open('[');
  for (const std::string& name : names) out.Text(name);
  out.Close(']');
}

void WritePods(JsonOut& out, std::string_view key, const std::vector<PodPtr>& pods) {
  out.Key(key).Open('[');
  for (const PodPtr& pod : pods) out.Text(NameOf(*pod));
  out.Close(']');
}

template <class List, class Each>
void WriteList(JsonOut& out, std::string_view key, const List& list, Each each) {
  out.Key(key).Open('[');
  for (const auto& item : list) {
    out.Open('{');
    each(item);
    out.Close('}');
  }
  out.Close(']');
}

void WriteUtilization(JsonOut& out, const Utilization& use) {
  out.Key("utilization").Open('{');
  out.Field("cpu", use.cpu).Field("memory", use.memory).Field("gpu", use.gpu);
  out.Field("resource", use.resource).Field("value", use.value).Close('}');
}

void WriteMiss(JsonOut& out, const NearMiss& miss) {
  out.Field("group", miss.group).Field("text", Sentence(miss));
  WriteList(out, "changes", miss.changes, [&](const Change& change) {
    out.Field("kind", ToString(change.kind));
    if (!change.subject.empty()) out.Field("subject", change.subject);
    if (!change.value.empty()) out.Field("value", change.value);
    if (!change.effect.empty()) out.Field("effect", change.effect);
    if (change.amount != 0) out.Field("amount", change.amount);
    out.Field("text", change.text);
  });
}

void WriteVerdict(JsonOut& out, const model::Verdict& verdict) {
  if (!verdict.plugin().empty()) out.Field("filter", verdict.plugin());
  out.Field("code", model::ToString(verdict.code()));
  WriteNames(out, "reasons", verdict.reasons());
  if (!verdict.shortfalls().empty()) WriteShortfalls(out, verdict.shortfalls());
}

void WriteScaleUp(JsonOut& out, const ScaleUp& up) {
  out.Open('{').Field("result", ToString(up.result));
  if (!up.error.empty()) out.Field("error", up.error).Field("errorType", up.error_type);
  WriteList(out, "resizes", up.resizes, [&](const GroupResize& r) {
    out.Field("group", r.group).Field("from", r.from).Field("to", r.to).Field("max", r.max);
  });
  WritePods(out, "triggered", up.triggered);
  WritePods(out, "awaiting", up.awaiting);
  WriteList(out, "options", up.options, [&](const ConsideredOption& option) {
    out.Field("group", option.group).Field("nodes", option.nodes).Field("pods", option.pods);
  });
  if (!up.chosen.empty()) out.Field("chosen", up.chosen).Field("byLot", up.by_lot);
  WriteList(out, "chosenBy", up.chosen_by, [&](const ExpanderStep& step) {
    out.Field("expander", step.expander);
    WriteNames(out, "survivors", step.survivors);
    WriteList(out, "scores", step.scores, [&](const Score& score) {
      out.Field("group", score.group).Field("value", score.value).Field("text", score.text);
    });
    if (!step.note.empty()) out.Field("note", step.note);
  });
  WriteNames(out, "failedGroups", up.failed_groups);
  for (const auto& [key, list] :
       {std::make_pair("unhelped", &up.unhelped), std::make_pair("unserved", &up.unserved)}) {
    out.Key(key).Open('[');
    for (const Unhelped& unhelped : *list) Write(out, unhelped);
    out.Close(']');
  }
  WriteList(out, "fitting", up.fitting, [&](const FittingPod& fitting) {
    out.Field("pod", NameOf(*fitting.pod)).Field("node", fitting.node);
  });
  out.Close('}');
}

void WriteScaleDown(JsonOut& out, const ScaleDown& down) {
  out.Open('{').Field("result", ToString(down.result));
  out.Key("removed").Open('[');
  for (const RemovedNode& node : down.removed) Write(out, node);
  out.Close(']');
  WriteList(out, "outcomes", down.outcomes, [&](const DeletionOutcome& outcome) {
    out.Field("node", outcome.node).Field("result", outcome.result);
    if (!outcome.error.empty()) out.Field("error", outcome.error);
  });
  WriteNames(out, "unneeded", down.unneeded);
  std::vector<const StayingNode*> staying;  // by name, for people who look for one
  for (const StayingNode& node : down.staying) staying.push_back(&node);
  std::ranges::sort(staying, {}, &StayingNode::node);
  out.Key("staying").Open('[');
  for (const StayingNode* node : staying) Write(out, *node);
  out.Close(']');
  out.Key("stayingUntold").Open('[');
  for (const StayingNode& node : down.staying_untold) Write(out, node);
  out.Close(']');
  out.Close('}');
}

}  // namespace

void WriteShortfalls(JsonOut& out, const std::vector<model::Shortfall>& shortfalls) {
  WriteList(out, "shortfalls", shortfalls, [&](const model::Shortfall& s) {
    out.Field("resource", s.what).Field("asked", s.asked).Field("free", s.free);
    out.Field("capacity", s.capacity).Field("missing", s.missing());
  });
}

void Write(JsonOut& out, const ScaleUp& scale_up) { WriteScaleUp(out, scale_up); }

void Write(JsonOut& out, const Unhelped& unhelped) {
  out.Open('{');
  WritePods(out, "pods", unhelped.pods);
  out.Key("groups").Open('{');
  for (const auto& [group, verdict] : unhelped.rejected) {
    out.Key(group).Open('{');
    WriteVerdict(out, verdict);
    out.Close('}');
  }
  if (unhelped.skipped != nullptr) {
    for (const auto& [group, reasons] : *unhelped.skipped) {
      out.Key(group).Open('{');
      WriteNames(out, "skipped", reasons);
      out.Close('}');
    }
  }
  out.Close('}');
  WriteList(out, "misses", unhelped.misses, [&](const NearMiss& miss) { WriteMiss(out, miss); });
  out.Close('}');
}

void Write(JsonOut& out, const StayingNode& node) {
  out.Open('{').Field("node", node.node);
  if (!node.group.empty()) out.Field("group", node.group);
  out.Field("reason", ToString(node.reason)).Field("text", Sentence(node));
  if (node.utilization) WriteUtilization(out, *node.utilization);
  if (node.threshold != 0) out.Field("threshold", node.threshold);
  if (node.wait != Duration::zero()) {
    out.Field("waitedSeconds", Seconds(node.waited)).Field("waitSeconds", Seconds(node.wait));
  }
  if (node.blocking_pod) {
    out.Field("pod", NameOf(*node.blocking_pod)).Field("podReason", node.blocking_reason);
  }
  if (node.stuck_pod) out.Field("pod", NameOf(*node.stuck_pod));
  out.Close('}');
}

void Write(JsonOut& out, const RemovedNode& node) {
  out.Open('{').Field("node", node.node).Field("group", node.group);
  WriteUtilization(out, node.utilization);
  WritePods(out, "evicted", node.evicted);
  WriteList(out, "moves", node.moves, [&](const Move& move) {
    out.Field("pod", NameOf(*move.pod)).Field("node", move.node);
  });
  out.Close('}');
}

void Write(JsonOut& out, const PassReport& report) {
  out.Open('{').Field("at", Seconds(report.at.time_since_epoch()));
  if (!report.error.empty()) {
    out.Field("error", report.error).Field("errorType", report.error_type);
  }
  out.Key("upcoming").Open('{');
  for (const auto& [group, count] : report.upcoming) out.Field(group, count);
  out.Close('}');
  out.Key("scaleUp");
  WriteScaleUp(out, report.scale_up);
  if (!report.earlier_rounds.empty()) {
    out.Key("earlierRounds").Open('[');
    for (const ScaleUp& round : report.earlier_rounds) WriteScaleUp(out, round);
    out.Close(']');
  }
  out.Key("scaleDown");
  WriteScaleDown(out, report.scale_down);
  out.Close('}');
}

std::string ToJson(const PassReport& report) {
  JsonOut out;
  Write(out, report);
  return out.Take();
}

}  // namespace coppice::report
