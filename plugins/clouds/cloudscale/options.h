// The `cloud:` part of the configuration file for kind cloudscale, together with the environment.

#pragma once

#include <functional>
#include <string>

#include "base/secret.h"
#include "base/yaml.h"
#include "net/http_client.h"
#include "plugins/clouds/cloudscale/api.h"
#include "plugins/clouds/cloudscale/cloudscale_cloud.h"

namespace coppice::clouds::cloudscale {

struct Options {
  ApiOptions api;
  CreateOptions create;
  net::HttpClientOptions http;
  Secret token;
  std::string token_file;  // counts before `token`
};

// null when the variable is not set
using GetEnv = std::function<const char*(const char* name)>;

// The file's keys count before the environment. Complaints go to `problems`; the error is for what
// lies in the environment, where there is no line to name.
Result<Options> ReadOptions(const yaml::Node& config, const GetEnv& getenv,
                            yaml::Problems& problems);

}  // namespace coppice::clouds::cloudscale
