#include "net/stream_queue.h"

#include <utility>

namespace coppice::net {

bool StreamQueue::Write(std::string_view text) {
  const MutexLock lock(mutex_);
  if (broken_ || closing_) return false;
  if (pending_.size() + text.size() > max_backlog_) {
    broken_ = true;  // a gap in the stream would be worse than its end: the reader connects again
  } else {
    pending_ += text;
  }
  if (wake_) wake_();
  return !broken_;
}

void StreamQueue::Close() {
  const MutexLock lock(mutex_);
  closing_ = true;
  if (wake_) wake_();
}

void StreamQueue::WriteFrom(std::function<void(std::string&)> more) {
  const MutexLock lock(mutex_);
  if (broken_ || closing_) return;
  more_ = std::move(more);
  if (wake_) wake_();
}

void StreamQueue::GiveUp() {
  const MutexLock lock(mutex_);
  broken_ = true;
  if (wake_) wake_();
}

void StreamQueue::Detach() {
  std::function<void(std::string&)> done;  // may be much: not destroyed under the lock
  const MutexLock lock(mutex_);
  broken_ = true;
  wake_ = nullptr;
  done.swap(more_);
}

StreamQueue::Next StreamQueue::Take(std::string& text) {
  const MutexLock lock(mutex_);
  if (broken_) return Next::kBroken;
  if (!pending_.empty()) {
    text = std::exchange(pending_, {});
    return Next::kText;
  }
  if (!more_) return closing_ ? Next::kEnd : Next::kWait;
  if (closing_) return Next::kBroken;  // in the middle: the reader must not take it for the end
  text.clear();
  more_(text);
  return text.empty() ? Next::kEnd : Next::kText;
}

}  // namespace coppice::net
