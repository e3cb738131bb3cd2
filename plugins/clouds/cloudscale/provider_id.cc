#include "plugins/clouds/cloudscale/provider_id.h"

#include <fmt/format.h>

#include <cctype>

namespace coppice::clouds::cloudscale {

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0)
      return false;
  }
  return true;
}

Result<std::string> UuidOf(std::string_view provider_id) {
  if (!provider_id.starts_with(kIdPrefix) || !IsUuid(provider_id.substr(kIdPrefix.size()))) {
    // What comes from a stranger is shown shortened, and escaped by whoever prints it.
    return InvalidArgument(
        fmt::format("'{}' is not a provider id of cloudscale.ch: {}<uuid> is expected",
                    provider_id.substr(0, 100), kIdPrefix));
  }
  return std::string(provider_id.substr(kIdPrefix.size()));
}

std::string ProviderIdOf(std::string_view uuid) { return fmt::format("{}{}", kIdPrefix, uuid); }

}  // namespace coppice::clouds::cloudscale
