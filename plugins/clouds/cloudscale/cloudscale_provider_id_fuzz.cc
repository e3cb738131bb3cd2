// Provider ids, API URLs and Retry-After headers from any bytes.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/http_client.h"
#include "plugins/clouds/cloudscale/api.h"
#include "plugins/clouds/cloudscale/provider_id.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  using namespace coppice::clouds::cloudscale;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto uuid = UuidOf(text); uuid.ok()) {
    CHECK(IsUuid(*uuid) && ProviderIdOf(*uuid) == text);
    CHECK(uuid->find_first_of("/?#%. ") == std::string::npos);  // goes into a URL path
  }
  if (const auto root = ApiRoot(text); root.ok()) {
    const auto again = ApiRoot(*root);
    CHECK(again.ok() && !root->ends_with('/'));
  }
  if (const auto wait =
          net::ParseRetryAfter(text, TimePoint(std::chrono::seconds(1'767'225'600)))) {
    CHECK(*wait >= Duration::zero() && *wait <= std::chrono::hours(24));
  }
  return 0;
}
