#include "web/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "report/explain.h"
#include "report/json_out.h"
#include "report/report_json.h"
#include "web/picture.h"

namespace coppice::web {
namespace {

using report::JsonOut;

constexpr size_t kOwnersNamed = 4;
constexpr size_t kKinds = 5;         // of decisions
constexpr size_t kMostSaid = 1'000;  // owners; each Job is another one

void WriteBrief(JsonOut& out, const Decision& decision) {
  out.Field("id", decision.id).Field("at", Unix(decision.at)).Field("kind", decision.kind);
  out.Field("title", decision.title).Field("why", decision.why);
  if (!decision.row.empty()) out.Field("row", decision.row);
}

// "for 12 pods of web; least-waste: wastes 12% (best of 3)"
std::string WhyBought(const report::ScaleUp& up) {
  if (up.triggered.empty()) return "to its minimum";
  std::string why = "for " + ByOwner(up.triggered);
  std::string how;
  for (const report::ExpanderStep& step : up.chosen_by) {
    const auto score = std::ranges::find(step.scores, up.chosen, &report::Score::group);
    how += (how.empty() ? "" : ", then ") + step.expander;
    if (score != step.scores.end() && !score->text.empty()) how += ": " + score->text;
  }
  if (up.options.size() == 1) how = "the only one that helps";
  if (up.options.size() > 1)
    how += fmt::format("{}best of {}", how.empty() ? "" : ", ", up.options.size());
  return how.empty() ? why : why + "; " + how;
}

}  // namespace

std::string OwnerOf(const model::Pod& pod) {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  return owner != nullptr ? owner->name : pod.metadata.name;
}

std::string ByOwner(const std::vector<report::PodPtr>& pods) {
  std::map<std::string, size_t> counts;
  for (const report::PodPtr& pod : pods) ++counts[OwnerOf(*pod)];
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto& [owner, count] : counts) order.emplace_back(count, owner);
  std::ranges::sort(order, std::greater<>());
  std::vector<std::string> parts;
  for (const auto& [count, owner] : order) {
    if (parts.size() == kOwnersNamed) {
      parts.push_back(fmt::format("{} more owners", order.size() - kOwnersNamed));
      break;
    }
    parts.push_back(parts.empty()
                        ? fmt::format("{} pod{} of {}", count, count == 1 ? "" : "s", owner)
                        : fmt::format("{} of {}", count, owner));
  }
  return Join(parts, ", ");
}

void WriteDecisions(JsonOut& out, std::string_view key, const std::vector<const Decision*>& list) {
  out.Key(key).Open('[');
  for (const Decision* decision : list) out.Raw(decision->Brief());
  out.Close(']');
}

std::string Decision::Brief() const {
  JsonOut out;
  out.Open('{');
  WriteBrief(out, *this);
  return out.Close('}').Take();
}

std::string Decision::Whole() const {
  JsonOut out;
  out.Open('{');
  WriteBrief(out, *this);
  if (!detail.empty()) out.Key("detail").Raw(detail);
  return out.Close('}').Take();
}

void DecisionLog::Keep(Decision decision, std::vector<Decision>& fresh) {
  const auto size = [](const Decision& d) {
    return sizeof(Decision) + d.title.size() + d.why.size() + d.row.size() + d.detail.size();
  };
  decision.id = next_++;
  bytes_ += size(decision);
  fresh.push_back(decision);
  kept_.push_back(std::move(decision));
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    bytes_ -= size(kept_.front());
    kept_.pop_front();
  }
}

bool DecisionLog::IsNew(const std::string& owner, const std::string& why) {
  if (said_.size() >= kMostSaid) said_.clear();
  std::string& said = said_[owner];
  if (said == why) return false;
  said = why;
  return true;
}

std::vector<Decision> DecisionLog::Add(std::vector<Decision> made) {
  std::vector<Decision> fresh;
  for (Decision& decision : made) {
    for (const std::string& owner : std::exchange(decision.helps, {})) said_.erase(owner);
    if (!decision.owner.empty() && !IsNew(decision.owner, decision.why)) continue;
    decision.owner.clear();
    Keep(std::move(decision), fresh);
  }
  return fresh;
}

void DecisionLog::AddWaiting(const report::ScaleUp& up, const report::Unhelped& unhelped,
                             TimePoint at, std::vector<Decision>& fresh) {
  if (unhelped.pods.empty()) return;
  std::string why = report::ReasonCounts(up.result, unhelped, up.considered_groups);
  if (why.empty()) why = "no group has room";
  if (!unhelped.misses.empty()) why += "; " + report::Sentence(unhelped.misses.front());
  if (!IsNew(OwnerOf(*unhelped.pods.front()), why)) return;
  JsonOut out;
  report::Write(out, unhelped);
  Keep({.at = at,
        .kind = "waits",
        .title = ByOwner(unhelped.pods),
        .why = why,
        .detail = out.Take()},
       fresh);
}

