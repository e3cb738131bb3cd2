// The flags of `coppice expander`.

#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flag_set.h"
#include "base/log_flags.h"
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
  LogFlags log;
};

void AddExpanderFlags(FlagSet& set, ExpanderOptions& options);
// What can be told from the flags alone.
Status CheckExpanderFlags(const ExpanderOptions& options);

// For a command line that holds nothing else.
Result<ExpanderOptions> ParseExpanderFlags(const std::vector<std::string>& args);

}  // namespace coppice::rpc
