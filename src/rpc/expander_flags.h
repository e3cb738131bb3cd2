// The flags of `coppice expander`.

#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"

namespace coppice::rpc {

struct ExpanderOptions {
  std::vector<std::string> strategy = {"least-waste"};
  std::string listen = ":7000";  // the port of upstream's example
  std::string cert_file;
  std::string key_file;
  std::string ca_file;  // "": clients need no certificate; upstream's have none
  bool insecure = false;
  std::string priority_file;  // what the ConfigMap's key `priorities` would hold
  std::string metrics_addr;   // "": no HTTP server
  Duration max_connection_age = std::chrono::hours(1);  // of a client; zero: no end
  LogLevel log_level = LogLevel::kInfo;
  bool help = false;
};

// Reads `--name=value`, `--name value`, and one dash for two. InvalidArgument says what to do.
Result<ExpanderOptions> ParseExpanderFlags(const std::vector<std::string>& args);
std::string ExpanderHelp();

}  // namespace coppice::rpc
