// The provider's configuration from any bytes: complaints or a configuration that keeps its
// promises, never a crash.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "provider/provider_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  const auto getenv = [](const char* name) -> const char* {
    return name[0] == 'A' ? "value" : nullptr;
  };
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path.size() % 2 == 0) return NotFound("no such file");
    return std::string("content");
  };
  cloud::CloudRegistry clouds("cloud");
  clouds.Add("cloudscale",
             {[](const cloud::CloudContext&) -> Result<std::unique_ptr<cloud::Cloud>> {
                return Unimplemented("nobody opens it here");
              },
              {"image", "extra.project"}});
  yaml::Problems problems;
  const auto config =
      provider::ParseProviderConfig(std::string_view(reinterpret_cast<const char*>(data), size),
                                    "dir/config.yaml", {clouds, getenv}, read, problems);
  for (const auto& problem : problems.all())
    CHECK(problem.place.line > 0 && !problem.ToString().empty());
  if (!config.ok()) return 0;
  CHECK(!problems.has_errors());
  CHECK(!config->groups.empty());
  for (const auto& group : config->groups) {
    CHECK(!group.name.empty() && group.min_size >= 0 && group.max_size >= group.min_size);
    CHECK(group.network_uuid.empty() || group.use_private_network);
  }
  return 0;
}
