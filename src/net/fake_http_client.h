// An HttpClient that answers from a script, for tests and for faults that a real server rarely
// shows. Every request is kept. Answers queued with Push are given in order; when none is left,
// `otherwise` decides.

#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/http_client.h"

namespace coppice::net {

class FakeHttpClient final : public HttpClient {
 public:
  using Handler = std::function<Result<HttpResponse>(const HttpRequest&, Deadline)>;

  explicit FakeHttpClient(Handler otherwise = nullptr) : otherwise_(std::move(otherwise)) {}

  void Push(Result<HttpResponse> answer) {
    const MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  void Push(int status, std::string body,
            std::vector<std::pair<std::string, std::string>> headers = {}) {
    Push(HttpResponse{.status = status, .headers = std::move(headers), .body = std::move(body)});
  }

  Result<HttpResponse> Send(const HttpRequest& request, Deadline deadline) override {
    {
      const MutexLock lock(mutex_);
      requests_.push_back(request);
      if (!answers_.empty()) {
        Result<HttpResponse> answer = std::move(answers_.front());
        answers_.pop_front();
        return answer;
      }
    }
    if (otherwise_) return otherwise_(request, deadline);
    return Unavailable("the script of the fake has no answer left");
  }

  std::vector<HttpRequest> requests() const {
    const MutexLock lock(mutex_);
    return requests_;
  }

 private:
  const Handler otherwise_;
  mutable Mutex mutex_;
  std::deque<Result<HttpResponse>> answers_ COPPICE_GUARDED_BY(mutex_);
  std::vector<HttpRequest> requests_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::net
