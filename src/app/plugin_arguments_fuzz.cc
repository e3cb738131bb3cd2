// Arguments of plug-ins are whatever an operator writes: every plug-in is made from them.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "test/support/discovered_plugins.h"
#include "test/support/plugin_arguments.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto conf = coppice::batch::ParseConf(text);
  if (!conf.ok()) return 0;
  for (const auto& tier : conf->tiers) {
    for (const auto& plugin : tier.plugins) {
      if (plugin.arguments.empty()) continue;
      const auto& plugins = coppice::test::ThePlugins();
      coppice::test::RunWithArguments(plugins.batch, plugins.filters, plugin.arguments);
    }
  }
  return 0;
}
