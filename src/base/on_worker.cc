#include "base/on_worker.h"

#include <condition_variable>
#include <coroutine>
#include <memory>
#include <utility>

#include "base/mutex.h"

namespace coppice {
namespace {

// Shared by both ends, for either may end first.
struct Piece {
  enum class State { kQueued, kRunning, kOver };

  Mutex mutex;
  std::condition_variable over;
  State state COPPICE_GUARDED_BY(mutex) = State::kQueued;
  // Of the executor's thread alone.
  bool answered = false;
  std::coroutine_handle<> waiter;

  bool Begin() {
    const MutexLock lock(mutex);
    if (state != State::kQueued) return false;
    state = State::kRunning;
    return true;
  }
  void End() {
    const MutexLock lock(mutex);
    state = State::kOver;
    over.notify_all();
  }
  // The coroutine goes: nothing that runs may look into it any longer.
  void Abandon() {
    waiter = nullptr;
    UniqueMutexLock lock(mutex);
    if (state == State::kQueued) state = State::kOver;
    over.wait(lock.standard(), [this]() COPPICE_REQUIRES(mutex) { return state == State::kOver; });
  }
};

struct AbandonAtEnd {
  std::shared_ptr<Piece> piece;
  explicit AbandonAtEnd(std::shared_ptr<Piece> p) : piece(std::move(p)) {}
  AbandonAtEnd(const AbandonAtEnd&) = delete;
  AbandonAtEnd& operator=(const AbandonAtEnd&) = delete;
  ~AbandonAtEnd() { piece->Abandon(); }
};

struct Answered {
  Piece& piece;
  bool await_ready() const { return piece.answered; }
  void await_suspend(std::coroutine_handle<> waiter) { piece.waiter = waiter; }
  void await_resume() const {}
};

}  // namespace

Task<Status> OnWorker(Workers& workers, Executor& executor, std::function<void()> work) {
  const auto piece = std::make_shared<Piece>();
  const AbandonAtEnd guard(piece);
  const std::shared_ptr<Executor::Inbox> inbox = executor.inbox();
  const Status submitted = workers.Submit([piece, inbox, work = std::move(work)] {
    if (!piece->Begin()) return;
    work();
    piece->End();
    Executor::PostTo(*inbox, [piece] {
      piece->answered = true;
      if (piece->waiter) std::exchange(piece->waiter, nullptr).resume();
    });
  });
  if (!submitted.ok()) co_return submitted;
  Answered answered{*piece};
  co_await answered;
  co_return Status::Ok();
}

}  // namespace coppice
