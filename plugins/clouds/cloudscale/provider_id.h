// "cloudscale://<uuid>", as the cloud-controller-manager writes it into spec.providerID.

#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::clouds::cloudscale {

inline constexpr std::string_view kIdPrefix = "cloudscale://";

// 8-4-4-4-12 hexadecimal digits and nothing else. What passes can be put into a URL path.
bool IsUuid(std::string_view text);

// The UUID; InvalidArgument names the id. Nothing is trimmed or corrected: an id that is nearly
// right may be somebody else's.
Result<std::string> UuidOf(std::string_view provider_id);
std::string ProviderIdOf(std::string_view uuid);

}  // namespace coppice::clouds::cloudscale
