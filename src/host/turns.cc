#include "host/turns.h"

#include <algorithm>

#include "base/check.h"

namespace coppice::host {

size_t Turns::Passing() const {
  return static_cast<size_t>(std::ranges::count(seats_, true, &Seat::passing));
}

bool Turns::MayBegin(const Seat& seat) const {
  if (seat.passing) return false;
  if (seat.engine->keeps_others_out() && Passing() > 0) return false;
  return std::ranges::none_of(
      seats_, [](const Seat& other) { return other.passing && other.engine->keeps_others_out(); });
}

Turns::Seat* Turns::Next(TimePoint now) {
  // An engine has given the thread up in the middle of a what-if. To let nobody begin would be to
  // stand still without a word, for as long as the fork is open, and that may be for good.
  CHECK(world_.snapshot().forks() == 0);
  Seat* next = nullptr;
  const Seat* longest = nullptr;
  for (Seat& seat : seats_) {
    const TimePoint due = seat.engine->Due();
    if (seat.passing || due > now) continue;
    if (longest == nullptr || due < longest->engine->Due()) longest = &seat;
    if (MayBegin(seat) && (next == nullptr || due < next->engine->Due())) next = &seat;
  }
  // It would wait for ever where the passes of others overlap.
  const bool waits = longest != nullptr && longest != next && longest->engine->keeps_others_out();
  return waits ? nullptr : next;
}

TimePoint Turns::NextDue(TimePoint now) const {
  TimePoint next = TimePoint::max();
  for (const Seat& seat : seats_) {
    // Who is due already waits for somebody else's pass, not for a time.
    if (!seat.passing && seat.engine->Due() > now) next = std::min(next, seat.engine->Due());
  }
  return next;
}

Task<void> Turns::OnePass(Seat& seat) {
  const TimePoint now = executor_.clock().Now();
  health_.Active();
  seat.begun = true;
  if (!seat.tries_since) seat.tries_since = now;
  const PassEnd end = co_await seat.engine->Pass(now);
  if (end.succeeded) {
    seat.succeeded = true;
    seat.tries_since.reset();
    TellHealth();
  }
  seat.passing = false;
  LookAgain();
}

void Turns::TellHealth() {
  const Seat* late = nullptr;
  bool started = true;
  for (const Seat& seat : seats_) {
    if (!seat.tries_since) continue;
    started = started && seat.succeeded;
    if (late == nullptr || *seat.tries_since < *late->tries_since) late = &seat;
  }
  if (late == nullptr) return health_.Succeeded();
  health_.Succeeded(*late->tries_since, late->engine->name(), started);
}

Task<void> Turns::UntilNewsOr(TimePoint when) {
  news_.emplace(executor_);
  const Future<bool> news = news_->future();
  co_await news.Until(when);
}

Task<void> Turns::Run() {
  while (!stopping_) {
    const TimePoint now = executor_.clock().Now();
    Seat* next = Next(now);
    if (next == nullptr) {
      co_await UntilNewsOr(NextDue(now));
      continue;
    }
    next->passing = true;
    next->begun = false;
    executor_.Spawn(OnePass(*next));
    // It gets to where it first waits before anybody else is looked at.
    while (!next->begun) co_await executor_.Sleep(Duration::zero());
  }
  while (Passing() > 0) co_await UntilNewsOr(TimePoint::max());
  over_ = true;
  if (over_told_) over_told_->Set(true);
}

Task<void> Turns::UntilOver(TimePoint when) {
  if (over_) co_return;
  over_told_.emplace(executor_);
  const Future<bool> over = over_told_->future();
  co_await over.Until(when);
}

void Turns::Stop() {
  stopping_ = true;
  LookAgain();
}

void Turns::Tell(const Event& event) {
  const TimePoint now = executor_.clock().Now();
  bool hastened = false;
  for (const Seat& seat : seats_) hastened = seat.engine->Told(event, now) || hastened;
  if (hastened) LookAgain();
}

void Turns::LookAgain() {
  if (news_) news_->Set(true);
}

}  // namespace coppice::host
