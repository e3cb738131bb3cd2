#include "host/api_errors.h"

#include <algorithm>

namespace coppice::host {
namespace {

constexpr size_t kLongestWords = 300;  // an admission webhook may say a lot

}  // namespace

void ApiErrors::Note(const kube::FailedRequest& failed) {
  metrics_
      .GetCounter(
          "coppice_api_request_failures_total",
          "Requests that the API server did not do, by method and HTTP status (0: no "
          "answer). Gone, there already and changed meanwhile do not count.",
          {{"method", std::string(failed.method)}, {"status", std::to_string(failed.status)}})
      .Increment();
  const MutexLock lock(mutex_);
  const auto same = std::ranges::find_if(last_, [&](const Failure& one) {
    return one.method == failed.method && one.path == failed.path && one.status == failed.status;
  });
  Failure failure{.at = clock_.Now(),
                  .method = std::string(failed.method),
                  .path = std::string(failed.path),
                  .status = failed.status,
                  .why = failed.why.substr(0, kLongestWords)};
  if (same != last_.end()) {
    failure.times = same->times + 1;
    last_.erase(same);
  }
  last_.push_front(std::move(failure));
  if (last_.size() > kKept) last_.pop_back();
}

std::vector<ApiErrors::Failure> ApiErrors::Last() const {
  const MutexLock lock(mutex_);
  return {last_.begin(), last_.end()};
}

}  // namespace coppice::host
