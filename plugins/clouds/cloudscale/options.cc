#include "plugins/clouds/cloudscale/options.h"

#include <fmt/format.h>

#include <array>

#include "base/strings.h"

namespace coppice::clouds::cloudscale {
namespace {

std::string Env(const GetEnv& getenv, const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : std::string(Trim(value));
}

// CLOUDSCALE_API_TIMEOUT is in seconds, as other tools for this cloud have it.
Status ReadTimeout(const GetEnv& getenv, net::HttpClientOptions& http) {
  const std::string text = Env(getenv, "CLOUDSCALE_API_TIMEOUT");
  if (text.empty()) return Status::Ok();
  const auto duration = ParseGoDuration(
      text.find_first_not_of("0123456789") == std::string::npos ? text + "s" : text);
  if (!duration.ok() || *duration <= Duration::zero()) {
    return InvalidArgument(
        fmt::format("CLOUDSCALE_API_TIMEOUT is '{}', and a number of seconds is expected", text));
  }
  http.request_timeout = *duration;
  return Status::Ok();
}

}  // namespace

Result<Options> ReadOptions(const yaml::Node& config, const GetEnv& getenv,
                            yaml::Problems& problems) {
  Options options;
  options.http.user_agent = "coppice-cloudscale";
  TRY(ReadTimeout(getenv, options.http));
  for (const char* name : {"CLOUDSCALE_API_TOKEN", "CLOUDSCALE_ACCESS_TOKEN"}) {
    if (options.token.empty()) options.token = Secret(Env(getenv, name));
  }

  yaml::MapReader map(config, problems);
  map.Get("kind");
  std::string url;
  if (map.Read("apiURL", url)) {
    const auto root = ApiRoot(url);
    if (root.ok()) {
      options.api.root = *root;
    } else {
      map.Complain("apiURL", root.status().message());
    }
  } else if (url = Env(getenv, "CLOUDSCALE_API_URL"); !url.empty()) {
    options.api.root = TRY(ApiRoot(url).Context("CLOUDSCALE_API_URL"));
  }
  map.Read("tokenFile", options.token_file);
  map.Read("caFile", options.http.ca_file);
  std::string proxy;
  if (map.Read("proxy", proxy)) options.http.proxy = proxy;
  const auto positive = [&map](const char* key, auto& value) {
    auto read = value;
    if (!map.Read(key, read)) return;
    if (read > decltype(read){}) {
      value = read;
    } else {
      map.Complain(key, "must be more than 0");
    }
  };
  positive("timeout", options.http.request_timeout);
  positive("requestsPerSecond", options.api.limits.per_second);
  positive("burst", options.api.limits.burst);
  positive("maxInFlight", options.api.limits.max_in_flight);
  positive("createSettleTime", options.create.settle_time);
  map.Finish();
  if (options.token.empty() && options.token_file.empty()) {
    return FailedPrecondition(
        "there is no API token: set CLOUDSCALE_API_TOKEN (or CLOUDSCALE_ACCESS_TOKEN), or name a "
        "file with "
        "cloud.tokenFile");
  }
  return options;
}

}  // namespace coppice::clouds::cloudscale
