// Desk: what-if questions, one at a time, on a thread of their own and for a limited time. Who asks
// while another question is worked on is told to come back.
//
// Any thread may call.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "web/question.h"

namespace coppice::web {

class Desk {
 public:
  // Works it out, on the desk's thread, and answers with JSON. Looks at `stop` now and then: true
  // when the time is over or the desk closes.
  using Work =
      std::function<Result<std::string>(const Question&, const std::function<bool()>& stop)>;
  Desk(Work work, std::chrono::nanoseconds limit);
  ~Desk();  // waits until the work has noticed
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // A number to ask for the answer by. kResourceExhausted: another one is worked on.
  Result<uint64_t> Ask(Question question);
  // {"id":1,"state":"running"}, or "done" with "answer", or "failed" with "error".
  Result<std::string> Answer(uint64_t id) const;

 private:
  struct Entry {
    uint64_t id = 0;
    Question question;
    std::optional<Result<std::string>> answer;
  };
  void Run();

  const Work work_;
  const std::chrono::nanoseconds limit_;
  mutable Mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> entries_ COPPICE_GUARDED_BY(mutex_);  // the last few
  uint64_t next_ COPPICE_GUARDED_BY(mutex_) = 1;
  bool stop_ COPPICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace coppice::web
