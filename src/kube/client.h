// Client: requests to one API server, as coroutines on the decision thread.
//
// Transport, decoding of big answers and streams run on the thread of net::MultiClient. Here are
// the rules that every request obeys: a rate limit on our side, a deadline, credentials, and
// repetition of what may be repeated: a request that is safe to do twice, after a failure that may
// pass; any request that the server says it has not looked at (429 with Retry-After); and once,
// after a 401, with fresh credentials.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/promise.h"
#include "kube/credentials.h"
#include "net/http_multi.h"
#include "net/url.h"
#include "wire/api_error.h"

namespace coppice::kube {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

struct Request {
  std::string method = "GET";
  std::string path;  // "/api/v1/nodes/n1"
  net::QueryItems query = {};
  std::string accept = std::string(kJson);
  std::string content_type = std::string(kJson);  // of the body
  std::string body = {};
  bool repeatable = true;  // doing it twice is as good as once: GET, PUT with a version
  bool limited = true;     // counts against the rate limit; the lease and the reflectors do not
  Duration timeout = std::chrono::seconds(30);  // of one attempt
  // Asked before each attempt; a failure is the answer. The lease's fence.
  std::function<Status()> guard = nullptr;
  // Runs on the transport's thread when a 2xx is complete: for decoding large bodies.
  std::function<void(std::string_view body)> on_edge = nullptr;
};

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // empty if on_edge took it

  bool Success() const { return status >= 200 && status < 300; }
  const std::string* Header(std::string_view name) const;
  wire::ApiError Error() const;
};

// Tokens come at `rate` per second up to `burst`; each request takes one, in the order of asking.
class RateLimit {
 public:
  RateLimit(Executor& executor, double rate, int burst);
  Task<void> Take();

 private:
  Executor& executor_;
  double rate_;
  double burst_;
  double tokens_;
  TimePoint filled_;
};

// A request that the server did not do: nobody answered, or it was refused for another reason than
// that the object is gone, there already or changed meanwhile, which is everyday dialogue.
struct FailedRequest {
  std::string_view method;  // WATCH for those
  std::string_view path;
  int status = 0;  // of HTTP; 0: no answer
  std::string why;
};

struct ClientOptions {
  std::string server;  // https://host:port[/prefix]
  double qps = 5;      // 0 or less: no limit
  int burst = 10;
  int max_attempts = 10;
  BackoffOptions backoff{.first = std::chrono::milliseconds(100),
                         .longest = std::chrono::seconds(5),
                         .factor = 2.0,
                         .jitter = 0.5};
  std::function<void(const FailedRequest&)> failed = nullptr;  // hears of each attempt
};

class Client {
 public:
  Client(ClientOptions options, net::MultiClient& transport, Credentials& credentials,
         Executor& executor, Rng& rng);

  // An HTTP status of any kind is an answer; a failure means that none came in time.
  Task<Result<Answer>> Send(Request request, Deadline deadline);
  // The same, and a refusal of the server is a failure: its ApiError as Status.
  Task<Result<Answer>> Get(Request request, Deadline deadline);

  // Opens a stream; the exchange is served on the transport's thread. The number is for Cancel.
  Task<Result<uint64_t>> Open(Request request, Duration max_silence,
                              std::shared_ptr<net::Exchange> exchange);
  void Cancel(uint64_t stream) { transport_.Cancel(stream); }
  // A stream was answered with 401: what is sent next carries fresh credentials. Send sees to that
  // by itself.
  void CredentialsRefused() { credentials_.Refused(); }
  // So that they are counted together: a stream has ended as it should not.
  void StreamFailed(const std::string& path, const Status& why) const;

  Executor& executor() { return executor_; }
  Rng& rng() { return rng_; }

 private:
  Task<Result<net::MultiRequest>> Prepare(const Request& request);
  Task<Result<Answer>> Attempt(const Request& request, Duration timeout, bool fresh);
  void NoteFailure(const Request& request, const Result<Answer>& answer) const;

  ClientOptions options_;
  net::MultiClient& transport_;
  Credentials& credentials_;
  Executor& executor_;
  Rng& rng_;
  RateLimit limit_;
};

}  // namespace coppice::kube
