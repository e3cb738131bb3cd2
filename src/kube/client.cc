#include "kube/client.h"

#include <algorithm>
#include <utility>

#include "net/http_client.h"

namespace coppice::kube {
namespace {

constexpr size_t kMaxBodyBytes = size_t{1} << 30;

// Collects an answer and hands it to whoever waits on the decision thread.
class Collect final : public net::Exchange {
 public:
  Collect(Promise<Result<Answer>> promise, std::function<void(std::string_view)> on_edge)
      : promise_(std::move(promise)), on_edge_(std::move(on_edge)) {}

  bool OnHead(const net::HttpResponse& head) override {
    answer_.status = head.status;
    answer_.headers = head.headers;
    return true;
  }
  bool OnBody(std::string_view bytes) override {
    if (answer_.body.size() + bytes.size() > kMaxBodyBytes) return false;
    answer_.body.append(bytes);
    return true;
  }
  void OnEnd(Status outcome) override {
    if (!outcome.ok()) {
      promise_.Set(std::move(outcome));
      return;
    }
    if (on_edge_ && answer_.Success()) {
      on_edge_(answer_.body);
      answer_.body = std::string();
    }
    promise_.Set(std::move(answer_));
  }

 private:
  Promise<Result<Answer>> promise_;
  std::function<void(std::string_view)> on_edge_;
  Answer answer_;
};

bool IsPassing(int status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

bool IsEveryday(const Answer& answer) {
  if (answer.status < 400 || answer.status == 404 || answer.status == 409 || answer.status == 410)
    return true;
  return answer.status == 429 && answer.Error().HasCause("DisruptionBudget");
}

}  // namespace

const std::string* Answer::Header(std::string_view name) const {
  const auto it = std::ranges::find_if(headers, [&](const auto& h) { return h.first == name; });
  return it == headers.end() ? nullptr : &it->second;
}

wire::ApiError Answer::Error() const {
  const std::string* type = Header("content-type");
  const std::string* after = Header("retry-after");
  return wire::ErrorFromAnswer(status, type ? *type : "", after ? *after : "", body);
}

RateLimit::RateLimit(Executor& executor, double rate, int burst)
    : executor_(executor),
      rate_(rate),
      burst_(std::max(1, burst)),
      tokens_(burst_),
      filled_(executor.clock().Now()) {}

Task<void> RateLimit::Take() {
  if (rate_ <= 0) co_return;
  const TimePoint now = executor_.clock().Now();
  tokens_ =
      std::min(burst_, tokens_ + rate_ * std::chrono::duration<double>(now - filled_).count());
  filled_ = now;
  // Below zero is a queue: who comes next waits longer.
  tokens_ -= 1;
  if (tokens_ >= 0) co_return;
  const auto wait = std::chrono::duration<double>(-tokens_ / rate_);
  co_await executor_.Sleep(std::chrono::duration_cast<Duration>(wait));
}

Client::Client(ClientOptions options, net::MultiClient& transport, Credentials& credentials,
               Executor& executor, Rng& rng)
    : options_(std::move(options)),
      transport_(transport),
      credentials_(credentials),
      executor_(executor),
      rng_(rng),
      limit_(executor, options_.qps, options_.burst) {}

Task<Result<net::MultiRequest>> Client::Prepare(const Request& request) {
  CO_TRY(const RequestIdentity identity, co_await credentials_.Get());
  net::MultiRequest out;
  out.http.method = request.method;
  out.http.url = options_.server + request.path;
  if (!request.query.empty()) out.http.url += "?" + net::FormatQuery(request.query);
  out.http.headers = identity.headers;
  out.http.headers.emplace_back("Accept", request.accept);
  if (!request.body.empty()) out.http.headers.emplace_back("Content-Type", request.content_type);
  out.http.bearer_token = identity.bearer_token;
  out.http.body = request.body;
  out.tls = identity.tls;
  co_return out;
}

Task<Result<Answer>> Client::Attempt(const Request& request, Duration timeout, bool fresh) {
  CO_TRY(net::MultiRequest out, co_await Prepare(request));
  out.timeout = timeout;
  out.fresh_connection = fresh;
  const Promise<Result<Answer>> promise(executor_);
  transport_.Start(std::move(out), std::make_shared<Collect>(promise, request.on_edge));
  co_return co_await promise.future();
}

void Client::NoteFailure(const Request& request, const Result<Answer>& answer) const {
  if (!options_.failed || (answer.ok() && IsEveryday(*answer))) return;
  options_.failed(
      {.method = request.method,
       .path = request.path,
       .status = answer.ok() ? answer->status : 0,
       .why = answer.ok() ? answer->Error().ToStatus().message() : answer.status().message()});
}

void Client::StreamFailed(const std::string& path, const Status& why) const {
  if (options_.failed) options_.failed({.method = "WATCH", .path = path, .why = why.message()});
}

Task<Result<Answer>> Client::Send(Request request, Deadline deadline) {
  Backoff backoff(options_.backoff, rng_);
  bool fresh = false;
  bool refused_once = false;
  for (int attempt = 1;; ++attempt) {
    if (request.limited) co_await limit_.Take();
    if (request.guard) {
      const Status may = request.guard();
      if (!may.ok()) co_return may;
    }
    const Duration left = deadline.Left(executor_.clock());
    if (left <= Duration::zero()) co_return DeadlineExceeded(request.path + ": no time left");
    const Result<Answer> answer = co_await Attempt(request, std::min(left, request.timeout), fresh);
    NoteFailure(request, answer);

    std::optional<Duration> wait;
    if (!answer.ok()) {
      // Whether the server acted is unknown.
      const bool passing =
          answer.code() == Code::kUnavailable || answer.code() == Code::kDeadlineExceeded;
      if (request.repeatable && passing) wait = backoff.Next();
      fresh = answer.code() == Code::kDeadlineExceeded;
    } else if (answer->status == 401 && !refused_once) {
      refused_once = true;
      credentials_.Refused();
      continue;
    } else if (IsPassing(answer->status)) {
      const wire::ApiError error = answer->Error();
      const bool not_looked_at =
          answer->status == 429 && error.retry_after && !error.HasCause("DisruptionBudget");
      const bool budget = error.HasCause("DisruptionBudget");
      if ((request.repeatable || not_looked_at) && !budget) {
        wait = error.retry_after ? std::max<Duration>(*error.retry_after, backoff.Next())
                                 : backoff.Next();
      }
    }
    const bool in_time = wait && Later(executor_.clock().Now(), *wait) < deadline.at;
    if (!in_time || attempt >= options_.max_attempts) co_return answer;
    co_await executor_.Sleep(*wait);
  }
}

Task<Result<Answer>> Client::Get(Request request, Deadline deadline) {
  CO_TRY(Answer answer, co_await Send(std::move(request), deadline));
  if (!answer.Success()) co_return answer.Error().ToStatus();
  co_return answer;
}

Task<Result<uint64_t>> Client::Open(Request request, Duration max_silence,
                                    std::shared_ptr<net::Exchange> exchange) {
  CO_TRY(net::MultiRequest out, co_await Prepare(request));
  out.timeout = request.timeout;
  out.max_silence = max_silence;
  co_return transport_.Start(std::move(out), std::move(exchange));
}

}  // namespace coppice::kube
