// Reserved amounts are text from a configuration file. What CheckReserved accepts, MakeTemplate
// reads, and what is left for pods is between nothing and everything.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/strings.h"
#include "cloud/template.h"

using namespace coppice;         // NOLINT
using namespace coppice::cloud;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parts = Split(std::string(reinterpret_cast<const char*>(data), size), '\n');
  GroupConfig group{.name = "g", .zone = parts[0], .volume_size_gb = 10};
  group.kube_reserved = ReservedResources{};
  group.eviction_hard = ReservedResources{};
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos) continue;
    auto& map = i % 2 == 0 ? *group.kube_reserved : *group.eviction_hard;
    map[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
  }
  const Flavor flavor{.name = "f", .cpu_millis = 2'000, .memory_bytes = 4LL << 30};
  const bool good = CheckReserved(group).ok();
  const auto node = MakeTemplate(group, flavor, "gpu");
  if (good) CHECK(node.ok());
  if (!node.ok()) return 0;
  for (const auto& [name, amount] : node->status.allocatable) {
    CHECK(amount.Sign() >= 0);
    CHECK(amount.Compare(*node->status.capacity.Find(name)) <= 0);
  }
  return 0;
}
