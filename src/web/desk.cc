#include "web/desk.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "report/json_out.h"

namespace coppice::web {
namespace {

constexpr size_t kAnswersKept = 8;

}  // namespace

Desk::Desk(Work work, std::chrono::nanoseconds limit)
    : work_(std::move(work)), limit_(limit), thread_([this] { Run(); }) {}

Desk::~Desk() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Result<uint64_t> Desk::Ask(Question question) {
  const MutexLock lock(mutex_);
  if (!entries_.empty() && !entries_.back().answer)
    return ResourceExhausted("another what-if is being worked out; one at a time");
  if (entries_.size() >= kAnswersKept) entries_.erase(entries_.begin());
  entries_.push_back({next_++, std::move(question), std::nullopt});
  wake_.notify_all();
  return entries_.back().id;
}

Result<std::string> Desk::Answer(uint64_t id) const {
  const MutexLock lock(mutex_);
  const auto entry = std::ranges::find(entries_, id, &Entry::id);
  if (entry == entries_.end()) return NotFound("no what-if of that number is kept");
  report::JsonOut out;
  out.Open('{').Field("id", id);
  if (!entry->answer) {
    out.Field("state", "running");
  } else if (entry->answer->ok()) {
    out.Field("state", "done").Key("answer").Raw(**entry->answer);
  } else {
    out.Field("state", "failed").Field("error", entry->answer->status().message());
  }
  return out.Close('}').Take();
}

void Desk::Run() {
  UniqueMutexLock lock(mutex_);
  for (;;) {
    wake_.wait(lock.standard(), [this]() COPPICE_REQUIRES(mutex_) {
      return stop_ || (!entries_.empty() && !entries_.back().answer);
    });
    if (stop_) return;
    const uint64_t id = entries_.back().id;
    const Question question = entries_.back().question;
    lock.unlock();
    const auto until = std::chrono::steady_clock::now() + limit_;
    Result<std::string> answer = work_(question, [this, until] {
      const MutexLock stopped(mutex_);
      return stop_ || std::chrono::steady_clock::now() >= until;
    });
    lock.lock();
    const auto entry = std::ranges::find(entries_, id, &Entry::id);
    if (entry != entries_.end()) entry->answer.emplace(std::move(answer));
  }
}

}  // namespace coppice::web
