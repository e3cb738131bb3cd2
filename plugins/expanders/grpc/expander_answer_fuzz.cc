// Any bytes as the answer of an expander: no crash, and nothing is kept that was not offered.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/expanders/grpc/answer.h"
#include "rpc/expander_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const coppice::expand::Option kA{.group = "a"};
  static const coppice::expand::Option kB{.group = "b"};
  static const coppice::expand::Option kNameless{};
  const coppice::expand::Options offered{&kA, &kB, &kNameless};
  const auto groups = coppice::rpc::ParseBestOptionsResponse(
      std::string_view(reinterpret_cast<const char*>(data), size));
  if (!groups.ok()) return 0;
  const auto kept = coppice::expanders::grpc::Match(offered, *groups);
  if (kept.options.size() + kept.unknown.size() != groups->size()) std::abort();
  for (const auto* option : kept.options) {
    if (std::ranges::find(offered, option) == offered.end()) std::abort();
  }
  return 0;
}
