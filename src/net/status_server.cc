#include "net/status_server.h"

#include <utility>

namespace coppice::net {
namespace {

ServerResponse Answer(const ServerRequest& request, Metrics& metrics,
                      const std::function<Status()>& ready) {
  if (request.method != "GET" && request.method != "HEAD")
    return {.status = 405, .body = "GET only\n"};
  if (request.path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Render()};
  }
  if (request.path == "/healthz") return {.body = "ok\n"};
  if (request.path == "/readyz") {
    const Status status = ready();
    if (status.ok()) return {.body = "ok\n"};
    return {.status = 503, .body = status.message() + "\n"};
  }
  return {.status = 404, .body = "there are /metrics, /healthz and /readyz\n"};
}

}  // namespace

// Those who ask are a scraper, the kubelet and now and then a person; nobody sends us anything.
HttpServerOptions StatusServerOptions(const HostPort& at, const Log& log) {
  return {.host = at.host,
          .port = at.port,
          .max_body_bytes = 0,
          .max_held_bytes = 64 << 20,
          .max_connections = 100,
          .max_streams = 8,
          .log = log};
}

Result<std::unique_ptr<HttpServer>> ServeStatus(const std::string& address, Metrics& metrics,
                                                const Log& log, std::function<Status()> ready) {
  if (address.empty()) return std::unique_ptr<HttpServer>();
  const auto at = TRY(ParseHostPort(address).Context("--metrics-addr " + address));
  return HttpServer::Create(StatusServerOptions(at, log),
                            [&metrics, ready = std::move(ready)](const ServerRequest& request) {
                              return Answer(request, metrics, ready);
                            });
}

}  // namespace coppice::net
