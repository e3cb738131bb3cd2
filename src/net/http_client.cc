#include "net/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/mutex.h"
#include "base/strings.h"
#include "net/curl_parts.h"

namespace coppice::net {
namespace {

// What the callbacks of one transfer share. `why_stopped` says which of them ended it.
struct Transfer {
  const HttpClientOptions* options = nullptr;
  const std::string* body_out = nullptr;
  size_t sent = 0;
  HttpResponse response;
  size_t header_bytes = 0;
  std::string why_stopped;
};

size_t OnBody(char* data, size_t, size_t size, void* opaque) {
  auto& transfer = *static_cast<Transfer*>(opaque);
  if (transfer.response.body.size() + size > transfer.options->max_body_bytes) {
    if (transfer.options->cut_long_bodies) {
      transfer.response.cut = true;
      transfer.response.body.append(
          data, transfer.options->max_body_bytes - transfer.response.body.size());
      return 0;
    }
    transfer.why_stopped =
        fmt::format("the answer is longer than {} bytes", transfer.options->max_body_bytes);
    return 0;
  }
  transfer.response.body.append(data, size);
  return size;
}

size_t OnHeader(char* data, size_t, size_t size, void* opaque) {
  auto& transfer = *static_cast<Transfer*>(opaque);
  transfer.header_bytes += size;
  if (transfer.header_bytes > transfer.options->max_header_bytes) {
    transfer.why_stopped = fmt::format("the answer's headers are longer than {} bytes",
                                       transfer.options->max_header_bytes);
    return 0;
  }
  AddHeaderLine({data, size}, transfer.response);
  return size;
}

// The body goes out through a callback that cannot rewind, on purpose: libcurl then fails a
// repetition on a dead connection instead of making it (see the header).
size_t OnSend(char* data, size_t, size_t room, void* opaque) {
  auto& transfer = *static_cast<Transfer*>(opaque);
  const size_t count = std::min(room, transfer.body_out->size() - transfer.sent);
  std::copy_n(transfer.body_out->data() + transfer.sent, count, data);
  transfer.sent += count;
  return count;
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(HttpClientOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  ~CurlClient() override {
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
  }

  Result<HttpResponse> Send(const HttpRequest& request, Deadline deadline) override {
    TRY(CheckRequest(request));
    const Duration left = std::min(deadline.Left(clock_), options_.request_timeout);
    const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    if (millis <= 0) return DeadlineExceeded(Describe(request) + ": no time left to send it");
    CURL* handle = Take();
    if (handle == nullptr) return Internal("libcurl gave no handle");
    HeaderList headers;
    Transfer transfer{.options = &options_, .body_out = &request.body};
    Prepare(handle, request, static_cast<long>(millis), headers, transfer);
    char detail[CURL_ERROR_SIZE] = {};
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
    const CURLcode outcome = curl_easy_perform(handle);
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    Return(handle);
    if (outcome != CURLE_OK && !transfer.response.cut) {
      const std::string why = !transfer.why_stopped.empty() ? transfer.why_stopped
                              : detail[0] != '\0'           ? std::string(detail)
                                                            : curl_easy_strerror(outcome);
      return Failure(outcome, transfer, Describe(request) + ": " + why);
    }
    transfer.response.status = static_cast<int>(status);
    return std::move(transfer.response);
  }

 private:
  // A handle that was used last has the freshest connection, hence a stack.
  CURL* Take() {
    {
      const MutexLock lock(mutex_);
      if (!idle_.empty()) {
        CURL* handle = idle_.back();
        idle_.pop_back();
        return handle;
      }
    }
    return curl_easy_init();
  }

  void Return(CURL* handle) {
    curl_easy_reset(handle);  // keeps connections, DNS and TLS sessions
    {
      const MutexLock lock(mutex_);
      if (idle_.size() < options_.max_idle_connections) {
        idle_.push_back(handle);
        return;
      }
    }
    curl_easy_cleanup(handle);
  }

  void Prepare(CURL* handle, const HttpRequest& request, long millis, HeaderList& headers,
               Transfer& transfer) const {
    const auto set = [handle](CURLoption option, auto value) {
      curl_easy_setopt(handle, option, value);
    };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_NOSIGNAL, 1L);  // time-outs without signals: we have threads
    set(CURLOPT_TIMEOUT_MS, millis);
    const auto connect =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.connect_timeout).count();
    set(CURLOPT_CONNECTTIMEOUT_MS, std::min(static_cast<long>(connect), millis));
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    // Empty is whatever libcurl can unpack; the body limit counts unpacked bytes.
    set(CURLOPT_ACCEPT_ENCODING, options_.accept_encoding.c_str());
    if (options_.path_as_is) set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_FOLLOWLOCATION, options_.max_redirects > 0 ? 1L : 0L);
    set(CURLOPT_MAXREDIRS, static_cast<long>(options_.max_redirects));
    set(CURLOPT_MAXCONNECTS, 2L);
    if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
    if (!options_.cert_file.empty()) {
      set(CURLOPT_SSLCERT, options_.cert_file.c_str());
      set(CURLOPT_SSLKEY, options_.key_file.c_str());
    }
    if (options_.proxy) set(CURLOPT_PROXY, options_.proxy->c_str());

    for (const auto& [name, value] : request.headers) headers.Add(name, value);
    if (!options_.accept_header) headers.AddLine("Accept:");
    headers.AddLine("Expect:");  // one round trip less for bodies over 1 KiB
    set(CURLOPT_HTTPHEADER, headers.get());
    if (!request.bearer_token.empty()) {
      // As an option and not as a header: libcurl then drops it when a redirect leaves the host.
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
      set(CURLOPT_XOAUTH2_BEARER, request.bearer_token.Reveal().c_str());
    }
    SetMethod(handle, request, OnSend, &transfer);
    set(CURLOPT_WRITEFUNCTION, OnBody);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_HEADERFUNCTION, OnHeader);
    set(CURLOPT_HEADERDATA, &transfer);
  }

  static Status Failure(CURLcode outcome, const Transfer& transfer, std::string text) {
    if (!transfer.why_stopped.empty()) return ResourceExhausted(std::move(text));
    return FailureOf(outcome, std::move(text));
  }

  const HttpClientOptions options_;
  const Clock& clock_;
  Mutex mutex_;
  std::vector<CURL*> idle_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace

const std::string* HttpResponse::Header(std::string_view name) const {
  const auto it = std::ranges::find_if(headers, [&](const auto& h) { return h.first == name; });
  return it == headers.end() ? nullptr : &it->second;
}

Result<std::unique_ptr<HttpClient>> MakeHttpClient(HttpClientOptions options, const Clock& clock) {
  TRY(InitCurl());
  return std::unique_ptr<HttpClient>(std::make_unique<CurlClient>(std::move(options), clock));
}

std::optional<Duration> ParseRetryAfter(std::string_view text, TimePoint now) {
  text = Trim(text);
  if (text.empty()) return std::nullopt;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (end == text.data() + text.size() && error == std::errc()) {
    // A day is longer than any deadline; more would only overflow.
    return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, 86'400));
  }
  if (HasControlBytes(text)) return std::nullopt;
  const time_t when = curl_getdate(std::string(text).c_str(), nullptr);
  if (when == -1) return std::nullopt;
  const int64_t ahead =
      int64_t{when} -
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  return std::chrono::seconds(std::clamp<int64_t>(ahead, 0, 86'400));
}

}  // namespace coppice::net
