#include "net/curl_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace coppice::net {

Status InitCurl() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  return initialised == CURLE_OK ? Status::Ok() : Internal("libcurl cannot be initialised");
}

bool HasControlBytes(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Status CheckRequest(const HttpRequest& request) {
  if (request.method.empty() ||
      !std::ranges::all_of(request.method, [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return InvalidArgument("the HTTP method is not a word in capitals");
  }
  if (HasControlBytes(request.url)) return InvalidArgument("the URL holds control characters");
  // A line break would smuggle in a header; a token read from a file often ends with one.
  if (HasControlBytes(request.bearer_token.Reveal())) {
    return InvalidArgument("the bearer token holds control characters, such as a line break");
  }
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || HasControlBytes(name) || name.find(':') != std::string::npos ||
        HasControlBytes(value)) {
      return InvalidArgument("a header holds control characters or has no name");
    }
  }
  return Status::Ok();
}

std::string Describe(const HttpRequest& request) {
  std::string_view url = request.url;
  url = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return fmt::format("{} {}", request.method, url);
  std::string_view rest = url.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos)
    rest.remove_prefix(at + 1);
  return fmt::format("{} {}://{}", request.method, url.substr(0, scheme), rest);
}

void SetMethod(CURL* handle, const HttpRequest& request, curl_read_callback send, void* opaque) {
  if (request.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    return;
  }
  if (request.method == "POST" || !request.body.empty()) {
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, send);
    curl_easy_setopt(handle, CURLOPT_READDATA, opaque);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    // Without a body nothing would have to be rewound, so that only a fresh connection is safe.
    if (request.body.empty()) curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
  }
  if (request.method != "GET" && request.method != "POST")
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void AddHeaderLine(std::string_view line, HttpResponse& response) {
  line = Trim(line);
  if (line.starts_with("HTTP/")) {
    response.headers.clear();
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  response.headers.emplace_back(Lower(Trim(line.substr(0, colon))),
                                std::string(Trim(line.substr(colon + 1))));
}

Status FailureOf(CURLcode outcome, std::string text) {
  switch (outcome) {
    case CURLE_OPERATION_TIMEDOUT:
      return DeadlineExceeded(std::move(text));
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return InvalidArgument(std::move(text));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      // Not a matter of trying again: the operator has to look at the certificate or the CA file.
      return FailedPrecondition(std::move(text));
    default:
      return Unavailable(std::move(text));
  }
}

// "Name;" is how libcurl is told to send a header without a value.
void HeaderList::Add(const std::string& name, const std::string& value) {
  list_ = curl_slist_append(
      list_, (value.empty() ? name + ";" : fmt::format("{}: {}", name, value)).c_str());
}

}  // namespace coppice::net
