#include "web/gangs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "report/json_out.h"

namespace coppice::web {
namespace {

using report::JsonOut;
using report::SessionReport;
using report::WaitingGang;

constexpr std::string_view kGroupName = "scheduling.k8s.io/group-name";
constexpr size_t kGangsPerQueue = 50;  // the rest is a number
constexpr size_t kEvictionsNamed = 5;
constexpr size_t kEvictionsListed = 200;

std::string_view StateOfGang(WaitingGang::State state) {
  static constexpr std::string_view kWords[] = {"waits", "blocked", "refused", "ordered", "held"};
  return kWords[static_cast<size_t>(state)];
}

const WaitingGang* MachinesFor(const SessionReport& session, std::string_view gang) {
  const auto found = std::ranges::find(session.gangs, gang, &WaitingGang::gang);
  return found == session.gangs.end() ? nullptr : &*found;
}

// Why it waits: the last word is that of who would buy for it.
const std::string& WhyOf(const SessionReport::Waiting& waiting, const WaitingGang* machines) {
  return machines != nullptr && !machines->why.empty() ? machines->why : waiting.why;
}

void WriteQueue(JsonOut& out, const SessionReport::Queue& queue) {
  out.Field("state", queue.state).Field("weight", queue.weight).Field("running", queue.running);
  if (!queue.parent.empty()) out.Field("parent", queue.parent);
  if (queue.share >= 0) out.Field("share", queue.share);
  out.Key("amounts").Open('[');
  for (const SessionReport::Amount& amount : queue.amounts) {
    out.Open('{').Field("resource", amount.resource).Field("held", amount.held);
    if (amount.deserved >= 0) out.Field("deserved", amount.deserved);
    if (amount.most >= 0) out.Field("most", amount.most);
    out.Close('}');
  }
  out.Close(']');
}

void WriteGangBrief(JsonOut& out, const SessionReport::Waiting& gang, const WaitingGang* machines) {
  out.Open('{').Field("gang", gang.job).Field("admitted", gang.admitted);
  out.Field("needs", gang.min_available).Field("placed", gang.placed).Field("waits", gang.pods);
  if (machines != nullptr) {
    out.Field("state", StateOfGang(machines->state));
    if (machines->price_per_hour) out.Field("price", *machines->price_per_hour);
    if (machines->coming > 0) out.Field("coming", machines->coming);
  }
  out.Close('}');
}

void WriteMachinesFor(JsonOut& out, const WaitingGang& gang) {
  out.Field("state", StateOfGang(gang.state)).Field("withRoom", gang.with_room);
  if (!gang.blocked.empty()) out.Field("blocked", gang.blocked);
  out.Key("lacking").Open('[');
  for (const WaitingGang::Lacking& lack : gang.lacking) {
    out.Open('{').Field("role", lack.role).Field("tasks", lack.tasks);
    out.Field("created", lack.created).Close('}');
  }
  out.Close(']').Key("lots").Open('[');
  for (const WaitingGang::Lot& lot : gang.lots) {
    out.Open('{').Field("seller", lot.seller).Field("source", lot.source);
    out.Field("machines", lot.machines).Field("claimed", lot.claimed).Close('}');
  }
  out.Close(']').Key("refusals").Open('[');
  for (const std::string& refusal : gang.refusals) out.Text(refusal);
  out.Close(']').Key("heldNodes").Open('[');
  for (const std::string& node : gang.held_nodes) out.Text(node);
  out.Close(']').Field("coming", gang.coming);
  if (gang.price_per_hour) out.Field("price", *gang.price_per_hour);
  if (gang.held_until) out.Field("heldUntil", Unix(*gang.held_until));
}

// "2 of general, 1 of gpu"
std::string LotsOf(const WaitingGang& gang) {
  std::vector<std::string> lots;
  for (const WaitingGang::Lot& lot : gang.lots)
    if (lot.machines > 0) lots.push_back(fmt::format("{} of {}", lot.machines, lot.source));
  return Join(lots, ", ");
}

Decision ForGang(const WaitingGang& gang, TimePoint at, std::string kind, std::string why) {
  JsonOut out;
  out.Open('{');
  WriteMachinesFor(out, gang);
  return {.at = at,
          .kind = std::move(kind),
          .title = "gang " + gang.gang,
          .why = std::move(why),
          .detail = out.Close('}').Take()};
}

Decision Evicted(const SessionReport& session) {
  const auto& evictions = session.evictions;
  std::vector<std::string> names;
  JsonOut out;
  out.Open('{').Key("evicted").Open('[');
  for (size_t i = 0; i < std::min(evictions.size(), kEvictionsListed); ++i) {
    if (i < kEvictionsNamed) names.push_back(evictions[i].pod);
    out.Open('{').Field("pod", evictions[i].pod).Field("why", evictions[i].why).Close('}');
  }
  if (evictions.size() > names.size())
    names.push_back(fmt::format("{} more", evictions.size() - names.size()));
  return {
      .at = session.began,
      .kind = "gang",
      .title = fmt::format("{} pod{} evicted", evictions.size(), evictions.size() == 1 ? "" : "s"),
      .why = evictions.front().why + ": " + Join(names, ", "),
      .detail = out.Close(']').Close('}').Take()};
}

}  // namespace

std::string GangOf(const model::Pod& pod) {
  const std::string* group = pod.metadata.annotations.Find(kGroupName);
  if (group == nullptr || group->empty()) return "";
  return pod.metadata.namespace_ + "/" + *group;
}

void DrawQueues(const SessionReport& session, Picture& picture) {
  std::map<std::string_view, const SessionReport::Queue*> queues;
  for (const SessionReport::Queue& queue : session.queues) queues[queue.name] = &queue;
  std::map<std::string_view, std::vector<const SessionReport::Waiting*>> waiting;
  for (const SessionReport::Waiting& gang : session.waiting) {
    waiting[gang.queue].push_back(&gang);
    queues.try_emplace(gang.queue, nullptr);  // one that is not told of
  }
  for (const auto& [name, queue] : queues) {
    JsonOut out;
    out.Open('{');
    if (queue != nullptr) WriteQueue(out, *queue);
    const auto& gangs = waiting[name];
    out.Field("waiting", gangs.size()).Key("gangs").Open('[');
    for (size_t i = 0; i < std::min(gangs.size(), kGangsPerQueue); ++i)
      WriteGangBrief(out, *gangs[i], MachinesFor(session, gangs[i]->job));
    picture.of(Section::kQueues)[std::string(name)] = out.Close(']').Close('}').Take();
  }
}

Result<std::string> GangJson(const SessionReport& session, std::string_view name) {
  JsonOut out;
  out.Open('{').Field("gang", name).Field("passAt", Unix(session.began));
  const auto waiting = std::ranges::find(session.waiting, name, &SessionReport::Waiting::job);
  if (waiting == session.waiting.end()) {
    const auto group = std::ranges::find(session.groups, name, &SessionReport::Group::group);
    if (group == session.groups.end())
      return NotFound("there is no gang " + std::string(name) + ", or its queue does not exist");
    return out.Field("phase", group->phase)
        .Field("why", "no pod of it waits for a place")
        .Close('}')
        .Take();
  }
  const WaitingGang* machines = MachinesFor(session, name);
  out.Field("queue", waiting->queue).Field("admitted", waiting->admitted);
  out.Field("needs", waiting->min_available).Field("placed", waiting->placed);
  out.Field("waits", waiting->pods).Field("why", WhyOf(*waiting, machines));
  if (!waiting->why.empty()) out.Field("session", waiting->why);
  if (machines != nullptr) WriteMachinesFor(out, *machines);
  return out.Close('}').Take();
}

std::vector<Decision> GangTeller::Tell(const SessionReport& session) {
  std::vector<Decision> made;
  const TimePoint at = session.began;
  if (std::exchange(error_, session.error) != session.error && !session.error.empty()) {
    made.push_back(
        {.at = at, .kind = "trouble", .title = "session given up", .why = session.error});
  }
  std::map<std::string, std::string> said;
  for (const WaitingGang& gang : session.gangs) {
    const bool ordered = gang.state == WaitingGang::State::kOrdered;
    const bool refused = gang.state == WaitingGang::State::kRefused;
    if (!ordered && !refused) continue;
    std::string why = ordered ? LotsOf(gang) : gang.why;
    if (ordered && gang.price_per_hour)
      why += fmt::format("{}{:.2f} an hour", why.empty() ? "" : ", ", *gang.price_per_hour);
    if (ordered && why.empty()) why = gang.why;
    const auto before = said_.find(gang.gang);
    if (before == said_.end() || before->second != why)
      made.push_back(ForGang(gang, at, ordered ? "up" : "waits", why));
    said[gang.gang] = std::move(why);
  }
  said_ = std::move(said);
  if (!session.evictions.empty()) made.push_back(Evicted(session));
  return made;
}

}  // namespace coppice::web
