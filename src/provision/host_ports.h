// Ports of the host that pods ask for: two on one node must not clash.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/pod.h"

namespace coppice::provision {

struct HostPort {
  std::array<uint8_t, 16> ip{};  // IPv4 mapped into IPv6; all zero if it cannot be read
  bool any_ip = false;           // 0.0.0.0 or ::
  int32_t port = 0;
  std::string protocol;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

using HostPorts = std::vector<HostPort>;

HostPorts HostPortsOf(const model::Pod& pod);  // of its regular containers
bool Clash(const HostPorts& a, const HostPorts& b);

}  // namespace coppice::provision
