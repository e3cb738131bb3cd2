#include "host/pages.h"

#include "host/process_metrics.h"

namespace coppice::host {

net::ServerResponse Pages::Answer(const net::ServerRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD")
    return {.status = 405, .body = "GET only\n"};
  net::ServerResponse response;
  if (request.path == "/health-check") {
    const std::string trouble = parts_.health.Trouble();
    response.status = trouble.empty() ? 200 : 500;
    response.body = trouble.empty() ? "OK" : trouble;
  } else if (request.path == "/readyz") {
    const std::string trouble = parts_.not_ready();
    response.status = trouble.empty() ? 200 : 503;
    response.body = trouble.empty() ? "ok" : trouble;
  } else if (request.path == "/metrics") {
    if (parts_.before_metrics) parts_.before_metrics();
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = parts_.metrics.Render() + parts_.metric_sources.Render() + ProcessMetrics();
  } else if (const auto page = pages_.find(request.path); page != pages_.end()) {
    response = page->second(request);
  } else {
    response.status = 404;
    response.body = "not found\n";
  }
  return response;
}

net::ServerResponse PlainText(const Result<std::string>& answer) {
  net::ServerResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = answer.ok() ? *answer : answer.status().message() + "\n";
  switch (answer.code()) {
    case Code::kOk:
      response.status = 200;
      break;
    case Code::kInvalidArgument:
      response.status = 400;
      break;
    case Code::kNotFound:
      response.status = 404;
      break;
    default:
      response.status = 503;
      break;
  }
  return response;
}

}  // namespace coppice::host
