#include "batch/buying/gang_buyer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "batch/buying/confined.h"
#include "batch/buying/wants.h"
#include "batch/session.h"

namespace coppice::batch {
namespace {

using State = report::WaitingGang::State;

// Who goes first: more important ones, then older ones.
bool GoesFirst(const WaitingJob& l, const WaitingJob& r) {
  if (l.priority != r.priority) return l.priority > r.priority;
  const auto& l_made = l.group->metadata.creation_timestamp;
  const auto& r_made = r.group->metadata.creation_timestamp;
  if (l_made != r_made) return l_made < r_made;
  return l.id < r.id;
}

std::string Priced(const market::Offer& offer) {
  std::string text;
  for (const market::Lot& lot : offer.lots) {
    if (!text.empty()) text += ", ";
    if (lot.machines > 0) text += fmt::format("{} of {}", lot.machines, lot.source);
    if (lot.claimed > 0)
      text += fmt::format("{}{} of {} on their way", lot.machines > 0 ? " and " : "", lot.claimed,
                          lot.source);
  }
  if (text.empty()) text = "nothing";
  const auto price = offer.price_per_hour();
  return price ? text + fmt::format(", {:.4g} an hour", *price) : text + ", at an unknown price";
}

report::WaitingGang Told(const WaitingJob& job, const market::Want& want) {
  report::WaitingGang told;
  told.gang = job.id;
  told.queue = job.queue;
  told.admitted = job.admitted;
  told.min_available = job.min_available;
  told.placed = job.placed;
  told.with_room = static_cast<int>(want.placed.size());
  for (const market::PlacedPod& task : want.placed)
    told.room.push_back({task.pod->metadata.name, task.node});
  for (const market::TaskClass& one : want.classes)
    told.lacking.push_back({one.role, one.count, one.created});
  told.session = job.why;
  told.blocked = job.blocked;
  return told;
}

// Tasks that it needs to start and of which nobody knows what they will ask for.
int Unknown(const WaitingJob& job, const market::Want& want) {
  int known = 0;
  for (const market::TaskClass& one : want.classes) known += one.created ? 0 : one.count;
  return job.uncreated - known;
}

std::string Lacks(const report::WaitingGang& told) {
  int tasks = 0;
  std::string roles;
  for (const auto& one : told.lacking) {
    tasks += one.tasks;
    if (!roles.empty()) roles += ", ";
    roles += fmt::format("{} {}", one.tasks, one.role.empty() ? "task" : one.role);
    if (!one.created) roles += " (no pods yet)";
  }
  return fmt::format("{} of the tasks that it lacks have room, {} have none ({})", told.with_room,
                     tasks, roles);
}

}  // namespace

size_t GangBuyer::holds() const {
  return static_cast<size_t>(
      std::ranges::count_if(gangs_, [](const auto& g) { return g.second.held.has_value(); }));
}

// What a session may reckon with: what could be bought is part of the cluster, and others are
// evicted only for those that nobody sells to. Sellers that have not seen yet what there is are
// waited for, but not for ever.
void GangBuyer::Prepare(SessionInput& input) {
  if (parts_.market.empty()) return;
  for (const auto& [id, gang] : gangs_) {
    if (gang.refused) input.refused.insert(id);
    if (gang.sold) input.sold.insert(id);
  }
  bool holds_back = parts_.options.prefer != Prefer::kPreempting;
  if (parts_.market.Ready()) {
    unready_since_.reset();
    input.quotes = true;
    input.stock = parts_.market.Stock(input.now);
  } else {
    if (!unready_since_) unready_since_ = input.now;
    holds_back &= input.now < Later(*unready_since_, parts_.options.await_sellers);
  }
  if (holds_back) input.evict_for = input.refused;
}

void GangBuyer::SessionEnded(const std::vector<WaitingJob>& jobs, TimePoint) {
  latest_ = jobs;
  if (busy_) return;
  busy_ = true;
  parts_.executor.Spawn(Work());
}

coppice::Task<void> GangBuyer::Work() {
  if (!parts_.market.Ready()) {
    busy_ = false;
    co_return;
  }
  if (!recovered_) co_await Recover();
  recovered_ = true;
  const TimePoint now = parts_.executor.clock().Now();
  co_await Settle(now);
  std::vector<WaitingJob> jobs = latest_;
  std::ranges::sort(jobs, GoesFirst);
  int asked = 0;
  for (WaitingJob& job : jobs) {
    if (!job.tried || asked >= parts_.options.most_at_once) continue;
    const TimePoint before = parts_.executor.clock().Now();
    if (gangs_[job.id].ask_again > before) continue;
    ++asked;
    co_await Consider(std::move(job), before);
  }
  busy_ = false;
}

market::View GangBuyer::ViewNow(TimePoint now) const {
  market::View view;
  view.now = now;
  const cluster::World* assumed = parts_.assumed ? parts_.assumed() : nullptr;
  if (assumed == nullptr || assumed == &parts_.world) return view;
  for (const cluster::World::PodEntry* entry : parts_.world.Unbound()) {
    const model::ObjectMeta& meta = entry->pod->metadata;
    const cluster::PodPtr decided = assumed->FindPod(meta.namespace_, meta.name);
    if (decided != nullptr && decided->metadata.uid == meta.uid && !decided->spec.node_name.empty())
      view.placed.push_back({entry->pod, decided->spec.node_name});
  }
  return view;
}

std::string GangBuyer::TooDear(Gang& gang, const market::Offer& offer, TimePoint now) const {
  const BuyingOptions& options = parts_.options;
  if (offer.machines() == 0) return "";
  const auto price = offer.price_per_hour();
  const auto above = [&](double most) { return !price || *price > most; };
  if (options.most_per_hour && above(*options.most_per_hour)) {
    return fmt::format("it would take {}, and no gang may cost more than {:.4g} an hour",
                       Priced(offer), *options.most_per_hour);
  }
  if (options.prefer != Prefer::kByPrice || !above(options.preempt_above)) return "";
  if (!gang.dear_since) gang.dear_since = now;
  if (now >= Later(*gang.dear_since, options.preempt_for)) return "";
  return fmt::format("it would take {}; above {:.4g} an hour others are evicted first",
                     Priced(offer), options.preempt_above);
}

void GangBuyer::Refuse(Gang& gang, std::string why, TimePoint now) {
  gang.refused = true;
  gang.sold = false;
  gang.wait = gang.wait == Duration::zero()
                  ? parts_.options.ask_again
                  : std::min(2 * gang.wait, parts_.options.ask_again_at_most);
  gang.ask_again = now + gang.wait;
  gang.told.state = State::kRefused;
  gang.told.why = std::move(why);
}

// Whether there is nobody to ask about it now; what is told of it says why.
bool GangBuyer::IsSettled(Gang& gang, const WaitingJob& job, const market::Want& want,
                          TimePoint now) {
  const bool ordered = gang.held.has_value();
  report::WaitingGang told = Told(job, want);
  if (!job.blocked.empty()) {
    told.state = State::kBlocked;
    told.why = "nothing is bought: " + job.blocked;
    if (!job.admitted && !job.why.empty()) told.why += " (" + job.why + ")";
    gang.refused = true;  // what its queue has may still be divided otherwise
    gang.sold = false;
  } else if (ordered && gang.lost == 0) {
    // What it needs was bought and is there or on its way: it is not bought again.
    told.lots = gang.told.lots;
    told.price_per_hour = gang.told.price_per_hour;
    told.coming = gang.coming;
    told.held_nodes = gang.nodes;
    told.held_until = gang.held->until;
    told.state = gang.coming > 0 ? State::kOrdered : State::kHeld;
    told.why =
        fmt::format("{} machines are on their way, {} wait for it", gang.coming, gang.nodes.size());
  }
  gang.told = std::move(told);
  if (gang.told.state != State::kWaits) return true;
  if (const int unknown = Unknown(job, want); unknown > 0) {
    // Machines for those that are there already would be machines for half a gang.
    gang.told.why = fmt::format(
        "{} of its pods are not created yet, and neither a Job's templates nor minResources say "
        "what they will ask for",
        unknown);
    return true;
  }
  if (want.classes.empty()) {
    gang.told.why = "all that it lacks has room on what exists";
    if (!job.admitted) gang.told.why += ", which is promised to others (" + job.why + ")";
    gang.sold = false;
    return true;
  }
  if (gang.attempts < parts_.options.attempts) return false;
  gang.attempts = 0;
  Refuse(gang, "machines were bought for it again and again, and it did not start", now);
  return true;
}

coppice::Task<market::Market::Answer> GangBuyer::Quote(const WaitingJob& job, market::Want want,
                                                       TimePoint now) {
  const auto name_place = [](market::Market::Answer& asked, const WaitingJob::Place& place) {
    for (market::Refusal& refusal : asked.refusals) {
      if (!place.name.empty()) refusal.text = "in " + place.name + ": " + refusal.text;
    }
  };
  market::Market::Answer answer = co_await parts_.market.Quote(std::move(want), ViewNow(now));
  name_place(answer, job.place);
  for (const WaitingJob::Elsewhere& other : job.elsewhere) {
    if (answer.best) break;
    WaitingJob there = job;
    there.tasks = other.tasks;
    market::Want wanted = Within(WantOf(there, parts_.world), other.place);
    market::Market::Answer next = co_await parts_.market.Quote(std::move(wanted), ViewNow(now));
    name_place(next, other.place);
    std::ranges::move(next.refusals, std::back_inserter(answer.refusals));
    answer.best = std::move(next.best);
  }
  co_return answer;
}

coppice::Task<void> GangBuyer::Consider(WaitingJob job, TimePoint now) {
  const market::Want want = Within(WantOf(job, parts_.world), job.place);
  if (IsSettled(gangs_[job.id], job, want, now)) co_return;
  market::Market::Answer answer = co_await Quote(job, want, now);
  Gang& gang = gangs_[job.id];
  for (const market::Refusal& refusal : answer.refusals)
    gang.told.refusals.push_back(market::TextOf(refusal));
  if (!answer.best) {
    std::string text = Lacks(gang.told) + "; nobody sells machines for them";
    for (const std::string& refusal : gang.told.refusals) text += "; " + refusal;
    Refuse(gang, text, now);
    if (gang.said != text) Tell(job.id, "Normal", "NotTriggerScaleUp", text);
    gang.said = std::move(text);
    co_return;
  }
  for (const market::Lot& lot : answer.best->lots)
    gang.told.lots.push_back({answer.best->seller, lot.source, lot.machines, lot.claimed});
  gang.told.price_per_hour = answer.best->price_per_hour();
  if (std::string dear = TooDear(gang, *answer.best, now); !dear.empty()) {
    Refuse(gang, std::move(dear), now);
    // By the price of evictions it is asked for again when these have had their time.
    const TimePoint again =
        gang.dear_since ? Later(*gang.dear_since, parts_.options.preempt_for) : now;
    if (again > now) gang.ask_again = std::min(gang.ask_again, again);
    co_return;
  }
  if (parts_.options.only_quotes) {
    gang.told.why =
        fmt::format("{}; it would start with {}", Lacks(gang.told), Priced(*answer.best));
    co_return;
  }
  if (!job.admitted) {
    // What there is was promised to others; who can be bought for does not wait for that.
    gang.told.why = fmt::format("{}; it is let in, for it can be bought for: {}", Lacks(gang.told),
                                Priced(*answer.best));
    if (!std::exchange(gang.sold, true) && parts_.wake) parts_.wake();
    co_return;
  }
  co_await Buy(job.id, *std::move(answer.best), now);
}

coppice::Task<void> GangBuyer::Buy(std::string id, market::Offer offer, TimePoint now) {
  market::Intent intent;
  if (const Gang& gang = gangs_[id]; gang.held) {
    intent = *gang.held;  // what came of the purchases before stays its own
    WriteOffLost(id, intent.bought);
  }
  intent.attempt = gangs_[id].attempts + 1;
  intent.until = now + parts_.options.hold;
  intent.ordering = market::Outcome{
      .status = {}, .seller = offer.seller, .gang = id, .lots = offer.lots, .ordered_at = now};
  const Status written = co_await WriteIntent(id, &intent);
  if (!written.ok()) {
    Refuse(gangs_[id], "what is to be ordered could not be written down: " + written.message(),
           now);
    gangs_[id].refused = false;  // nobody has refused anything
    co_return;
  }
  market::Outcome outcome = co_await parts_.market.Order(offer);
  market::Outcome purchase = *std::exchange(intent.ordering, std::nullopt);
  gangs_[id].attempts = intent.attempt;
  if (!outcome.status.ok()) {
    Refuse(gangs_[id], "the order failed: " + outcome.status.message(), now);
    Tell(id, "Warning", "FailedToScaleUp", gangs_[id].told.why);
    const std::optional<market::Intent> before = gangs_[id].held;
    const Status noted = co_await WriteIntent(id, before ? &*before : nullptr);
    (void)noted;  // says so itself; a restart asks the seller, who knows of no such order
    co_return;
  }
  purchase.lots = std::move(outcome.lots);
  market::AddPurchase(intent.bought, std::move(purchase));
  Gang& gang = gangs_[id];
  gang.refused = gang.sold = false;
  gang.dear_since.reset();
  gang.wait = Duration::zero();
  gang.lost = 0;
  gang.coming = offer.machines();
  gang.held = intent;
  gang.told.state = State::kOrdered;
  gang.told.coming = gang.coming;
  gang.told.held_until = intent.until;
  gang.told.why = fmt::format("bought for it: {}", Priced(offer));
  parts_.log.Info("machines are bought for a gang", {{"gang", id}, {"what", Priced(offer)}});
  Tell(id, "Normal", "TriggeredScaleUp", gang.told.why);
  TellSellers();
  const Status noted = co_await WriteIntent(id, &intent);
  if (!noted.ok())
    parts_.log.Warning("a purchase could not be noted as done; a restart will ask the sellers",
                       {{"gang", id}, {"error", noted}});
}

std::vector<report::WaitingGang> GangBuyer::Report() const {
  std::vector<report::WaitingGang> all;
  for (const WaitingJob& job : latest_) {
    const auto known = gangs_.find(job.id);
    if (known != gangs_.end() && !known->second.told.gang.empty()) {
      all.push_back(known->second.told);
      continue;
    }
    report::WaitingGang told = Told(job, {});
    told.why = job.blocked.empty() ? job.why : job.blocked;
    all.push_back(std::move(told));
  }
  return all;
}

}  // namespace coppice::batch
