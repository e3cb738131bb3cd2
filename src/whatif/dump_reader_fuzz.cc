// Any bytes as a dump: objects or a complaint with a place, never a crash.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "whatif/dump_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  whatif::ClusterObjects objects;
  const Status read = whatif::ReadObjects(std::string_view(reinterpret_cast<const char*>(data), size),
                                       "dump", objects);
  if (!read.ok()) CHECK(read.message().starts_with("dump:"));
  for (const auto& pod : objects.pods) CHECK(!pod->metadata.name.empty());
  for (const auto& node : objects.nodes) CHECK(!node->metadata.name.empty());
  return 0;
}
