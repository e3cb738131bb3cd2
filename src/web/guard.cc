#include "web/guard.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace coppice::web {
namespace {

constexpr std::string_view kCookie = "coppice_session=";
constexpr Duration kSessionLasts = std::chrono::hours(12);
constexpr size_t kMostSessions = 256;
// A guess per so long: a token of 16 letters holds for longer than anybody.
constexpr Duration kAfterWrongToken = std::chrono::milliseconds(200);

std::string NewSession() {
  std::array<unsigned char, 32> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string_view CookieOf(const net::ServerRequest& request) {
  const std::string* header = request.Header("cookie");
  if (header == nullptr) return {};
  std::string_view rest = *header;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view one = Trim(rest.substr(0, end));
    if (one.starts_with(kCookie)) return one.substr(kCookie.size());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace

std::string HostOf(std::string_view header) {
  if (header.starts_with('[')) {
    const size_t end = header.find(']');
    return end == std::string_view::npos ? std::string() : Lower(header.substr(1, end - 1));
  }
  return Lower(header.substr(0, header.find(':')));
}

bool IsLoopbackName(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  if (!host.starts_with("127.")) return false;
  return std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

bool SameSecret(std::string_view a, std::string_view b) {
  unsigned char differ = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    differ |= static_cast<unsigned char>(a[i] ^ (i < b.size() ? b[i] : ~a[i]));
  return differ == 0;
}

Guard::No Guard::Check(const net::ServerRequest& request) const {
  const std::string* header = request.Header("host");
  const std::string host = header == nullptr ? "" : HostOf(*header);
  const bool named = std::ranges::find(options_.hosts, host) != options_.hosts.end();
  if (options_.loopback && !named && !IsLoopbackName(host))
    return {403, "this server answers to localhost and to the names of --web-host only"};
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST")
    return {405, "GET, HEAD and POST"};
  // Browsers say where a request comes from; programs do not, and need not.
  const std::string* site = request.Header("sec-fetch-site");
  const bool navigates = [&] {
    const std::string* mode = request.Header("sec-fetch-mode");
    return mode != nullptr && *mode == "navigate" && request.method == "GET" &&
           !request.path.starts_with("/api/");
  }();
  if (site != nullptr && *site != "same-origin" && *site != "none" && !navigates)
    return {403, "asked for by another site's page"};
  if (const std::string* origin = request.Header("origin")) {
    const std::string own = (options_.tls ? "https://" : "http://") + (header ? *header : "");
    if (*origin != own) return {403, "asked for by another site's page"};
  }
  if (request.method == "POST") {
    const std::string* type = request.Header("content-type");
    if (type == nullptr || !type->starts_with("application/json"))
      return {415, "send application/json"};
  }
  return {0, ""};
}

bool Guard::HasSession(const net::ServerRequest& request) {
  const TimePoint now = clock_.Now();
  std::erase_if(sessions_, [&](const auto& session) { return session.second <= now; });
  const auto found = sessions_.find(CookieOf(request));
  return found != sessions_.end();
}

Guard::No Guard::CheckReader(const net::ServerRequest& request) {
  if (options_.token.empty()) return {0, ""};
  constexpr std::string_view kBearer = "Bearer ";
  const std::string* header = request.Header("authorization");
  if (header != nullptr && header->starts_with(kBearer) &&
      SameSecret(std::string_view(*header).substr(kBearer.size()), options_.token))
    return {0, ""};
  if (HasSession(request)) return {0, ""};
  return {401, "send the token: Authorization: Bearer …"};
}

net::ServerResponse Guard::LogIn(const net::ServerRequest&, std::string_view token) {
  net::ServerResponse response{.content_type = "application/json"};
  const TimePoint now = clock_.Now();
  if (now >= refused_at_ && now - refused_at_ < kAfterWrongToken) {
    response.status = 429;
    response.body = R"({"error":"too fast: wait a moment"})";
    return response;
  }
  if (!options_.token.empty() && !SameSecret(token, options_.token)) {
    refused_at_ = now;
    response.status = 401;
    response.body = R"({"error":"that is not the token"})";
    return response;
  }
  while (sessions_.size() >= kMostSessions)
    sessions_.erase(
        std::ranges::min_element(sessions_, {}, [](const auto& s) { return s.second; }));
  const std::string session = NewSession();
  sessions_[session] = now + kSessionLasts;
  response.headers.emplace_back("Set-Cookie",
                                std::string(kCookie) + session +
                                    "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200" +
                                    (options_.tls ? "; Secure" : ""));
  response.body = R"({"ok":true})";
  return response;
}

}  // namespace coppice::web
