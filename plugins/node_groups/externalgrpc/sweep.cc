#include "plugins/node_groups/externalgrpc/sweep.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace coppice::node_groups::externalgrpc {
namespace {

// Shared with runners that start after everything is done, and then find nothing.
struct State {
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::function<void()>> pieces;
  size_t next = 0;
  size_t done = 0;
};

void Run(State& state) {
  std::unique_lock lock(state.mutex);
  while (state.next < state.pieces.size()) {
    const std::function<void()> piece = std::move(state.pieces[state.next++]);
    lock.unlock();
    piece();
    lock.lock();
    if (++state.done == state.pieces.size()) state.ended.notify_all();
  }
}

}  // namespace

void Sweep(Workers& workers, size_t bound, std::vector<std::function<void()>> pieces) {
  if (pieces.empty()) return;
  const auto state = std::make_shared<State>();
  state->pieces = std::move(pieces);
  const size_t total = state->pieces.size();
  for (size_t i = 1; i < std::min(bound, total); ++i) {
    if (!workers.Submit([state] { Run(*state); }).ok()) break;  // the caller does it all
  }
  Run(*state);
  std::unique_lock lock(state->mutex);
  state->ended.wait(lock, [&] { return state->done == total; });
}

}  // namespace coppice::node_groups::externalgrpc
