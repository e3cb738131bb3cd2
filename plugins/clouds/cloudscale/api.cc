#include "plugins/clouds/cloudscale/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "net/url.h"
#include "plugins/clouds/cloudscale/error_text.h"

namespace coppice::clouds::cloudscale {
namespace {

constexpr int kMaxPages = 1000;
constexpr int kTooManyRequests = 429;

// A refusal as a Status. `text` is what the body says.
Status Refusal(int status, const std::string& text) {
  const std::string message =
      fmt::format("HTTP {}: {}", status, text.empty() ? "the answer has no text" : text);
  switch (status) {
    case 401:
      return {Code::kUnauthenticated, message + " (is the API token right and still valid?)"};
    case 404:
      return NotFound(message);
    case 408:
    case kTooManyRequests:
      return Unavailable(message);
    default:
      break;
  }
  if (status >= 500) return Unavailable(message);
  if (status >= 300 && status < 400) {
    return FailedPrecondition(message + " (a redirect: is the API URL right?)");
  }
  // Quota and stock-out have no status of their own.
  if (MeansOutOfResources(text)) return ResourceExhausted(message);
  if (status == 400 || status == 422) return InvalidArgument(message);
  if (status == 403) {
    return {Code::kPermissionDenied, message + " (a read-only token cannot create or delete)"};
  }
  return FailedPrecondition(message);
}

bool SafeToRepeat(const ApiCall& call) { return std::string_view(call.method) != "POST"; }

bool IsTransient(const Result<net::HttpResponse>& answer) {
  if (answer.ok()) return answer->status >= 500 || answer->status == 408;
  return answer.code() == Code::kUnavailable || answer.code() == Code::kDeadlineExceeded;
}

// <https://api/v1/servers?page=2>; rel="next"  ->  servers?page=2, or "" when there is no next
// page.
Result<std::string> NextPath(const net::HttpResponse& answer, const std::string& root) {
  const std::string* link = answer.Header("link");
  if (link == nullptr || Lower(*link).find("rel=\"next\"") == std::string::npos)
    return std::string();
  for (const std::string& part : Split(*link, ',')) {
    if (Lower(part).find("rel=\"next\"") == std::string::npos) continue;
    const std::string prefix = root + "/v1/";
    const size_t open = part.find('<');
    const size_t close = part.find('>');
    if (open == std::string::npos || close == std::string::npos || close < open) break;
    const std::string url = part.substr(open + 1, close - open - 1);
    // Another host would get our token.
    if (!url.starts_with(prefix)) break;
    return url.substr(prefix.size());
  }
  return Internal("the list has a next page at an address that we do not follow");
}

}  // namespace

Result<std::string> ApiRoot(std::string_view url) {
  const net::Url parsed = TRY(net::ParseUrl(Trim(url)));
  if (parsed.scheme != "https" && parsed.scheme != "http") {
    return InvalidArgument("the API URL must begin with https:// (or http://)");
  }
  if (!parsed.query.empty()) return InvalidArgument("the API URL must not have a query");
  std::string_view path = parsed.path;
  const auto strip_slashes = [&path] {
    while (path.ends_with('/')) path.remove_suffix(1);
  };
  strip_slashes();
  if (path.ends_with("/v1")) path.remove_suffix(3);
  strip_slashes();
  return fmt::format("{}://{}{}", parsed.scheme, parsed.Authority(), path);
}

Api::Api(ApiOptions options, std::unique_ptr<net::HttpClient> http, TokenSource tokens,
         Clock& clock, Rng& rng, const Log& log, Metrics& metrics)
    : options_(std::move(options)),
      http_(std::move(http)),
      tokens_(std::move(tokens)),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      limiter_(options_.limits, clock),
      rng_(rng.Next()) {}

Api::OperationMetrics& Api::MetricsOf(const std::string& operation) {
  const std::lock_guard lock(mutex_);
  const auto found = operations_.find(operation);
  if (found != operations_.end()) return found->second;
  const auto counter = [&](const char* result) {
    return &metrics_.GetCounter("autoscaler_cloudscale_api_requests_total",
                                "Requests to the cloudscale.ch API, each attempt counted",
                                {{"operation", operation}, {"result", result}});
  };
  return operations_
      .emplace(operation, OperationMetrics{counter("success"), counter("error"),
                                           &metrics_.GetHistogram(
                                               "autoscaler_cloudscale_api_request_duration_seconds",
                                               "How long the cloudscale.ch API took to answer",
                                               {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
                                               {{"operation", operation}})})
      .first->second;
}

Duration Api::Wait(Backoff& backoff) {
  const std::lock_guard lock(mutex_);
  return backoff.Next();
}

Result<net::HttpResponse> Api::Attempt(const ApiCall& call, Deadline deadline, Secret& token) {
  const Turn turn = TRY(Turn::Take(limiter_, deadline));
  token = TRY(tokens_.Get());
  net::HttpRequest request{.method = call.method,
                           .url = options_.root + "/v1/" + call.path,
                           .headers = {{"Accept", "application/json"}},
                           .bearer_token = token,
                           .body = call.body};
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  const TimePoint start = clock_.Now();
  Result<net::HttpResponse> answer = http_->Send(request, deadline);
  OperationMetrics& metrics = MetricsOf(call.operation);
  metrics.seconds->Observe(std::chrono::duration<double>(clock_.Now() - start).count());
  // Gone is what a delete wants.
  const bool good =
      answer.ok() && (answer->Success() || (answer->status == 404 && request.method == "DELETE"));
  (good ? metrics.success : metrics.error)->Increment();
  log_.Debug("cloudscale.ch API call", {{"operation", call.operation},
                                        {"status", answer.ok() ? answer->status : 0},
                                        {"took", clock_.Now() - start}});
  return answer;
}

Result<net::HttpResponse> Api::Exchange(const ApiCall& call, Deadline deadline) {
  Backoff backoff(options_.backoff, rng_);
  bool token_renewed = false;
  for (int attempt = 1;; ++attempt) {
    Secret token;
    Result<net::HttpResponse> answer = Attempt(call, deadline, token);
    const bool throttled = answer.ok() && answer->status == kTooManyRequests;
    if (answer.ok() && answer->status == 401 && !token_renewed) {
      // The file may have been rotated between our look at it and the answer.
      const Result<Secret> now = tokens_.Get();
      token_renewed = true;
      if (now.ok() && *now != token) continue;
    }
    if (!throttled && !(IsTransient(answer) && SafeToRepeat(call))) return answer;
    Duration wait = Wait(backoff);
    if (answer.ok()) {
      if (const std::string* header = answer->Header("retry-after")) {
        wait =
            std::max(wait, net::ParseRetryAfter(*header, clock_.Now()).value_or(Duration::zero()));
      }
    }
    if (throttled) limiter_.PauseUntil(clock_.Now() + wait);
    // A throttled request was not done, so patience is bounded by the deadline alone.
    if ((!throttled && attempt >= options_.max_attempts) || wait >= deadline.Left(clock_))
      return answer;
    log_.Warning("cloudscale.ch API call is repeated",
                 {{"operation", call.operation},
                  {"attempt", attempt},
                  {"wait", wait},
                  {"why", answer.ok() ? fmt::format("HTTP {}", answer->status)
                                      : answer.status().message()}});
    clock_.SleepFor(wait);
  }
}

Result<std::string> Api::Do(const ApiCall& call, Deadline deadline) {
  net::HttpResponse answer = TRY(Exchange(call, deadline));
  if (!answer.Success()) return Refusal(answer.status, ErrorText(answer.body));
  return std::move(answer.body);
}

Status Api::DoList(const ApiCall& call, Deadline deadline,
                   const std::function<Status(std::string_view body)>& page) {
  ApiCall next = call;
  for (int pages = 0; pages < kMaxPages; ++pages) {
    const net::HttpResponse answer = TRY(Exchange(next, deadline));
    if (!answer.Success()) return Refusal(answer.status, ErrorText(answer.body));
    TRY(page(answer.body));
    next.path = TRY(NextPath(answer, options_.root));
    if (next.path.empty()) return Status::Ok();
  }
  return Internal("the list has no end");
}

}  // namespace coppice::clouds::cloudscale
