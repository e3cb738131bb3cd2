#include "host/life.h"

#include <algorithm>

namespace coppice::host {
namespace {

constexpr Duration kFlushFor = std::chrono::seconds(2);   // what is left to be written
constexpr Duration kWritesEnd = std::chrono::seconds(5);  // writes to the API server under way
constexpr Duration kLate = std::chrono::seconds(1);       // a call that ends after its deadline
constexpr Duration kStopPoll = std::chrono::milliseconds(20);

}  // namespace

void Life::Fail(std::string_view what, const Status& why) {
  parts_.log.Error(what, {{"error", why}});
  exit_code_ = 1;
  parts_.executor.Stop();
}

Task<void> Life::Main() {
  steps_.read();
  if (parts_.lease != nullptr) {
    const Status leads = co_await parts_.lease->Acquire();
    if (!leads.ok()) {
      Fail("the lease cannot be had", leads);
      co_return;
    }
    parts_.executor.Spawn(HoldLease());
  }
  steps_.leads();
  parts_.health.StartMonitoring();
  const Deadline by = Deadline::In(clock(), parts_.max_startup);
  const Status synced = co_await steps_.until_read(by);
  if (!synced.ok()) {
    Fail("the cluster could not be read", synced);
    co_return;
  }
  const Status assembled = co_await steps_.assemble();
  if (!assembled.ok()) {
    Fail("the autoscaler cannot be assembled", assembled);
    co_return;
  }
  assembled_ = true;
  co_await parts_.turns.Run();
}

Task<void> Life::HoldLease() {
  const Status lost = co_await parts_.lease->Hold();
  if (stopping_) co_return;
  Fail("this replica leads no more and ends", lost);
}

void Life::StopSoon() {
  if (stopping_) return;
  stopping_ = true;
  parts_.log.Info("stopping");
  parts_.turns.Stop();
  parts_.executor.Spawn(ShutDown());
}

Task<void> Life::ShutDown() {
  // A pass under way ends by itself; drains do not, and the next leader takes their taints away.
  if (assembled_) co_await parts_.turns.UntilOver(Later(clock().Now(), parts_.limits.pass));
  parts_.changes.Close();
  co_await UntilNothingChanges();
  const bool acts = !parts_.dry_run && (parts_.lease == nullptr || parts_.lease->leads());
  if (acts) {
    co_await steps_.leave(Deadline::In(clock(), kFlushFor));
    if (parts_.lease != nullptr) co_await HandOver();
  }
  parts_.executor.Stop();
}

// What changes the cloud ends before the lease does, by its deadline.
Task<void> Life::UntilNothingChanges() {
  const TimePoint grace = Later(clock().Now(), parts_.limits.pass);
  const TimePoint last = Later(parts_.changes.latest(), kLate);
  const Promise<bool> none(parts_.executor);
  parts_.changes.TellWhenNone(none);
  const Future<bool> ended = none.future();
  co_await ended.Until(parts_.lease != nullptr ? last : std::min(last, grace));
}

// Only when nothing that the lease allowed is under way: what still runs would run beside the next
// leader.
Task<void> Life::HandOver() {
  writes_closed_ = true;
  const Deadline by = Deadline::In(clock(), kWritesEnd);
  while (steps_.writes_under_way() > 0 && !by.Passed(clock()))
    co_await parts_.executor.Sleep(kStopPoll);
  const size_t left = parts_.changes.count() + steps_.writes_under_way();
  if (left == 0) {
    co_await parts_.lease->Release();
  } else {
    parts_.log.Warning("the lease is left to run out: calls that it allowed are under way",
                       {{"calls", left}});
  }
}

Deadline Life::CallsEndBy() const {
  parts_.changes.Close();
  Deadline by = Deadline::In(clock(), parts_.limits.calls);
  if (parts_.lease != nullptr) by.at = std::max(by.at, Later(parts_.changes.latest(), kLate));
  return by;
}

}  // namespace coppice::host
