// Ids come from whoever may talk to us. Whatever they are, a placeholder is what we would have
// written ourselves, and a plan to delete them names nothing that is not in the ledger.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"
#include "cloud/delete_plan.h"
#include "cloud/group_instances.h"

using namespace coppice;         // NOLINT
using namespace coppice::cloud;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<NodeRef> nodes;
  for (const std::string& line : Split(text, '\n')) {
    if (const auto parsed = ParsePlaceholder(line)) {
      CHECK(PlaceholderId(parsed->group, parsed->name) == line);
    }
    nodes.push_back({line, nodes.size() % 2 == 0 ? line : "node"});
  }
  static const Ledger* const ledger = [] {
    auto* made = new Ledger(LedgerLimits{});
    Book& book = made->At("web");
    book.machines["fake://1"] = {.machine = {.id = "fake://1", .name = "web-1"}};
    book.machines["fake://2"] = {.machine = {.id = "fake://2", .name = "web-2"}};
    book.orders["web-3"] = {.name = "web-3"};
    return made;
  }();
  const GroupConfig group{.name = "web", .max_size = 5};
  const auto plan = PlanDelete(*ledger, group, nodes,
                               [](const ProviderId& id) { return id.starts_with("fake://"); });
  if (!plan.ok()) {
    CHECK(!plan.status().message().empty());
    return 0;
  }
  CHECK(plan->machines.size() + plan->drop.size() + plan->doom.size() +
            static_cast<size_t>(plan->done) ==
        nodes.size());
  for (const std::string& id : plan->machines) CHECK(id == "fake://1" || id == "fake://2");
  return 0;
}
