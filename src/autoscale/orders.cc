#include "autoscale/orders.h"

#include <algorithm>
#include <utility>

namespace coppice::autoscale {

namespace {
constexpr int kMostMachines = 1'000'000;
}  // namespace

// Both parts only grow, so that the sum is another one whenever one of them is.
uint64_t Orders::View::Version() const {
  const uint64_t version = inner().Version();
  return version == 0 ? 0 : version + orders_.changes_;
}

Result<int> Orders::View::TargetSize(std::string_view group) {
  // Whatever a provider says: sizes are subtracted from each other, and no group has this many.
  const int target = std::clamp(TRY(inner().TargetSize(group)), 0, kMostMachines);
  const auto ordered = orders_.groups_.find(group);
  return ordered == orders_.groups_.end() ? target : std::max(target, ordered->second.expected);
}

Task<std::optional<Status>> Orders::Place(std::string group, int delta, bool all_or_nothing,
                                          TimePoint patience_ends, Heard late) {
  if (patience_ends == TimePoint::max())
    co_return co_await cloud_.Increase(std::move(group), delta, all_or_nothing);
  const auto target = view_.TargetSize(group);
  if (!target.ok()) co_return target.status();
  OfGroup& of = groups_[group];
  of.expected = *target + delta;
  ++of.unanswered;
  ++changes_;
  auto before = view_.OrdersMayOverlap(group) ? nullptr : of.turn;
  auto done = std::make_shared<Promise<bool>>(executor_);
  of.turn = done;
  auto waiting = std::make_shared<Waiting>(executor_, std::move(late));
  const Future<Status> answer = waiting->answer.future();
  executor_.Spawn(
      Carry(std::move(group), delta, all_or_nothing, std::move(before), std::move(done), waiting));
  co_await answer.Until(patience_ends);
  waiting->given_up = !waiting->status;
  co_return waiting->status;
}

Task<void> Orders::Carry(std::string group, int delta, bool all_or_nothing,
                         std::shared_ptr<Promise<bool>> before, std::shared_ptr<Promise<bool>> done,
                         std::shared_ptr<Waiting> waiting) {
  Status status;
  if (before) {
    const Future<bool> turn = before->future();
    const bool went_well = co_await turn;
    if (!went_well)
      status = Unavailable("the order before it failed, and this one was not placed any more");
  }
  if (status.ok()) status = co_await cloud_.Increase(group, delta, all_or_nothing);
  Answered(group, delta, status);
  done->Set(status.ok());
  waiting->status = status;
  if (waiting->given_up) {
    waiting->late(status);
  } else {
    waiting->answer.Set(std::move(status));
  }
}

void Orders::Answered(const std::string& group, int delta, const Status& status) {
  ++answers_;
  ++changes_;
  OfGroup& of = groups_[group];
  if (--of.unanswered == 0) of.turn = nullptr;  // who comes now waits for nobody
  of.answered_at = answers_;
  if (!status.ok()) of.expected -= delta;
}

void Orders::Refreshed(uint64_t answers_before) {
  const auto shown = [&](const auto& entry) {
    return entry.second.unanswered == 0 && entry.second.answered_at <= answers_before;
  };
  if (std::erase_if(groups_, shown) > 0) ++changes_;
}

size_t Orders::unanswered() const {
  size_t count = 0;
  for (const auto& [group, of] : groups_) count += static_cast<size_t>(of.unanswered);
  return count;
}

}  // namespace coppice::autoscale
