// The `cloud:` part of a configuration file for a cloud that another process speaks for.

#pragma once

#include <string>

#include "base/status.h"
#include "base/yaml.h"

namespace coppice::clouds::remote {

struct Options {
  std::string address;  // host:port, [v6]:port, or unix:/path
  std::string cert;     // files, PEM
  std::string key;
  std::string cacert;
  std::string server_name;    // what the server's certificate must say; "": the host of `address`
  bool plaintext = false;     // allows plaintext to another machine
  std::string metric_prefix;  // "": coppice_provider

  bool tls() const { return !cert.empty() || !cacert.empty(); }
};

// Complaints go to `problems`, with file, line and column.
Options ReadOptions(const yaml::Node& config, yaml::Problems& problems);

}  // namespace coppice::clouds::remote
