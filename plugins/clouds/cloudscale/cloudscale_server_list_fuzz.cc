// Lists of servers, flavors and the rest from any bytes: an error, or values that keep their
// promises.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "plugins/clouds/cloudscale/messages.h"
#include "plugins/clouds/cloudscale/provider_id.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  using namespace coppice::clouds::cloudscale;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto check = [](const cloud::Machine& machine) {
    CHECK(UuidOf(machine.id).ok());
    CHECK((machine.state == cloud::MachineState::kFailed) == machine.error.has_value());
  };
  if (const auto machines = ParseServers(json); machines.ok()) {
    for (const auto& machine : *machines) check(machine);
  }
  if (const auto machine = ParseServer(json); machine.ok()) check(*machine);
  if (const auto flavors = ParseFlavors(json); flavors.ok()) {
    for (const auto& flavor : *flavors) CHECK(flavor.cpu_millis > 0 && flavor.memory_bytes > 0);
  }
  (void)ParseCatalog(json).ok();
  (void)ParseTime(json);
  // What comes from outside goes back out in an order: tags and names must survive as JSON that is
  // read again.
  cloud::MachineSpec spec{.name = std::string(json),
                          .tags = {{std::string(json), "x"}},
                          .user_data = std::string(json)};
  if (const auto body = CreateRequest(spec); body.ok())
    CHECK(body->front() == '{' && body->back() == '}');
  return 0;
}
