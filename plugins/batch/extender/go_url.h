// A URL as Go takes it apart and sends it: lenient where RFC 3986 is strict, and never changed more
// than it has to be. Extenders are found by what follows from it.

#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::batch::extender {

struct GoUrl {
  std::string scheme;     // lower case
  std::string authority;  // host[:port], with user and password if there are any
  std::string target;     // path and query as they go into the request line

  std::string ToString() const { return scheme + "://" + authority + target; }
  // What names the other end: without user and password.
  std::string_view host() const {
    return std::string_view(authority).substr(authority.rfind('@') + 1);
  }
};

// http and https only.
Result<GoUrl> ParseGoUrl(std::string_view text);

// Where a redirect from `base` leads.
Result<GoUrl> ResolveGoUrl(const GoUrl& base, std::string_view location);

}  // namespace coppice::batch::extender
