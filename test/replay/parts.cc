#include "test/replay/parts.h"

#include <stdexcept>

namespace coppice::replay {

app::Plugins& ThePlugins() {
  static app::Plugins plugins;
  static const bool kRegistered = [] {
    app::RegisterDiscoveredPlugins(plugins);
    return true;
  }();
  (void)kRegistered;
  return plugins;
}

const fit::Chain& TheFilters() {
  static const fit::Chain kChain = [] {
    auto chain = fit::Chain::Create(ThePlugins().filters, {});
    if (!chain.ok()) throw std::runtime_error(chain.status().ToString());
    return std::move(chain).value();
  }();
  return kChain;
}

}  // namespace coppice::replay
