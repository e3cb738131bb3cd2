#include "web/story.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "report/explain.h"
#include "report/json_out.h"
#include "report/report_json.h"

namespace coppice::web {
namespace {

using report::JsonOut;

// A page that was away for a minute catches up; for longer it asks anew.
constexpr size_t kRecentBytes = 4 << 20;
constexpr size_t kRecentDeltas = 512;
constexpr size_t kPassesKept = 120;
constexpr size_t kDecisionsOfRow = 20;

double Millis(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void WriteLines(JsonOut& out, const std::vector<std::string>& lines) {
  out.Key("lines").Open('[');
  for (const std::string& line : lines) out.Text(line);
  out.Close(']');
}

void WriteBriefs(JsonOut& out, std::string_view key, const std::vector<const Decision*>& list) {
  out.Key(key).Open('[');
  for (const Decision* decision : list) out.Raw(decision->Brief());
  out.Close(']');
}

// What every group had against it, each with its sentence, and the near misses.
void WriteGroups(JsonOut& out, const report::Unhelped& unhelped) {
  out.Key("groups").Open('[');
  for (const report::GroupReason& reason : report::ReasonsByGroup(unhelped)) {
    out.Open('{').Field("group", reason.group).Field("text", reason.text);
    if (const auto verdict = unhelped.rejected.find(reason.group);
        verdict != unhelped.rejected.end()) {
      out.Field("filter", verdict->second.plugin());
      out.Key("shortfalls").Open('[');
      for (const model::Shortfall& s : verdict->second.shortfalls()) {
        out.Open('{').Field("resource", s.what).Field("asked", s.asked).Field("free", s.free);
        out.Field("capacity", s.capacity).Close('}');
      }
      out.Close(']');
    }
    const auto miss = std::ranges::find(unhelped.misses, reason.group, &report::NearMiss::group);
    if (miss != unhelped.misses.end()) out.Field("wouldTakeIf", report::Sentence(*miss));
    out.Close('}');
  }
  out.Close(']');
  if (!unhelped.misses.empty()) out.Field("nearest", report::Sentence(unhelped.misses.front()));
}

}  // namespace

void Story::Note(const std::vector<report::PodPtr>& pods, const Told& told) {
  for (const report::PodPtr& pod : pods) told_[report::NameOf(*pod)] = told;
}

// Later words count: what a later round says of a pod replaces what an earlier one said.
void Story::Remember(const std::shared_ptr<const report::PassReport>& report) {
  const auto round = [&](const report::ScaleUp& up) {
    using Kind = Told::Kind;
    for (const report::Unhelped& unhelped : up.unhelped)
      Note(unhelped.pods, {Kind::kUnhelped, report, &up, &unhelped});
    for (const report::Unhelped& unhelped : up.unserved)
      Note(unhelped.pods, {Kind::kUnserved, report, &up, &unhelped});
    Note(up.awaiting, {Kind::kAwaits, report, &up});
    Note(up.triggered, {Kind::kBought, report, &up});
    for (const report::FittingPod& fitting : up.fitting)
      told_[report::NameOf(*fitting.pod)] = {Kind::kFits, report, &up, nullptr, fitting.node};
  };
  for (const report::ScaleUp& up : report->earlier_rounds) round(up);
  round(report->scale_up);
}

std::vector<std::string> Story::Pass(const PassInfo& pass) {
  const std::lock_guard lock(mutex_);
  last_ = pass.report;
  Remember(pass.report);
  passes_.push_back(pass);
  if (passes_.size() > kPassesKept) passes_.pop_front();
  // The lists of a report are long; of earlier passes the times are enough.
  if (passes_.size() > 1) {
    PassInfo& before = passes_[passes_.size() - 2];
    auto brief = std::make_shared<report::PassReport>();
    brief->at = before.report->at;
    brief->error = before.report->error;
    brief->took = before.report->took;
    brief->scale_up.result = before.report->scale_up.result;
    brief->scale_down.result = before.report->scale_down.result;
    before.report = std::move(brief);
  }
  std::vector<std::string> briefs;
  for (const web::Decision& decision : decisions_.Add(*pass.report))
    briefs.push_back(decision.Brief());
  return briefs;
}

std::vector<std::string> Story::Pools(std::shared_ptr<const report::ProvisionReport> report) {
  const std::lock_guard lock(mutex_);
  last_pools_ = pool_teller_.Tell(*report);
  pools_ = std::move(report);
  Remember(last_pools_);
  std::vector<std::string> briefs;
  for (const web::Decision& decision : decisions_.Add(*last_pools_))
    briefs.push_back(decision.Brief());
  return briefs;
}

void Story::Session(std::shared_ptr<const report::SessionReport> session) {
  const std::lock_guard lock(mutex_);
  session_ = std::move(session);
}

// Of pods that wait no longer nothing is kept.
void Story::Prune(const Seen& seen) {
  if (told_.empty()) return;
  std::unordered_set<std::string> waiting;
  for (const cluster::PodPtr& pod : seen.pending) waiting.insert(report::NameOf(*pod));
  std::erase_if(told_, [&](const auto& told) { return !waiting.contains(told.first); });
}

std::optional<std::string> Story::Saw(const Seen& seen) {
  const std::lock_guard lock(mutex_);
  Prune(seen);
  Sample sample;
  const std::shared_ptr<const Seen> both = pools_ ? WithPools(seen, *pools_) : nullptr;
  Picture next = Draw(both ? *both : seen, {last_.get(), last_pools_.get()}, told_, sample);
  DrawQueues(next);
  history_.Add(next, sample);
  const Delta delta = Difference(now_, next);
  at_ = seen.at;
  if (delta.empty()) return std::nullopt;
  now_ = std::move(next);
  std::string text = ToJson(delta, ++seq_, at_);
  recent_bytes_ += text.size();
  recent_.emplace_back(seq_, text);
  while (recent_bytes_ > kRecentBytes || recent_.size() > kRecentDeltas) {
    recent_bytes_ -= recent_.front().second.size();
    recent_.pop_front();
  }
  return text;
}

std::string Story::State() const {
  const std::lock_guard lock(mutex_);
  return ToJson(now_, seq_, at_);
}

uint64_t Story::seq() const {
  const std::lock_guard lock(mutex_);
  return seq_;
}

Result<std::string> Story::StateAt(TimePoint when) const {
  const std::lock_guard lock(mutex_);
  const auto moment = history_.At(when);
  if (!moment) return NotFound("nothing has been kept yet");
  return ToJson(moment->picture, 0, moment->at);
}

std::optional<std::vector<std::string>> Story::Since(uint64_t seq) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  if (seq == seq_) return texts;
  if (seq > seq_ || recent_.empty() || recent_.front().first > seq + 1) return std::nullopt;
  for (const auto& [number, text] : recent_)
    if (number > seq) texts.push_back(text);
  return texts;
}

std::string Story::Timeline(std::optional<TimePoint> from, std::optional<TimePoint> to,
                            size_t points) const {
  const std::lock_guard lock(mutex_);
  const TimePoint until = to.value_or(at_);
  const TimePoint since = from.value_or(until - std::chrono::hours(24));
  JsonOut out;
  out.Open('{').Field("from", Unix(since)).Field("to", Unix(until));
  if (const auto begin = history_.begin()) out.Field("keptSince", Unix(*begin));
  out.Key("samples").Raw(history_.Timeline(since, until, points));
  WriteBriefs(out, "decisions", decisions_.Between(since, until, points));
  return out.Close('}').Take();
}

std::string Story::Decisions(uint64_t before, size_t limit) const {
  const std::lock_guard lock(mutex_);
  JsonOut out;
  out.Open('{');
  WriteBriefs(out, "decisions", decisions_.List(before, limit));
  return out.Close('}').Take();
}

Result<std::string> Story::Decision(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const web::Decision* decision = decisions_.Find(id);
  if (decision == nullptr) return NotFound("no decision of that number is kept");
  return decision->Whole();
}

Result<std::string> Story::Pod(std::string_view namespace_, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (!last_ && !last_pools_) return Unavailable("no pass has ended yet");
  const std::string key = std::string(namespace_) + "/" + std::string(name);
  const auto told = told_.find(key);
  const report::PassReport& report = told != told_.end() ? *told->second.report
                                     : last_             ? *last_
                                                         : *last_pools_;
  const std::vector<std::string> lines = report::ExplainPod(report, namespace_, name);
  if (lines.empty() && told == told_.end())
    return NotFound("pod " + key + " does not wait for a node, or no pass has looked at it yet");
  JsonOut out;
  out.Open('{').Field("pod", key).Field("passAt", Unix(report.at));
  out.Field("waits", told != told_.end());
  WriteLines(out, lines);
  if (told != told_.end()) {
    const Told& what = told->second;
    static constexpr std::string_view kWords[] = {"bought", "awaits", "unhelped", "unserved",
                                                  "fits"};
    out.Field("verdict", kWords[static_cast<size_t>(what.kind)]);
    if (what.unhelped != nullptr) WriteGroups(out, *what.unhelped);
    if (what.kind == Told::Kind::kBought) {
      out.Key("scaleUp");
      report::Write(out, *what.round);
    }
  }
  return out.Close('}').Take();
}

Result<std::string> Story::Node(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto& nodes = now_.of(Section::kNodes);
  const auto node = nodes.find(name);
  std::vector<std::string> lines;
  for (const auto& last : {last_, last_pools_}) {
    if (!last || !lines.empty()) continue;
    lines = report::ExplainNode(*last, name);
  }
  if (node == nodes.end() && lines.empty())
    return NotFound("there is no node " + std::string(name));
  JsonOut out;
  out.Open('{').Field("node", name);
  if (last_) out.Field("passAt", Unix(last_->at));
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
  if (!of_group && last_pools_) write_stay(*last_pools_);
  return out.Close('}').Take();
}

Result<std::string> Story::Row(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto& rows = now_.of(Section::kRows);
  const auto row = rows.find(name);
  if (row == rows.end()) return NotFound("there is no group or pool " + name);
  JsonOut out;
  out.Open('{').Field("group", name).Key("now").Raw(row->second);
  // What it has against pods that wait: each sentence once, with one pod as the example.
  std::map<std::string, std::pair<std::string, int>> refusals;
  for (const auto& [pod, told] : told_) {
    if (told.unhelped == nullptr) continue;
    for (const report::GroupReason& reason : report::ReasonsByGroup(*told.unhelped)) {
      if (reason.group != name) continue;
      auto& refusal = refusals[reason.text];
      if (refusal.first.empty()) refusal.first = pod;
      ++refusal.second;
    }
  }
  out.Key("refusals").Open('[');
  for (const auto& [text, who] : refusals) {
    out.Open('{').Field("text", text).Field("pod", who.first).Field("pods", who.second).Close('}');
  }
  out.Close(']');
  WriteBriefs(out, "decisions", decisions_.About(name, kDecisionsOfRow));
  return out.Close('}').Take();
}

// Gangs that have no place, by queue.
void Story::DrawQueues(Picture& picture) const {
  if (!session_) return;
  std::map<std::string, std::vector<const report::SessionReport::Waiting*>> queues;
  for (const auto& waiting : session_->waiting) queues[waiting.queue].push_back(&waiting);
  for (const auto& [queue, gangs] : queues) {
    JsonOut out;
    out.Open('{').Key("gangs").Open('[');
    for (const auto* gang : gangs) {
      out.Open('{').Field("gang", gang->job).Field("admitted", gang->admitted);
      out.Field("needs", gang->min_available).Field("placed", gang->placed);
      out.Field("waits", gang->pods).Close('}');
    }
    picture.of(Section::kQueues)[queue] = out.Close(']').Close('}').Take();
  }
}

Result<std::string> Story::Gang(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (!session_) return Unavailable("no session has ended here");
  const auto gang =
      std::ranges::find(session_->waiting, name, &report::SessionReport::Waiting::job);
  if (gang == session_->waiting.end()) return NotFound("no gang " + std::string(name) + " waits");
  JsonOut out;
  out.Open('{').Field("gang", gang->job).Field("queue", gang->queue);
  out.Field("admitted", gang->admitted).Field("needs", gang->min_available);
  out.Field("placed", gang->placed).Field("waits", gang->pods).Field("why", gang->why);
  return out.Close('}').Take();
}

Result<std::string> Story::LastPass() const {
  std::shared_ptr<const report::PassReport> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
  }
  if (!last) return Unavailable("no pass has ended yet");
  return report::ToJson(*last);
}

void Story::WriteHealth(JsonOut& out) const {
  const std::lock_guard lock(mutex_);
  out.Key("passes").Open('[');
  for (auto pass = passes_.rbegin(); pass != passes_.rend(); ++pass) {
    out.Open('{').Field("at", Unix(pass->report->at)).Field("tookMs", Millis(pass->took));
    out.Field("scaleUp", report::ToString(pass->report->scale_up.result));
    out.Field("scaleDown", report::ToString(pass->report->scale_down.result));
    if (!pass->report->error.empty()) out.Field("error", pass->report->error);
    out.Key("stages").Open('{');
    for (const report::Took& took : pass->report->took) out.Field(took.part, Millis(took.time));
    out.Close('}').Close('}');
  }
  out.Close(']');
  out.Key("history").Open('{').Field("bytes", history_.bytes());
  if (const auto begin = history_.begin()) out.Field("since", Unix(*begin));
  out.Close('}');
}

}  // namespace coppice::web
