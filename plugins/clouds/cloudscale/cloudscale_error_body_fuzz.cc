// Error bodies of any shape become one short line of valid text.

#include <simdjson.h>

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "plugins/clouds/cloudscale/error_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::clouds::cloudscale;
  const std::string text = ErrorText(std::string_view(reinterpret_cast<const char*>(data), size));
  CHECK(text.size() <= 400);
  CHECK(text.find('\n') == std::string::npos && text.find('\0') == std::string::npos);
  CHECK(simdjson::validate_utf8(text));
  (void)MeansOutOfResources(text);
  return 0;
}
