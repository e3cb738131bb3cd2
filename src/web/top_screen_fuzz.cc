// Whatever a server answers: a screen or a refusal, and no byte that steers a terminal.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "web/top_screen.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto screen = coppice::web::TopScreen(bytes, bytes, "server", {.width = 60, .height = 30});
  if (screen.ok()) CHECK(screen->find('\x1b') == std::string::npos);
  return 0;
}
