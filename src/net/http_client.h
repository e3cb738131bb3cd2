// HttpClient: one request, one answer, blocking, with a deadline.
//
// For REST APIs of clouds and the like. Kubernetes, which wants streams and thousands of requests
// on one connection, has a client of its own. Any thread may call; each call in flight has a
// connection of its own, and connections are kept for the next call. An HTTP status, whatever it
// is, is an answer and not a failure.
//
// A request that may have reached the server is never sent a second time unless its method is safe
// to repeat: libcurl would silently repeat a POST on a connection that died under it, and thereby
// buy a second machine.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"
#include "base/status.h"

namespace coppice::net {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // absolute, http or https
  std::vector<std::pair<std::string, std::string>> headers;
  Secret bearer_token;  // sent as Authorization; never part of an error or a log
  std::string body;
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool cut = false;  // the body went on: HttpClientOptions::cut_long_bodies

  // The first header of that name (lower case), or null.
  const std::string* Header(std::string_view name) const;
  bool Success() const { return status >= 200 && status < 300; }
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // kDeadlineExceeded and kUnavailable: no answer, and unknown whether the server acted.
  // kInvalidArgument: the request could not be sent as it is (URL, header). kResourceExhausted: the
  // answer is larger than allowed.
  virtual Result<HttpResponse> Send(const HttpRequest& request, Deadline deadline) = 0;
};

struct HttpClientOptions {
  std::string user_agent = "coppice";
  // PEM file of the authorities to trust instead of the system's. Certificates are always verified.
  std::string ca_file;
  // PEM files with which the client shows who it is. Both or none.
  std::string cert_file;
  std::string key_file;
  // Unset: http_proxy, https_proxy, all_proxy and no_proxy of the environment count. "": no proxy
  // at all.
  std::optional<std::string> proxy;
  Duration connect_timeout = std::chrono::seconds(10);
  Duration request_timeout = std::chrono::seconds(30);  // the caller's deadline may be earlier
  size_t max_body_bytes = 64 << 20;
  size_t max_header_bytes = 64 << 10;
  int max_redirects = 0;  // 0: a redirect is an answer like any other
  size_t max_idle_connections = 16;
  std::string accept_encoding;   // empty: whatever can be unpacked
  bool accept_header = true;     // "Accept: */*", unless the request has one
  bool path_as_is = false;       // dots in a path are sent and not resolved
  bool cut_long_bodies = false;  // one above max_body_bytes is an answer, cut off there
};

Result<std::unique_ptr<HttpClient>> MakeHttpClient(HttpClientOptions options, const Clock& clock);

// Seconds or an HTTP date, as Retry-After has it; nullopt when it is neither. Never negative.
std::optional<Duration> ParseRetryAfter(std::string_view text, TimePoint now);

}  // namespace coppice::net
