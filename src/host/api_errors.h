// ApiErrors: what the API server did not do for us: counted by method and status, and the last few
// with their words.
//
// Noted on the decision thread, asked by any.

#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "kube/client.h"

namespace coppice::host {

class ApiErrors {
 public:
  static constexpr size_t kKept = 20;
  struct Failure {
    TimePoint at;  // the last time
    std::string method;
    std::string path;
    int status = 0;  // 0: no answer
    std::string why;
    uint64_t times = 1;  // in a row, of this request
  };

  ApiErrors(Metrics& metrics, const Clock& clock) : metrics_(metrics), clock_(clock) {}

  void Note(const kube::FailedRequest& failed);
  std::vector<Failure> Last() const;  // newest first

 private:
  Metrics& metrics_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::deque<Failure> last_ COPPICE_GUARDED_BY(mutex_);  // newest first
};

}  // namespace coppice::host
