// Site: what the dashboard's server answers: its own files, and JSON under /api/v1 (docs/api.md,
// assets/openapi.yaml). Read-only but for what is posted to /api/v1/whatif (which touches nothing),
// /api/v1/control (a model cluster only) and /api/v1/session.
//
// Answers on the server's thread, from what the Board has published: never from the decision
// thread, and never waiting for it.

#pragma once

#include <functional>
#include <string>

#include "net/http_server.h"
#include "report/json_out.h"
#include "web/board.h"
#include "web/desk.h"
#include "web/guard.h"

namespace coppice::web {

class Site {
 public:
  struct Parts {
    Board& board;
    Guard& guard;
    Desk* desk = nullptr;  // null: no what-if here
    // Fields of /api/v1/health beside the passes, into an open object. Any thread.
    std::function<void(report::JsonOut&)> health = nullptr;
    // "", or that this replica does not lead, and who does: what passes decided is known there.
    std::function<std::string()> stands_by = nullptr;
    // {"mode":"model","paused":false,"speed":60} or {"mode":"cluster","leads":true,"leader":"a"}.
    std::function<std::string()> control_state = nullptr;
    std::function<void(const Control&)> control = nullptr;  // null: nothing to steer
  };
  explicit Site(Parts parts) : parts_(std::move(parts)) {}

  net::ServerResponse Answer(const net::ServerRequest& request);

 private:
  net::ServerResponse Api(const net::ServerRequest& request);
  net::ServerResponse Get(const std::string& what, const net::ServerRequest& request);
  net::ServerResponse Post(const std::string& what, const net::ServerRequest& request);
  net::ServerResponse Events(const net::ServerRequest& request);
  net::ServerResponse Explain(const net::ServerRequest& request);
  net::ServerResponse State(const net::ServerRequest& request);
  net::ServerResponse Timeline(const net::ServerRequest& request);
  net::ServerResponse Health();

  Parts parts_;
};

// The limits of a server for this: small bodies, many streams.
net::HttpServerOptions SiteServerOptions(const net::HostPort& at, const Log& log);

}  // namespace coppice::web
