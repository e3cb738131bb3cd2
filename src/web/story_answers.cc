// What the story has to say of one pod, node, row, claim or gang.

#include <algorithm>

#include "report/explain.h"
#include "report/explain_pools.h"
#include "report/report_json.h"
#include "web/story.h"

namespace coppice::web {
namespace {

using report::JsonOut;

constexpr size_t kDecisionsOfRow = 20;

void WriteLines(JsonOut& out, const std::vector<std::string>& lines) {
  out.Key("lines").Open('[');
  for (const std::string& line : lines) out.Text(line);
  out.Close(']');
}

// What every group had against it, each with its sentence: items of a list.
void WriteGroups(JsonOut& out, const report::Unhelped& unhelped) {
  for (const report::GroupReason& reason : report::ReasonsByGroup(unhelped)) {
    out.Open('{').Field("group", reason.group).Field("text", reason.text);
    if (const auto verdict = unhelped.rejected.find(reason.group);
        verdict != unhelped.rejected.end()) {
      out.Field("filter", verdict->second.plugin());
      report::WriteShortfalls(out, verdict->second.shortfalls());
    }
    const auto miss = std::ranges::find(unhelped.misses, reason.group, &report::NearMiss::group);
    if (miss != unhelped.misses.end()) out.Field("wouldTakeIf", report::Sentence(*miss));
    out.Close('}');
  }
}

// What every engine that looked at it had against it, and the nearest of all.
void WriteRefusals(JsonOut& out, const ToldBy& told) {
  const report::Unhelped* unhelped = told.groups ? told.groups->unhelped : nullptr;
  const report::UnplacedPod* unplaced = told.pools ? told.pools->unplaced : nullptr;
  if (unhelped == nullptr && unplaced == nullptr) return;
  out.Key("groups").Open('[');
  if (unhelped != nullptr) WriteGroups(out, *unhelped);
  if (unplaced != nullptr) WritePoolMisses(out, *unplaced);
  out.Close(']');
  std::string nearest;
  if (unplaced != nullptr) nearest = NearestPool(*unplaced);
  if (unhelped != nullptr && !unhelped->misses.empty())
    nearest = report::Sentence(unhelped->misses.front());
  if (!nearest.empty()) out.Field("nearest", nearest);
}

}  // namespace

Result<std::string> Story::Pod(std::string_view namespace_, std::string_view name) const {
  const MutexLock lock(mutex_);
  if (!last_ && !pools_ && !session_) return Unavailable("no pass has ended yet");
  const std::string key = std::string(namespace_) + "/" + std::string(name);
  const auto found = told_.find(key);
  const Told* best = found == told_.end() ? nullptr : found->second.best();
  const std::string gang = found == told_.end() ? "" : found->second.gang;
  std::vector<std::string> lines;
  if (best != nullptr && best->pools) lines = report::ExplainPod(*best->pools, key);
  if (best == nullptr || best->report)
    if (const auto& report = best != nullptr ? best->report : last_)
      lines = report::ExplainPod(*report, namespace_, name);
  if (!gang.empty())
    lines.insert(lines.begin(), "its gang " + gang + " waits: " + found->second.gang_why);
  if (lines.empty() && best == nullptr)
    return NotFound("pod " + key + " does not wait for a node, or no pass has looked at it yet");
  JsonOut out;
  out.Open('{').Field("pod", key).Field("waits", best != nullptr || !gang.empty());
  out.Field("passAt", Unix(best != nullptr ? best->at() : last_ ? last_->at : at_));
  WriteLines(out, lines);
  if (!gang.empty()) out.Field("ofGang", gang);
  if (best != nullptr) {
    out.Field("verdict", WordOf(best->kind));
    if (best->unhelped != nullptr || best->unplaced != nullptr) WriteRefusals(out, found->second);
    if (best->kind == Told::Kind::kBought && best->round != nullptr) {
      out.Key("scaleUp");
      report::Write(out, *best->round);
    }
    if (best->machine != nullptr) {
      out.Key("machine");
      WriteMachine(out, *best->machine);
    }
  } else if (!gang.empty()) {
    out.Field("verdict", "gang");
  }
  return out.Close('}').Take();
}

Result<std::string> Story::Node(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto& nodes = now_.of(Section::kNodes);
  const auto node = nodes.find(name);
  std::vector<std::string> lines;
  if (last_) lines = report::ExplainNode(*last_, name);
  if (pools_)
    for (std::string& line : report::ExplainNode(*pools_, name)) lines.push_back(std::move(line));
  if (node == nodes.end() && lines.empty())
    return NotFound("there is no node " + std::string(name));
  JsonOut out;
  out.Open('{').Field("node", name);
  if (last_ || pools_) out.Field("passAt", Unix(last_ ? last_->at : pools_->at));
  if (node != nodes.end()) out.Key("now").Raw(node->second);
  WriteLines(out, lines);
  const auto write_stay = [&](const report::PassReport& last) {
    for (const auto* list : {&last.scale_down.staying, &last.scale_down.staying_untold}) {
      const auto staying = std::ranges::find(*list, name, &report::StayingNode::node);
      if (staying == list->end()) continue;
      out.Key("stays");
      report::Write(out, *staying);
      return true;
    }
    return false;
  };
  const bool of_group = last_ && write_stay(*last_);
  if (!of_group && pools_) {
    const auto staying = std::ranges::find(pools_->staying, name, &report::StayingPoolNode::node);
    if (staying != pools_->staying.end()) {
      out.Key("stays").Open('{').Field("node", name).Field("reason", staying->reason);
      out.Field("text", staying->text.empty() ? staying->reason : staying->text).Close('}');
    }
  }
  return out.Close('}').Take();
}

Result<std::string> Story::Row(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto& rows = now_.of(Section::kRows);
  const auto row = rows.find(name);
  if (row == rows.end()) return NotFound("there is no group or pool " + name);
  JsonOut out;
  out.Open('{').Field("group", name).Key("now").Raw(row->second);
  // What it has against pods that wait: each sentence once, with one pod as the example.
  std::map<std::string, std::pair<std::string, int>> refusals;
  const auto refused = [&](const std::string& pod, const std::string& text) {
    auto& refusal = refusals[text];
    if (refusal.first.empty()) refusal.first = pod;
    ++refusal.second;
  };
  for (const auto& [pod, told] : told_) {
    if (told.groups && told.groups->unhelped != nullptr) {
      for (const report::GroupReason& reason : report::ReasonsByGroup(*told.groups->unhelped))
        if (reason.group == name) refused(pod, reason.text);
    }
    if (told.pools && told.pools->unplaced != nullptr) {
      for (const report::PoolMiss& miss : told.pools->unplaced->misses)
        if (miss.pool == name) refused(pod, miss.text);
    }
  }
  out.Key("refusals").Open('[');
  for (const auto& [text, who] : refusals) {
    out.Open('{').Field("text", text).Field("pod", who.first).Field("pods", who.second).Close('}');
  }
  out.Close(']');
  if (pools_) WritePool(out, *pools_, name);
  WriteDecisions(out, "decisions", decisions_.About(name, kDecisionsOfRow));
  return out.Close('}').Take();
}

Result<std::string> Story::Claim(std::string_view name) const {
  const MutexLock lock(mutex_);
  if (!pools_) return Unavailable("no pass over node pools has ended here");
  const auto claim = std::ranges::find(pools_->claims, name, &report::ClaimState::name);
  const std::string pool = claim == pools_->claims.end() ? "" : claim->pool;
  return ClaimJson(*pools_, name, decisions_.About(pool, kDecisionsOfRow));
}

Result<std::string> Story::Gang(std::string_view name) const {
  const MutexLock lock(mutex_);
  if (!session_) return Unavailable("no session has ended here");
  return GangJson(*session_, name);
}

}  // namespace coppice::web
