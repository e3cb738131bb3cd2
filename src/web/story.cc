#include "web/story.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "report/explain.h"
#include "report/json_out.h"
#include "report/provision_json.h"
#include "report/report_json.h"

namespace coppice::web {
namespace {

using report::JsonOut;

// A page that was away for a minute catches up; for longer it asks anew.
constexpr size_t kTroubles = 10;  // on the health page, of the last so many decisions
constexpr size_t kTroublesAmong = 1'000;
constexpr size_t kRecentBytes = 4 << 20;
constexpr size_t kRecentDeltas = 512;
constexpr size_t kPassesKept = 120;
constexpr size_t kEnginePassesKept = 20;

double Millis(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

void Story::Note(const std::vector<report::PodPtr>& pods, const Told& told) {
  for (const report::PodPtr& pod : pods) {
    ToldBy& by = told_[report::NameOf(*pod)];
    (told.report ? by.groups : by.pools) = told;
  }
}

// Later words count: what a later round says of a pod replaces what an earlier one said.
void Story::Remember(const std::shared_ptr<const report::PassReport>& report) {
  const auto round = [&](const report::ScaleUp& up) COPPICE_REQUIRES(mutex_) {
    using Kind = Told::Kind;
    for (const report::Unhelped& unhelped : up.unhelped)
      Note(unhelped.pods, {Kind::kUnhelped, report, &up, &unhelped});
    for (const report::Unhelped& unhelped : up.unserved)
      Note(unhelped.pods, {Kind::kUnserved, report, &up, &unhelped});
    Note(up.awaiting, {Kind::kAwaits, report, &up});
    Note(up.triggered, {Kind::kBought, report, &up});
    for (const report::FittingPod& fitting : up.fitting)
      Note({fitting.pod}, {Kind::kFits, report, &up, nullptr, fitting.node});
  };
  for (const report::ScaleUp& up : report->earlier_rounds) round(up);
  round(report->scale_up);
}

void Story::Remember(const std::shared_ptr<const report::ProvisionReport>& report) {
  if (!report->provisioning) return;
  using Kind = Told::Kind;
  for (const report::UnplacedPod& unplaced : report->provisioning->unplaced) {
    if (!unplaced.ignored)
      Note({unplaced.pod}, {.kind = Kind::kUnhelped, .pools = report, .unplaced = &unplaced});
  }
  for (const report::PlannedMachine& machine : report->provisioning->machines) {
    Note(machine.pods, {.kind = machine.error.empty() ? Kind::kBought : Kind::kUnserved,
                        .pools = report,
                        .machine = &machine});
  }
  for (const report::PlacedPod& placed : report->provisioning->placed)
    Note({placed.pod}, {.kind = Kind::kFits, .node = placed.machine, .pools = report});
}

std::vector<std::string> Story::Pass(const PassInfo& pass) {
  const MutexLock lock(mutex_);
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

void Story::Keep(EnginePass pass, std::deque<EnginePass>& passes) {
  passes.push_back(std::move(pass));
  if (passes.size() > kEnginePassesKept) passes.pop_front();
}

std::vector<std::string> Story::Pools(std::shared_ptr<const report::ProvisionReport> report) {
  const MutexLock lock(mutex_);
  pools_ = std::move(report);
  Remember(pools_);
  Keep({pools_->at, pools_->took, pools_->error, pools_->stages}, pool_passes_);
  std::vector<std::string> briefs;
  for (const web::Decision& decision : decisions_.Add(pool_teller_.Tell(*pools_)))
    briefs.push_back(decision.Brief());
  return briefs;
}

std::vector<std::string> Story::Session(std::shared_ptr<const report::SessionReport> session) {
  const MutexLock lock(mutex_);
  session_ = std::move(session);
  Keep({session_->began, session_->took, session_->error, session_->stages}, sessions_);
  std::vector<std::string> briefs;
  for (const web::Decision& decision : decisions_.Add(gang_teller_.Tell(*session_)))
    briefs.push_back(decision.Brief());
  return briefs;
}

// Which of the pods that wait do so because their gang does.
void Story::NoteGangs(const Seen& seen) {
  if (!session_) return;
  std::map<std::string_view, const report::SessionReport::Waiting*> gangs;
  for (const auto& waiting : session_->waiting) gangs[waiting.job] = &waiting;
  for (const cluster::PodPtr& pod : seen.pending) {
    const std::string gang = GangOf(*pod);
    if (gang.empty()) continue;
    const auto waiting = gangs.find(gang);
    ToldBy& told = told_[report::NameOf(*pod)];
    told.gang = waiting == gangs.end() ? "" : gang;
    told.gang_why = waiting == gangs.end() ? "" : waiting->second->why;
  }
}

// Of pods that wait no longer nothing is kept.
void Story::Prune(const Seen& seen) {
  if (told_.empty()) return;
  std::unordered_set<std::string> waiting;
  for (const cluster::PodPtr& pod : seen.pending) waiting.insert(report::NameOf(*pod));
  std::erase_if(told_, [&](const auto& told) { return !waiting.contains(told.first); });
}

std::optional<std::string> Story::Saw(const Seen& seen) {
  const MutexLock lock(mutex_);
  Prune(seen);
  NoteGangs(seen);
  Sample sample;
  const std::shared_ptr<const Seen> both = pools_ ? WithPools(seen, *pools_) : nullptr;
  Picture next = Draw(both ? *both : seen, {last_.get(), pools_.get()}, told_, sample);
  if (session_) DrawQueues(*session_, next);
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
  const MutexLock lock(mutex_);
  return ToJson(now_, seq_, at_);
}

uint64_t Story::seq() const {
  const MutexLock lock(mutex_);
  return seq_;
}

Result<std::string> Story::StateAt(TimePoint when) const {
  const MutexLock lock(mutex_);
  const auto moment = history_.At(when);
  if (!moment) return NotFound("nothing has been kept yet");
  return ToJson(moment->picture, 0, moment->at);
}

std::optional<std::vector<std::string>> Story::Since(uint64_t seq) const {
  const MutexLock lock(mutex_);
  std::vector<std::string> texts;
  if (seq == 0) seq = first_seq_;
  if (seq == seq_) return texts;
  if (seq > seq_ || recent_.empty() || recent_.front().first > seq + 1) return std::nullopt;
  for (const auto& [number, text] : recent_)
    if (number > seq) texts.push_back(text);
  return texts;
}

std::string Story::Timeline(std::optional<TimePoint> from, std::optional<TimePoint> to,
                            size_t points) const {
  const MutexLock lock(mutex_);
  const TimePoint until = to.value_or(at_);
  const TimePoint since = from.value_or(until - std::chrono::hours(24));
  JsonOut out;
  out.Open('{').Field("from", Unix(since)).Field("to", Unix(until));
  if (const auto begin = history_.begin()) out.Field("keptSince", Unix(*begin));
  out.Key("samples").Raw(history_.Timeline(since, until, points));
  WriteDecisions(out, "decisions", decisions_.Between(since, until, points));
  return out.Close('}').Take();
}

std::string Story::Decisions(uint64_t before, size_t limit, std::optional<TimePoint> until) const {
  const MutexLock lock(mutex_);
  JsonOut out;
  out.Open('{');
  WriteDecisions(out, "decisions",
                 decisions_.List(before, limit, until.value_or(TimePoint::max())));
  return out.Close('}').Take();
}

Result<std::string> Story::Decision(uint64_t id) const {
  const MutexLock lock(mutex_);
  const web::Decision* decision = decisions_.Find(id);
  if (decision == nullptr) return NotFound("no decision of that number is kept");
  return decision->Whole();
}

Result<std::string> Story::LastPools() const {
  std::shared_ptr<const report::ProvisionReport> last;
  {
    const MutexLock lock(mutex_);
    last = pools_;
  }
  if (!last) return Unavailable("no pass over node pools has ended here");
  return report::ToJson(*last);
}

Result<std::string> Story::LastPass() const {
  std::shared_ptr<const report::PassReport> last;
  {
    const MutexLock lock(mutex_);
    last = last_;
  }
  if (!last) return Unavailable("no pass has ended yet");
  return report::ToJson(*last);
}

// Newest first.
void Story::Write(JsonOut& out, const std::deque<EnginePass>& passes) {
  out.Key("passes").Open('[');
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    out.Open('{').Field("at", Unix(pass->at)).Field("tookMs", Millis(pass->took));
    if (!pass->error.empty()) out.Field("error", pass->error);
    out.Key("stages").Open('{');
    for (const auto& [name, took] : pass->stages) out.Field(name, Millis(took));
    out.Close('}').Close('}');
  }
  out.Close(']');
}

void Story::WriteHealth(JsonOut& out) const {
  const MutexLock lock(mutex_);
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
  out.Key("engines").Open('[');
  if (pools_) {
    out.Open('{').Field("engine", "node pools").Field("at", Unix(pools_->at));
    out.Field("tookMs", Millis(pools_->took));
    if (pools_->provisioning) {
      out.Field("solvedAt", Unix(pools_->provisioning->at));
      out.Field("solveTookMs", Millis(pools_->provisioning->took));
    }
    Write(out, pool_passes_);
    out.Field("waits", pools_->waiting_pods).Field("underWay", pools_->under_way);
    out.Field("error", pools_->error).Close('}');
  }
  if (session_) {
    out.Open('{').Field("engine", "batch").Field("at", Unix(session_->began));
    out.Field("tookMs", Millis(session_->took)).Field("waits", session_->waiting.size());
    Write(out, sessions_);
    out.Field("error", session_->error).Close('}');
  }
  out.Close(']').Key("extenders").Open('[');
  if (session_) {
    for (const report::SessionReport::Outside& one : session_->outside) {
      out.Open('{').Field("name", one.name).Field("breaker", one.state);
      out.Field("lastFailure", one.text).Close('}');
    }
  }
  out.Close(']');
  std::vector<const web::Decision*> troubles;
  for (const web::Decision* decision : decisions_.List(0, kTroublesAmong))
    if (decision->kind == "trouble" && troubles.size() < kTroubles) troubles.push_back(decision);
  WriteDecisions(out, "troubles", troubles);
  out.Key("history").Open('{').Field("bytes", history_.bytes());
  if (const auto begin = history_.begin()) out.Field("since", Unix(*begin));
  out.Close('}');
}

}  // namespace coppice::web
