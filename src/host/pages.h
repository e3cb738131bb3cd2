// Pages: what the process answers over HTTP: /health-check, /readyz, /metrics, and the pages that
// whoever puts it together adds. Only GET and HEAD.
//
// Filled before anybody asks; asked on the server's threads.

#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/metric_source.h"
#include "base/metrics.h"
#include "host/health_check.h"
#include "net/http_server.h"

namespace coppice::host {

class Pages {
 public:
  struct Parts {
    const HealthCheck& health;
    Metrics& metrics;
    const MetricSources& metric_sources;
    // "" or why nobody should be sent here.
    std::function<std::string()> not_ready;
    // Before each /metrics: what is worth knowing also when passes hang. May be null.
    std::function<void()> before_metrics = nullptr;
  };
  explicit Pages(Parts parts) : parts_(std::move(parts)) {}

  using Page = std::function<net::ServerResponse(const net::ServerRequest&)>;
  void Add(std::string path, Page page) { pages_[std::move(path)] = std::move(page); }

  net::ServerResponse Answer(const net::ServerRequest& request) const;

 private:
  Parts parts_;
  std::map<std::string, Page, std::less<>> pages_;
};

// An answer in plain text, or the failure that belongs to its code: 400 for a wrong question, 404,
// 503 for whatever may be there later.
net::ServerResponse PlainText(const Result<std::string>& answer);

}  // namespace coppice::host
