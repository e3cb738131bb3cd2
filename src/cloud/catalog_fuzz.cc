// Any text as a catalog: refused with a sentence, or types and flavors that can be sold.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cloud/catalog.h"
#include "cloud/claim_class.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto catalog = coppice::cloud::ParseCatalog(text, "catalog.json");
  if (!catalog.ok()) {
    if (catalog.status().message().empty()) std::abort();
    return 0;
  }
  for (const auto& entry : *catalog) {
    const auto type = coppice::cloud::TypeOfCatalog(entry);
    if (type.offerings.size() != entry.offerings.size()) std::abort();
    for (const auto& offering : type.offerings) {
      if (!std::isfinite(offering.price) || offering.price < 0) std::abort();
      if (offering.Zone().empty() && offering.CapacityType().empty()) continue;
    }
    (void)coppice::cloud::TypeOf(coppice::cloud::FlavorOfCatalog(entry), {}, "", {});
  }
  return 0;
}
