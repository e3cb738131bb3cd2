// Guard: who may ask the dashboard's server, judged from a request's header. On loopback: whoever
// reaches it under a name of this machine, so that a page from elsewhere that has talked a browser
// into another address (DNS rebinding) is refused. Elsewhere: who has the token, or a certificate
// (which the TLS layer has checked by then). Changes only from a page of our own.
//
// The server's thread only.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "net/http_server.h"

namespace coppice::web {

struct GuardOptions {
  bool loopback = true;            // the server listens there and nowhere else
  std::string token;               // "": none is asked for
  bool tls = false;                // cookies are for TLS only
  std::vector<std::string> hosts;  // further names under which the server may be called
};

class Guard {
 public:
  Guard(GuardOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  struct No {
    int status = 403;
    std::string why;
  };
  // For everything: a name that is ours, and no foreign page behind it. Empty `why`: go on.
  No Check(const net::ServerRequest& request) const;
  // For what tells something of the cluster.
  No CheckReader(const net::ServerRequest& request);

  // Whoever shows the token gets a session, in a cookie: pages cannot send headers of their own
  // with an event stream.
  net::ServerResponse LogIn(const net::ServerRequest& request, std::string_view token);

 private:
  bool HasSession(const net::ServerRequest& request);

  const GuardOptions options_;
  const Clock& clock_;
  std::map<std::string, TimePoint, std::less<>> sessions_;  // until when
  TimePoint refused_at_{};
};

// "name", "name:80", "[::1]:80" without the port and the brackets; lower case.
std::string HostOf(std::string_view header);
bool IsLoopbackName(std::string_view host);
// In time that does not depend on where they differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace coppice::web
