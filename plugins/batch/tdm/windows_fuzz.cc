// Windows and offsets are texts of the configuration: whatever they are, they are read or refused.

#include <string_view>

#include "plugins/batch/tdm/windows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using coppice::batch::tdm::ParseUtcOffset;
  using coppice::batch::tdm::Window;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto offset = ParseUtcOffset(text);
  if (const auto window = Window::Parse(text); window.ok()) {
    const coppice::TimePoint now(std::chrono::seconds(size * 977));
    const auto shift = offset.ok() ? *offset : coppice::Duration::zero();
    // Whoever is inside with upstream's reading is inside with ours.
    if (window->Contains(now, shift, true) && !window->Contains(now, shift, false))
      __builtin_trap();
  }
  return 0;
}
