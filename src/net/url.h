// URLs, request targets and host:port addresses: taking apart, putting together, percent-encoding.
//
// What is refused is refused with a sentence and without quoting the text, which may hold a
// password.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace coppice::net {

// In file order; a name may occur more than once.
using QueryItems = std::vector<std::pair<std::string, std::string>>;

struct Url {
  std::string scheme;  // lower case
  std::string host;    // lower case; an IPv6 address without its brackets
  std::optional<uint16_t> port;
  std::string path;   // encoded, as written; at least "/"
  std::string query;  // encoded, as written, without the "?"

  // The port that is meant when none is written: 443 for https, else 80.
  uint16_t PortOrDefault() const;
  // "host", "host:8080", "[::1]:8080": what the Host header holds.
  std::string Authority() const;
  std::string ToString() const;

  friend bool operator==(const Url&, const Url&) = default;
};

// An absolute URL, scheme://host[:port][/path][?query]. A fragment is dropped: it never reaches a
// server. User and password are refused: they end up in logs.
Result<Url> ParseUrl(std::string_view text);

// What an HTTP request asks for.
struct Target {
  std::string path;  // decoded; "." and ".." resolved; always begins with "/"
  QueryItems query;  // decoded
};

// "/path?query", or the absolute form that proxies send. Refuses control characters, malformed
// escapes and paths that climb above "/", also when the dots are escaped.
Result<Target> ParseTarget(std::string_view text);

struct HostPort {
  std::string host;  // "" in ":8080": every interface
  uint16_t port = 0;
};

// "127.0.0.1:8080", "[::1]:8080", "name:8080", ":8080".
Result<HostPort> ParseHostPort(std::string_view text);
std::string ToString(const HostPort& address);

// Everything but letters, digits and -._~ becomes %XX, so the result is safe in any part of a URL.
std::string PercentEncode(std::string_view text);
Result<std::string> PercentDecode(std::string_view text);

// a=b&c=d, both sides encoded. When parsing, "+" is a space, as forms send it.
std::string FormatQuery(const QueryItems& items);
Result<QueryItems> ParseQuery(std::string_view text);

}  // namespace coppice::net
