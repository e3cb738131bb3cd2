#include "plugins/batch/extender/go_url.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/strings.h"

namespace coppice::batch::extender {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Letters, digits and what Go leaves alone when it writes a path.
bool IsPlainInPath(char c) {
  return IsLetter(c) || IsDigit(c) ||
         std::string_view("-_.~$&+,/:;=@").find(c) != std::string::npos;
}

// What may also stand there if somebody has written it so.
bool IsAllowedInPath(char c) {
  return IsPlainInPath(c) || std::string_view("!'()*[]%").find(c) != std::string::npos;
}

std::optional<std::string> Unescaped(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    if (i + 2 >= path.size()) return std::nullopt;
    const int high = HexValue(path[i + 1]);
    const int low = HexValue(path[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// The path as it is if it can stand so, else unescaped and escaped again.
Result<std::string> PathAsSent(std::string_view path) {
  const auto plain = Unescaped(path);
  if (!plain) return InvalidArgument("the URL holds a '%' that is no escape");
  if (std::ranges::all_of(path, IsAllowedInPath)) return std::string(path);
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : *plain) {
    if (IsPlainInPath(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

Result<std::string> TargetOf(std::string_view path_and_query) {
  const size_t mark = path_and_query.find('?');
  std::string target = TRY(PathAsSent(path_and_query.substr(0, mark)));
  if (target.empty()) target = "/";
  if (mark != std::string_view::npos) target += path_and_query.substr(mark);
  return target;
}

Status CheckAuthority(std::string_view authority) {
  const std::string_view host = authority.substr(authority.rfind('@') + 1);
  if (host.empty()) return InvalidArgument("the URL names no host");
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket) &&
      !std::ranges::all_of(host.substr(colon + 1), IsDigit)) {
    return InvalidArgument("the URL's port is not a number");
  }
  if (host.find_first_of(" <>\"") != std::string_view::npos) {
    return InvalidArgument("the URL's host holds a character that no host has");
  }
  return Status::Ok();
}

bool HasControlByte(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Without "." and ".." segments.
std::string WithoutDots(std::string_view path) {
  std::vector<std::string> kept;
  const std::vector<std::string> parts = Split(path, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    if (parts[i] == "." || parts[i] == "..") {
      if (parts[i] == ".." && kept.size() > 1) kept.pop_back();
      if (last) kept.emplace_back();
    } else {
      kept.push_back(parts[i]);
    }
  }
  std::string joined = Join(kept, "/");
  return joined.starts_with('/') ? joined : "/" + joined;
}

}  // namespace

Result<GoUrl> ParseGoUrl(std::string_view text) {
  text = text.substr(0, text.find('#'));
  if (HasControlByte(text)) return InvalidArgument("the URL holds a control character");
  size_t colon = 0;
  while (colon < text.size() &&
         (IsLetter(text[colon]) ||
          (colon > 0 && (IsDigit(text[colon]) ||
                         std::string_view("+-.").find(text[colon]) != std::string::npos)))) {
    ++colon;
  }
  GoUrl url;
  if (colon > 0 && colon < text.size() && text[colon] == ':') {
    url.scheme = Lower(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  if (url.scheme != "http" && url.scheme != "https") {
    return InvalidArgument("unsupported protocol scheme \"" + url.scheme + "\"");
  }
  if (!text.starts_with("//")) return InvalidArgument("the URL names no host");
  text.remove_prefix(2);
  const size_t end = std::min(text.find_first_of("/?"), text.size());
  url.authority = text.substr(0, end);
  TRY(CheckAuthority(url.authority));
  url.target = TRY(TargetOf(text.substr(end)));
  return url;
}

Result<GoUrl> ResolveGoUrl(const GoUrl& base, std::string_view location) {
  location = location.substr(0, location.find('#'));
  if (location.find("://") < location.find_first_of("/?")) return ParseGoUrl(location);
  if (location.starts_with("//")) return ParseGoUrl(base.scheme + ":" + std::string(location));
  if (HasControlByte(location)) return InvalidArgument("Location holds a control character");
  GoUrl url = base;
  const std::string_view own_path = std::string_view(base.target).substr(0, base.target.find('?'));
  if (location.empty() || location.starts_with('?')) {
    url.target = std::string(own_path) + std::string(location);
    return url;
  }
  const size_t mark = location.find('?');
  std::string path(location.substr(0, mark));
  if (!path.starts_with('/'))
    path = std::string(own_path.substr(0, own_path.rfind('/') + 1)) + path;
  path = WithoutDots(path);
  if (mark != std::string_view::npos) path += location.substr(mark);
  url.target = TRY(TargetOf(path));
  return url;
}

}  // namespace coppice::batch::extender
