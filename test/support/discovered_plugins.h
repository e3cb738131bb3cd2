// The product's own parts, for tests of the whole: every plug-in that the build discovered, and
// kube-scheduler's default profile on its filters. Made once; the program must link coppice_app.

#pragma once

#include <utility>

#include "app/main.h"
#include "base/check.h"
#include "fit/chain.h"

namespace coppice::test {

inline app::Plugins& ThePlugins() {
  // Never destroyed: whatever was made from them may live as long.
  static app::Plugins& plugins = []() -> app::Plugins& {
    auto& made = *new app::Plugins;
    app::RegisterDiscoveredPlugins(made);
    return made;
  }();
  return plugins;
}

inline const fit::Chain& TheFilters() {
  static const fit::Chain chain = [] {
    auto made = fit::Chain::Create(ThePlugins().filters, {});
    CHECK(made.ok());
    return std::move(made).value();
  }();
  return chain;
}

}  // namespace coppice::test
