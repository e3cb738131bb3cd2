// cloudscale.ch as a Cloud. The parts: options (file and environment), api (requests), messages
// (JSON), cloudscale_cloud (the verbs), validate (start-up check).

#include <cstdlib>

#include "cloud/cloud.h"
#include "net/http_client.h"
#include "plugins/clouds/cloudscale/api.h"
#include "plugins/clouds/cloudscale/cloudscale_cloud.h"
#include "plugins/clouds/cloudscale/options.h"

namespace coppice::clouds::cloudscale {
namespace {

Result<std::unique_ptr<cloud::Cloud>> Make(const cloud::CloudContext& context) {
  const auto getenv = [](const char* name) -> const char* { return std::getenv(name); };
  Options options = TRY(ReadOptions(context.config, getenv, context.problems));
  if (context.problems.has_errors()) return context.problems.ToStatus();
  TokenSource tokens = options.token_file.empty() ? TokenSource::Fixed(options.token)
                                                  : TokenSource::File(options.token_file);
  TRY(tokens.Get());  // an unreadable file is found now and not at the first request
  auto http = TRY(net::MakeHttpClient(options.http, context.clock));
  auto api = std::make_unique<Api>(options.api, std::move(http), std::move(tokens), context.clock,
                                   context.rng, context.log, context.metrics);
  return std::unique_ptr<cloud::Cloud>(std::make_unique<CloudscaleCloud>(
      std::move(api), options.create, context.clock, context.log));
}

}  // namespace

// What the API takes no order without.
void Register(cloud::CloudRegistry& registry) {
  registry.Add("cloudscale", {Make, {"image", "zone", "volumeSizeGB"}});
}

}  // namespace coppice::clouds::cloudscale
