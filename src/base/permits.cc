#include "base/permits.h"

namespace coppice {

Task<std::optional<Permits::Permit>> Permits::Take(Deadline by) {
  const std::shared_ptr<State> state = state_;  // this may be gone when our turn comes
  if (state->left > 0) {
    --state->left;
    co_return Permit(state);
  }
  const auto waiter = std::make_shared<Waiter>(executor_);
  state->waiting.push_back(waiter);
  const Future<bool> told = waiter->told.future();
  co_await told.Until(by.at);
  // It may have been granted at the last moment, before it was told.
  if (waiter->granted) co_return Permit(state);
  waiter->gave_up = true;
  co_return std::nullopt;
}

void Permits::GiveBack(State& state) {
  while (!state.waiting.empty()) {
    const std::shared_ptr<Waiter> next = std::move(state.waiting.front());
    state.waiting.pop_front();
    if (next->gave_up) continue;
    next->granted = true;
    next->told.Set(true);
    return;
  }
  ++state.left;
}

}  // namespace coppice
