#include "net/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace coppice::net {

namespace {

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUnreserved(char c) {
  return IsAlpha(c) || IsDigit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Printable ASCII without the characters that RFC 3986 knows nowhere. Lenient servers that let a
// space or a backslash pass have been the way in for more than one attack.
bool IsUrlChar(char c) {
  return c > ' ' && c < 0x7F && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
}

Result<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, port);
  if (text.empty() || problem != std::errc() || stop != end) {
    return InvalidArgument("the port must be a number from 0 to 65535");
  }
  return port;
}

Status CheckHost(std::string_view host, bool bracketed) {
  if (bracketed) {
    in6_addr address;
    if (::inet_pton(AF_INET6, std::string(host).c_str(), &address) != 1) {
      return InvalidArgument("what is in brackets must be an IPv6 address");
    }
    return Status::Ok();
  }
  const auto allowed = [](char c) {
    return IsAlpha(c) || IsDigit(c) || c == '-' || c == '.' || c == '_';
  };
  if (!std::ranges::all_of(host, allowed)) {
    return InvalidArgument(
        "a host name has letters, digits, '-' and '.' only; "
        "an IPv6 address goes into brackets");
  }
  if (host.size() > 253) return InvalidArgument("a host name has at most 253 characters");
  return Status::Ok();
}

struct Authority {
  std::string host;
  std::optional<uint16_t> port;
};

Result<Authority> ParseAuthority(std::string_view text) {
  Authority authority;
  std::string_view host = text;
  std::string_view rest;
  const bool bracketed = text.starts_with('[');
  if (bracketed) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return InvalidArgument("a ']' is missing");
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  TRY(CheckHost(host, bracketed));
  authority.host = Lower(host);
  if (rest.empty()) return authority;
  if (rest.front() != ':') return InvalidArgument("after the host only ':' and a port may follow");
  authority.port = TRY(ParsePort(rest.substr(1)));
  return authority;
}

std::string Bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

Result<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
      if (high < 0 || low < 0) return InvalidArgument("a '%' must be followed by two hex digits");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

// Splits at "/", drops "." and lets ".." take its predecessor along.
Result<std::string> ResolveDots(std::string_view path) {
  std::vector<std::string> kept;
  const std::vector<std::string> parts = Split(path.substr(1), '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    if (parts[i] == "..") {
      if (kept.empty()) return InvalidArgument("the path climbs above '/'");
      kept.pop_back();
    } else if (parts[i] != ".") {
      kept.push_back(parts[i]);
      continue;
    }
    if (last) kept.emplace_back();  // "/a/." is the folder "/a/"
  }
  return "/" + Join(kept, "/");
}

bool HasControl(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

uint16_t Url::PortOrDefault() const { return port.value_or(scheme == "https" ? 443 : 80); }

std::string Url::Authority() const {
  return Bracketed(host) + (port ? ":" + std::to_string(*port) : "");
}

std::string Url::ToString() const {
  return scheme + "://" + Authority() + path + (query.empty() ? "" : "?" + query);
}

Result<Url> ParseUrl(std::string_view text) {
  if (!std::ranges::all_of(text, IsUrlChar)) {
    return InvalidArgument("a URL has no spaces and no characters but ASCII; encode them as %XX");
  }
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) {
    return InvalidArgument("a URL begins with a scheme, for example https://");
  }
  Url url;
  url.scheme = Lower(text.substr(0, colon));
  const auto in_scheme = [](char c) {
    return IsAlpha(c) || IsDigit(c) || c == '+' || c == '-' || c == '.';
  };
  if (!IsAlpha(url.scheme.front()) || !std::ranges::all_of(url.scheme, in_scheme)) {
    return InvalidArgument("the scheme of a URL has letters, digits and '+', '-', '.' only");
  }
  text.remove_prefix(colon + 3);
  text = text.substr(0, text.find('#'));
  const std::string_view authority = text.substr(0, text.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) {
    return InvalidArgument("user and password do not belong into a URL: they end up in logs");
  }
  auto [host, port] = TRY(ParseAuthority(authority));
  if (host.empty()) return InvalidArgument("a URL names a host after ://");
  url.host = std::move(host);
  url.port = port;
  text.remove_prefix(authority.size());
  const size_t question = text.find('?');
  url.path = std::string(text.substr(0, question));
  if (url.path.empty()) url.path = "/";
  if (question != std::string_view::npos) url.query = std::string(text.substr(question + 1));
  // Kept as written, but what cannot be decoded is no URL.
  TRY(PercentDecode(url.path));
  TRY(PercentDecode(url.query));
  return url;
}

Result<Target> ParseTarget(std::string_view text) {
  if (!text.starts_with('/')) {
    const Url url = TRY(ParseUrl(text));
    return ParseTarget(url.path + (url.query.empty() ? "" : "?" + url.query));
  }
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; })) {
    return InvalidArgument("a request target has no spaces and no characters but ASCII");
  }
  text = text.substr(0, text.find('#'));
  const size_t question = text.find('?');
  const std::string path = TRY(PercentDecode(text.substr(0, question)));
  if (HasControl(path)) return InvalidArgument("the path has a control character");
  Target target;
  target.path = TRY(ResolveDots(path));
  if (question != std::string_view::npos) {
    target.query = TRY(ParseQuery(text.substr(question + 1)));
  }
  return target;
}

Result<HostPort> ParseHostPort(std::string_view text) {
  auto [host, port] = TRY(ParseAuthority(text));
  if (!port) return InvalidArgument("a port is missing; write for example 127.0.0.1:8080");
  return HostPort{.host = std::move(host), .port = *port};
}

std::string ToString(const HostPort& address) {
  return Bracketed(address.host) + ":" + std::to_string(address.port);
}

std::string PercentEncode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return encoded;
}

Result<std::string> PercentDecode(std::string_view text) { return Decode(text, false); }

std::string FormatQuery(const QueryItems& items) {
  std::string query;
  for (const auto& [name, value] : items) {
    if (!query.empty()) query += '&';
    query += PercentEncode(name) + "=" + PercentEncode(value);
  }
  return query;
}

Result<QueryItems> ParseQuery(std::string_view text) {
  QueryItems items;
  for (const std::string& part : Split(text, '&')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    std::string name = TRY(Decode(std::string_view(part).substr(0, equals), true));
    std::string value;
    if (equals != std::string::npos) {
      value = TRY(Decode(std::string_view(part).substr(equals + 1), true));
    }
    items.emplace_back(std::move(name), std::move(value));
  }
  return items;
}

}  // namespace coppice::net
