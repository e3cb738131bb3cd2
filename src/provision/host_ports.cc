#include "provision/host_ports.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace coppice::provision {
namespace {

void ReadIp(const std::string& text, HostPort& port) {
  constexpr size_t kMapped = 12;  // where IPv4 stands in a mapped address
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    port.any_ip = four.s_addr == 0;
    port.ip[10] = port.ip[11] = 0xff;
    std::memcpy(port.ip.data() + kMapped, &four, sizeof(four));
  } else if (inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    std::memcpy(port.ip.data(), &six, sizeof(six));
    port.any_ip = std::ranges::all_of(port.ip, [](uint8_t byte) { return byte == 0; });
  }
}

}  // namespace

HostPorts HostPortsOf(const model::Pod& pod) {
  HostPorts ports;
  for (const model::Container& container : pod.spec.containers) {
    for (const model::ContainerPort& asked : container.ports) {
      if (asked.host_port == 0) continue;
      HostPort& port = ports.emplace_back();
      port.port = asked.host_port;
      port.protocol = asked.protocol;
      ReadIp(asked.host_ip.empty() ? "0.0.0.0" : asked.host_ip, port);
    }
  }
  return ports;
}

bool Clash(const HostPorts& a, const HostPorts& b) {
  return std::ranges::any_of(a, [&](const HostPort& one) {
    return std::ranges::any_of(b, [&](const HostPort& other) {
      return one.port == other.port && one.protocol == other.protocol &&
             (one.ip == other.ip || one.any_ip || other.any_ip);
    });
  });
}

}  // namespace coppice::provision