void DecisionLog::AddScaleUp(const report::ScaleUp& up, TimePoint at,
                             std::vector<Decision>& fresh) {
  if (up.result == report::ScaleUpResult::kSuccessful) {
    JsonOut out;
    report::Write(out, up);
    const std::string detail = out.Take();
    for (const report::GroupResize& resize : up.resizes) {
      Keep({.at = at,
            .kind = "up",
            .title = fmt::format("{} {} → {}", resize.group, resize.from, resize.to),
            .why = WhyBought(up),
            .row = resize.group,
            .detail = detail},
           fresh);
    }
    for (const report::PodPtr& pod : up.triggered) said_.erase(OwnerOf(*pod));
  }
  if (!up.error.empty())
    Keep({.at = at, .kind = "trouble", .title = "scale-up", .why = up.error}, fresh);
  for (const report::Unhelped& unhelped : up.unhelped) AddWaiting(up, unhelped, at, fresh);
  for (const report::Unhelped& unhelped : up.unserved) AddWaiting(up, unhelped, at, fresh);
}

void DecisionLog::AddScaleDown(const report::ScaleDown& down, TimePoint at,
                               std::vector<Decision>& fresh) {
  for (const report::RemovedNode& node : down.removed) {
    JsonOut out;
    report::Write(out, node);
    const std::string& resource = node.utilization.resource;
    const std::string why =
        node.evicted.empty()
            ? "empty, and unneeded for long enough"
            : fmt::format("{} used {:.0f}%, unneeded for long enough; {} fit elsewhere",
                          resource.empty() ? "cpu" : resource, node.utilization.value * 100,
                          ByOwner(node.evicted));
    Keep({.at = at,
          .kind = "down",
          .title = node.node,
          .why = why,
          .row = node.group,
          .detail = out.Take()},
         fresh);
  }
  for (const report::DeletionOutcome& outcome : down.outcomes) {
    if (outcome.ok()) continue;
    Keep({.at = at,
          .kind = "trouble",
          .title = outcome.node + " stays",
          .why = outcome.result + (outcome.error.empty() ? "" : ": " + outcome.error)},
         fresh);
  }
}

std::vector<Decision> DecisionLog::Add(const report::PassReport& report) {
  std::vector<Decision> fresh;
  if (!report.error.empty())
    Keep({.at = report.at, .kind = "trouble", .title = "pass given up", .why = report.error},
         fresh);
  for (const report::FailedAddition& failed : report.failed_additions) {
    Keep({.at = report.at,
          .kind = "trouble",
          .title = fmt::format("{}: {} node{} will not come", failed.group, failed.nodes,
                               failed.nodes == 1 ? "" : "s"),
          .why = failed.reason,
          .row = failed.group},
         fresh);
  }
  for (const report::ScaleUp& round : report.earlier_rounds) AddScaleUp(round, report.at, fresh);
  AddScaleUp(report.scale_up, report.at, fresh);
  AddScaleDown(report.scale_down, report.at, fresh);
  return fresh;
}

std::vector<const Decision*> DecisionLog::List(uint64_t before, size_t limit,
                                               TimePoint until) const {
  std::vector<const Decision*> list;
  for (auto it = kept_.rbegin(); it != kept_.rend() && list.size() < limit; ++it)
    if ((before == 0 || it->id < before) && it->at <= until) list.push_back(&*it);
  return list;
}

std::vector<const Decision*> DecisionLog::Between(TimePoint from, TimePoint to,
                                                  size_t limit) const {
  std::vector<const Decision*> list;
  for (auto it = kept_.rbegin(); it != kept_.rend(); ++it)
    if (it->at >= from && it->at <= to) list.push_back(&*it);
  if (list.size() <= limit) return list;
  const auto steps = static_cast<int64_t>(std::max<size_t>(1, limit / kKinds));
  // Of what there is, for from and to may be anything.
  const auto [first, last] = std::ranges::minmax(list, {}, &Decision::at);
  const TimePoint since = first->at;
  const Duration step = (last->at - since) / steps + Duration(1);
  std::set<std::pair<std::string_view, int64_t>> seen;
  std::erase_if(list, [&](const Decision* decision) {
    return !seen.emplace(decision->kind, (decision->at - since) / step).second;
  });
  if (list.size() > limit) list.resize(limit);
  return list;
}

std::vector<const Decision*> DecisionLog::About(const std::string& row, size_t limit) const {
  std::vector<const Decision*> list;
  for (auto it = kept_.rbegin(); it != kept_.rend() && list.size() < limit; ++it)
    if (it->row == row) list.push_back(&*it);
  return list;
}

const Decision* DecisionLog::Find(uint64_t id) const {
  const auto found = std::ranges::lower_bound(kept_, id, {}, &Decision::id);
  return found != kept_.end() && found->id == id ? &*found : nullptr;
}

}  // namespace coppice::web
