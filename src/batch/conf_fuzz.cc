// A configuration file is whatever an operator mounts: reading it must end, whatever it says.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "batch/conf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto conf = coppice::batch::ParseConf(text); conf.ok()) {
    for (const auto& tier : conf->tiers) {
      for (const auto& plugin : tier.plugins) {
        for (const auto& [key, value] : plugin.arguments.values()) {
          int number = 0;
          bool flag = false;
          double real = 0;
          std::string words;
          plugin.arguments.Get(key, number);
          plugin.arguments.Get(key, real);
          plugin.arguments.Get(key, words);
          plugin.arguments.Get(key, flag);
        }
      }
    }
  }
  return 0;
}
