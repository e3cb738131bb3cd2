// The file behind --cloud-config: upstream's five keys with upstream's meaning, and ours beside
// them. Upstream ignores keys that it does not know, so one file serves both.

#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"

namespace coppice::node_groups::externalgrpc {

struct CloudConfig {
  // Upstream's.
  std::string address;  // host:port, [v6]:port, or unix:/path (ours)
  std::string key;      // files, PEM
  std::string cert;
  std::string cacert;
  Duration grpc_timeout = std::chrono::seconds(5);  // of one read

  // Ours.
  // What creates or deletes machines takes longer than a look-up. Unset: half a minute, or
  // grpc_timeout if that is longer.
  Duration mutation_timeout = Duration::zero();
  Duration refresh_timeout = Duration::zero();  // of the provider's own Refresh; unset: likewise
  // How long templates, options, prices and GPU types are believed. Targets and machines are read
  // in every Refresh.
  Duration describe_ttl = std::chrono::minutes(1);
  int max_concurrent_calls = 32;
  size_t max_message_bytes = 64UL << 20;
  std::string server_name;   // what the server's certificate must say; "": the host of `address`
  std::string group_prefix;  // put before every group id, for two providers that share one
  bool plaintext = false;    // allows plaintext to another machine
  // The provider takes a second increase of a group before it has answered the first.
  bool overlapping_orders = false;

  bool tls() const { return !cert.empty() || !cacert.empty(); }
  // The host of `address`, without brackets; "" for a Unix socket.
  std::string host() const;
};

// InvalidArgument names file, line and what to write instead. Keys that neither upstream nor we
// know are logged, not refused, as upstream ignores them.
Result<CloudConfig> ParseCloudConfig(std::string_view text, const std::string& file_name,
                                     const Log& log);
Result<CloudConfig> ReadCloudConfig(const std::string& path, const Log& log);

}  // namespace coppice::node_groups::externalgrpc
