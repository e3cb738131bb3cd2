#include "plugins/batch/extender/caller.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/strings.h"

namespace coppice::batch::extender {
namespace {

constexpr int kMaxRequests = 10;  // the first included
constexpr size_t kQueuedCalls = 1 << 16;

std::string UrlText(const std::string& prefix, const std::string& verb) {
  std::string_view trimmed = prefix;
  while (trimmed.ends_with('/')) trimmed.remove_suffix(1);
  return std::string(trimmed) + "/" + verb;
}

// Go never goes to this machine by way of a proxy.
bool IsThisMachine(std::string_view host) {
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

// By the environment, as libcurl reads it.
bool HasProxy() {
  return std::ranges::any_of(std::array{"http_proxy", "all_proxy", "ALL_PROXY"},
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

net::HttpRequest MakeRequest(const GoUrl& url, const std::string& body, const Secret& token) {
  net::HttpRequest request{.method = "POST", .url = url.ToString()};
  request.headers.emplace_back("Content-Type", "application/json");
  request.bearer_token = token;
  request.body = body;
  return request;
}

// The next request of a redirect: 301, 302 and 303 ask again without the body.
Status Follow(const net::HttpResponse& response, GoUrl& url, net::HttpRequest& request) {
  const std::string* location = response.Header("location");
  const GoUrl from = url;
  url = TRY(ResolveGoUrl(from, *location));
  if (response.status < 304) {
    request.method = "GET";
    request.body.clear();
  }
  request.headers.clear();
  if (request.method == "POST") request.headers.emplace_back("Content-Type", "application/json");
  if (from.scheme == "http" || url.scheme == "https") {
    const std::string referer = from.scheme + "://" + std::string(from.host()) + from.target;
    request.headers.emplace_back("Referer", referer);
  }
  if (url.host() != from.host()) request.bearer_token = Secret();
  request.url = url.ToString();
  return Status::Ok();
}

}  // namespace

Caller::Caller(const Config& config, bool upstream_exact, const Clock& clock,
               std::unique_ptr<net::HttpClient> client)
    : prefix_(config.url_prefix),
      timeout_(config.timeout),
      token_file_(config.token_file),
      clock_(clock),
      client_(std::move(client)),
      breaker_(upstream_exact ? 0 : config.breaker_failures, config.breaker_pause) {}

Result<std::shared_ptr<Caller>> Caller::Create(const Config& config, bool upstream_exact,
                                               const Clock& clock, const ClientMaker& make,
                                               const PipesMaker& make_pipes) {
  net::HttpClientOptions options{
      .ca_file = config.ca_file,
      .cert_file = config.cert_file,
      .key_file = config.key_file,
      .connect_timeout = std::chrono::seconds(30),
      .request_timeout = std::chrono::hours(24),
      .max_body_bytes = kMaxAnswerBytes,
      .max_idle_connections = kCallsAtOnce,
      .accept_encoding = "gzip",
      .accept_header = false,
      .path_as_is = true,
      .cut_long_bodies = true,
  };
  if (upstream_exact) options.user_agent = "Go-http-client/1.1";
  const auto url = ParseGoUrl(config.url_prefix);
  if (url.ok() && IsThisMachine(url->host())) options.proxy = "";
  const bool direct = url.ok() && url->scheme == "http" && (options.proxy || !HasProxy());
  auto client = TRY(make(std::move(options)));
  std::shared_ptr<Caller> caller(new Caller(config, upstream_exact, clock, std::move(client)));
  if (direct && !upstream_exact && make_pipes)
    caller->pipes_ = make_pipes({.connections = kCallsAtOnce, .max_body_bytes = kMaxAnswerBytes});
  return caller;
}

Status Caller::ReadToken() {
  if (token_file_.empty()) return Status::Ok();
  std::ifstream file(token_file_, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) {
    return Unavailable("the extender's token file cannot be read: " + token_file_);
  }
  Secret token(std::string(Trim(text)));
  const std::lock_guard lock(token_mutex_);
  token_ = std::move(token);
  return token_.empty() ? FailedPrecondition("the extender's token file is empty: " + token_file_)
                        : Status::Ok();
}

std::string Caller::Name() const {
  const auto url = ParseGoUrl(prefix_);
  return url.ok() ? url->scheme + "://" + std::string(url->host()) + url->target : prefix_;
}

Secret Caller::Token() const {
  const std::lock_guard lock(token_mutex_);
  return token_;
}

Status Caller::Unexpected(const std::string& verb, int status) const {
  return FailedPrecondition("failed " + verb + " with extender at URL " + UrlText(prefix_, verb) +
                            ", code " + std::to_string(status));
}

Result<Reply> Caller::Exchange(const std::string& verb, const std::string& body,
                               Deadline deadline) {
  const std::string text = UrlText(prefix_, verb);
  GoUrl url = TRY(ParseGoUrl(text));
  net::HttpRequest request = MakeRequest(url, body, Token());
  for (int sent = 1;; ++sent) {
    net::HttpResponse response = TRY(client_->Send(request, deadline));
    if (response.status == 200) return Reply{std::move(response.body), response.cut};
    const std::string* location = response.Header("location");
    if (!IsRedirect(response.status) || !location || location->empty()) {
      return Unexpected(verb, response.status);
    }
    if (sent == kMaxRequests) return FailedPrecondition("stopped after 10 redirects");
    TRY(Follow(response, url, request));
  }
}

Result<Reply> Caller::Post(const std::string& verb, const std::string& body) {
  TRY(breaker_.Admit(clock_.Now()));
  const Deadline deadline =
      timeout_ > Duration::zero() ? Deadline::In(clock_, timeout_) : Deadline::Never();
  Result<Reply> reply = Exchange(verb, body, deadline);
  breaker_.Note(reply.ok() ? Status::Ok() : reply.status(), clock_.Now());
  return reply;
}

std::vector<Result<Reply>> Caller::PostAll(const std::string& verb, size_t count,
                                           const std::function<std::string(size_t)>& body) {
  if (count == 1) return {Post(verb, body(0))};
  std::vector<std::optional<Result<Reply>>> some(count);
  if (!PostOverPipes(verb, body, some)) return PostOneByOne(verb, count, body);
  std::vector<size_t> left;
  for (size_t i = 0; i < count; ++i) {
    if (!some[i]) left.push_back(i);
  }
  std::vector<Result<Reply>> rest =
      PostOneByOne(verb, left.size(), [&](size_t i) { return body(left[i]); });
  for (size_t i = 0; i < left.size(); ++i) some[left[i]] = std::move(rest[i]);
  std::vector<Result<Reply>> replies;
  for (auto& reply : some) replies.push_back(*std::move(reply));
  return replies;
}

// False: nobody is asked this way. An extender that has failed is asked one call at a time until it
// answers again.
bool Caller::PostOverPipes(const std::string& verb, const std::function<std::string(size_t)>& body,
                           std::vector<std::optional<Result<Reply>>>& replies) {
  if (!pipes_ || breaker_.state() != Breaker::State::kClosed) return false;
  const auto url = net::ParseUrl(UrlText(prefix_, verb));
  if (!url.ok()) return false;
  static const std::vector<std::pair<std::string, std::string>> kHeaders{
      {"Content-Type", "application/json"}};
  const Secret token = Token();
  auto answers =
      pipes_->Ask({.url = *url, .headers = kHeaders, .bearer_token = token, .timeout = timeout_},
                  replies.size(), body);
  for (size_t i = 0; i < replies.size(); ++i) {
    if (!answers[i]) continue;
    Result<net::HttpResponse>& answer = *answers[i];
    if (!answer.ok()) {
      replies[i] = answer.status();
    } else if (answer->status == 200) {
      replies[i] = Reply{std::move(answer->body), false};
    } else {
      replies[i] = Unexpected(verb, answer->status);
    }
    breaker_.Note(replies[i]->ok() ? Status::Ok() : replies[i]->status(), clock_.Now());
  }
  return true;
}

std::vector<Result<Reply>> Caller::PostOneByOne(const std::string& verb, size_t count,
                                                const std::function<std::string(size_t)>& body) {
  std::vector<Result<Reply>> replies(count, Unavailable("not asked"));
  if (count == 0) return replies;
  if (!pool_) pool_ = std::make_unique<Pool>(kCallsAtOnce, kQueuedCalls);
  std::mutex mutex;
  std::condition_variable changed;
  size_t under_way = 0;
  for (size_t i = 0; i < count; ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return under_way < kCallsAtOnce; });
    ++under_way;
    lock.unlock();
    auto text = std::make_shared<std::string>(body(i));
    const auto call = [&, i, text] {
      Result<Reply> reply = Post(verb, *text);
      const std::lock_guard done(mutex);
      replies[i] = std::move(reply);
      --under_way;
      changed.notify_all();
    };
    if (!pool_->Submit(call).ok()) call();
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return under_way == 0; });
  return replies;
}

}  // namespace coppice::batch::extender
