#include "plugins/node_groups/externalgrpc/cloud_config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/strings.h"
#include "base/yaml.h"

namespace coppice::node_groups::externalgrpc {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr Duration kPatient = std::chrono::seconds(30);

// Upstream reads its file by way of JSON into a struct, which does not mind the case of a key.
yaml::Node WithLowerKeys(const yaml::Node& root, const std::string& file) {
  std::string lowered;
  bool changed = false;
  for (const auto& [key, value] : root.entries()) {
    changed |= Lower(key) != key;
    if (value.kind() != yaml::Node::Kind::kScalar) continue;
    lowered += Lower(key) + ": ";
    if (value.quoted()) {
      AppendJsonString(lowered, value.scalar());  // JSON strings are YAML strings
    } else {
      lowered += value.scalar();
    }
    lowered += "\n";
  }
  if (!changed) return root;
  auto again = yaml::Parse(lowered, file, yaml::Duplicates::kLastWins);
  return again.ok() ? *again : root;
}

// By address: 127.example.com is somebody else.
bool IsLoopback(const std::string& host) {
  in_addr address{};
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && inet_pton(AF_INET, host.c_str(), &address) == 1);
}

Status CheckAddress(const CloudConfig& config) {
  if (config.address.starts_with(kUnix)) {
    if (config.address.size() > kUnix.size()) return Status::Ok();
    return InvalidArgument("address: a Unix socket is written unix:/path");
  }
  const std::string& address = config.address;
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos &&
                      std::stoi(port) >= 1 && std::stoi(port) <= 65535;
  const std::string before = colon == std::string::npos ? "" : address.substr(0, colon);
  const bool bracketed = before.starts_with('[') && before.ends_with(']') && before.size() > 2;
  const bool plain = !before.empty() && before.find_first_of(":[]/ ") == std::string::npos;
  if (digits && (bracketed || plain)) return Status::Ok();
  return InvalidArgument("address: '" + address + "' is not host:port, [IPv6]:port or unix:/path");
}

Status CheckTls(const CloudConfig& config) {
  if (config.cert.empty() != config.key.empty()) {
    return InvalidArgument("cert and key belong together: set both, or neither");
  }
  if (!config.cert.empty() && config.cacert.empty()) {
    return InvalidArgument("cacert: is needed beside cert, or the server could be anybody");
  }
  const std::string host = config.host();
  if (config.tls() || host.empty() || IsLoopback(host) || config.plaintext) return Status::Ok();
  return InvalidArgument(
      "no cert, key and cacert are set, so the calls that order and delete machines would go to '" +
      host +
      "' unencrypted; set them, or write `plaintext: true` if something else protects that "
      "connection");
}

Status CheckNumbers(const CloudConfig& config) {
  const std::pair<const char*, Duration> times[] = {{"grpc_timeout", config.grpc_timeout},
                                                    {"mutation_timeout", config.mutation_timeout},
                                                    {"refresh_timeout", config.refresh_timeout}};
  for (const auto& [key, value] : times) {
    if (value <= Duration::zero()) {
      return InvalidArgument(std::string(key) + ": must be above 0s, or every call fails at once");
    }
  }
  if (config.describe_ttl < Duration::zero()) {
    return InvalidArgument("describe_ttl: must not be below 0s");
  }
  if (config.max_concurrent_calls < 1 || config.max_concurrent_calls > 256) {
    return InvalidArgument("max_concurrent_calls: must be from 1 to 256");
  }
  if (config.max_message_bytes < 1024 || config.max_message_bytes > 1UL << 30) {
    return InvalidArgument("max_message_bytes: must be from 1024 to 1073741824");
  }
  return Status::Ok();
}

}  // namespace

std::string CloudConfig::host() const {
  if (address.starts_with(kUnix)) return "";
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

Result<CloudConfig> ParseCloudConfig(std::string_view text, const std::string& file_name,
                                     const Log& log) {
  const yaml::Node parsed = TRY(yaml::Parse(text, file_name, yaml::Duplicates::kLastWins));
  yaml::Problems problems;
  yaml::MapReader map(WithLowerKeys(parsed, file_name), problems);
  CloudConfig config;
  map.Require("address", config.address);
  map.Read("key", config.key);
  map.Read("cert", config.cert);
  map.Read("cacert", config.cacert);
  map.Read("grpc_timeout", config.grpc_timeout);
  config.mutation_timeout = std::max(config.grpc_timeout, kPatient);
  config.refresh_timeout = config.mutation_timeout;
  map.Read("mutation_timeout", config.mutation_timeout);
  map.Read("refresh_timeout", config.refresh_timeout);
  map.Read("describe_ttl", config.describe_ttl);
  map.Read("max_concurrent_calls", config.max_concurrent_calls);
  int64_t bytes = static_cast<int64_t>(config.max_message_bytes);
  map.Read("max_message_bytes", bytes);
  config.max_message_bytes = bytes < 0 ? 0 : static_cast<size_t>(bytes);
  map.Read("server_name", config.server_name);
  map.Read("group_prefix", config.group_prefix);
  map.Read("plaintext", config.plaintext);
  map.Read("overlapping_orders", config.overlapping_orders);
  map.Finish();
  TRY(problems.ToStatus());
  for (const yaml::Problem& warning : problems.all()) {
    log.Warning("a line of the cloud-config has no effect", {{"problem", warning.ToString()}});
  }
  for (const Status& status : {CheckAddress(config), CheckTls(config), CheckNumbers(config)}) {
    if (!status.ok()) return status.Context(file_name);
  }
  return config;
}

Result<CloudConfig> ReadCloudConfig(const std::string& path, const Log& log) {
  if (path.empty()) {
    return InvalidArgument(
        "--cloud-config is not set: externalgrpc needs a file that says at least `address: "
        "host:port`");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound("--cloud-config: " + path + " cannot be opened");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.size() > yaml::kMaxFileBytes) return InvalidArgument(path + " is too large");
  return ParseCloudConfig(text, path, log);
}

}  // namespace coppice::node_groups::externalgrpc
