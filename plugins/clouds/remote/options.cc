#include "plugins/clouds/remote/options.h"

#include <arpa/inet.h>

namespace coppice::clouds::remote {
namespace {

constexpr std::string_view kSocket = "unix:";

// "" for a Unix socket; the brackets of an IPv6 address are taken off.
std::string HostOf(const std::string& address) {
  if (address.starts_with(kSocket)) return "";
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

bool IsAddress(const std::string& address) {
  if (address.starts_with(kSocket)) return address.size() > kSocket.size();
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::string port = address.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos)
    return false;
  const int number = std::stoi(port);
  if (number < 1 || number > 65535) return false;
  const std::string before = address.substr(0, colon);
  const bool bracketed = before.starts_with('[') && before.ends_with(']') && before.size() > 2;
  return bracketed || before.find_first_of(":[]/ ") == std::string::npos;
}

// By address: 127.example.com is somebody else.
bool IsHere(const std::string& host) {
  in_addr address{};
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && inet_pton(AF_INET, host.c_str(), &address) == 1);
}

}  // namespace

Options ReadOptions(const yaml::Node& config, yaml::Problems& problems) {
  yaml::MapReader map(config, problems);
  Options options;
  map.Get("kind");
  if (map.Require("address", options.address) && !IsAddress(options.address)) {
    map.Complain("address",
                 "'" + options.address + "' is not host:port, [IPv6]:port or unix:/path");
  }
  map.Read("cert", options.cert);
  map.Read("key", options.key);
  map.Read("cacert", options.cacert);
  map.Read("serverName", options.server_name);
  map.Read("plaintext", options.plaintext);
  map.Read("metricPrefix", options.metric_prefix);
  map.Finish();
  if (options.cert.empty() != options.key.empty()) {
    map.Complain(options.cert.empty() ? "cert" : "key",
                 "cert and key belong together: set both, or neither");
  }
  if (!options.cert.empty() && options.cacert.empty()) {
    map.Complain("cacert", "is needed beside cert, or the server could be anybody");
  }
  const std::string host = HostOf(options.address);
  if (!options.address.empty() && !options.tls() && !host.empty() && !IsHere(host) &&
      !options.plaintext) {
    map.Complain("cert",
                 "cert, key and cacert are not set, so the calls that order and delete "
                 "machines would go to '" +
                     host +
                     "' unencrypted; set them, or write `plaintext: true` if something "
                     "else protects that connection");
  }
  return options;
}

}  // namespace coppice::clouds::remote
