// Requests to the cloudscale.ch API: address, token, rate limit, repetition, metrics, and HTTP
// statuses as Codes.
//
// Repeats by itself what is safe to repeat: everything after a 429, and GET and DELETE after a 5xx
// or a lost answer. A POST is never sent twice here, for it may have created a server; cloud.cc
// looks for that first. Any thread.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "base/status.h"
#include "net/http_client.h"
#include "plugins/clouds/cloudscale/limiter.h"
#include "plugins/clouds/cloudscale/token_source.h"

namespace coppice::clouds::cloudscale {

struct ApiOptions {
  std::string root = "https://api.cloudscale.ch";  // without /v1 and without a slash at the end
  LimiterOptions limits;
  int max_attempts = 4;
  BackoffOptions backoff{.first = std::chrono::milliseconds(250),
                         .longest = std::chrono::seconds(10)};
};

// "https://host/v1/" and "https://host" are the same API: tools differ in which they want.
Result<std::string> ApiRoot(std::string_view url);

struct ApiCall {
  const char* operation = "";  // label in metrics: list_servers
  const char* method = "GET";
  std::string path;  // after v1/, with query: servers?tag%3Ak8s-cluster=a
  std::string body;
};

class Api {
 public:
  Api(ApiOptions options, std::unique_ptr<net::HttpClient> http, TokenSource tokens, Clock& clock,
      Rng& rng, const Log& log, Metrics& metrics);

  // The body of a 2xx answer. Else: kNotFound (404), kResourceExhausted (quota), kInvalidArgument
  // (400, 422), kUnauthenticated, kPermissionDenied, kFailedPrecondition, and kUnavailable or
  // kDeadlineExceeded when it is unknown what happened.
  Result<std::string> Do(const ApiCall& call, Deadline deadline);

  // All pages of a list, each handed to `page`. The API has no pages today; should it begin to, a
  // Link header would say so, and a first page must not be taken for the whole.
  Status DoList(const ApiCall& call, Deadline deadline,
                const std::function<Status(std::string_view body)>& page);

 private:
  struct OperationMetrics {
    Counter* success;
    Counter* error;
    Histogram* seconds;
  };

  Result<net::HttpResponse> Exchange(const ApiCall& call, Deadline deadline);
  Result<net::HttpResponse> Attempt(const ApiCall& call, Deadline deadline, Secret& token);
  OperationMetrics& MetricsOf(const std::string& operation);
  Duration Wait(Backoff& backoff);

  const ApiOptions options_;
  const std::unique_ptr<net::HttpClient> http_;
  TokenSource tokens_;
  Clock& clock_;
  const Log& log_;
  Metrics& metrics_;
  Limiter limiter_;
  std::mutex mutex_;  // guards what follows
  SeededRng rng_;
  std::map<std::string, OperationMetrics> operations_;
};

}  // namespace coppice::clouds::cloudscale
