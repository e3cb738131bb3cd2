// Any bytes as a watch: the events that come out do not depend on how the bytes are cut. The first
// byte chooses the encoding, the second the size of the pieces.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/watch_frames.h"

namespace coppice::wire {
namespace {

struct Outcome {
  std::vector<std::string> events;
  bool failed = false;
  bool operator==(const Outcome&) const = default;
};

Outcome Run(Encoding encoding, std::string_view bytes, size_t piece) {
  WatchFrames frames(encoding, 1 << 20);
  Outcome outcome;
  for (size_t at = 0; at < bytes.size() && !outcome.failed; at += piece) {
    frames.Feed(bytes.substr(at, piece));
    while (true) {
      const auto next = frames.Next();
      outcome.failed = !next.ok();
      if (outcome.failed || !*next) break;
      outcome.events.emplace_back(**next);
    }
  }
  return outcome;
}

}  // namespace
}  // namespace coppice::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::wire;  // NOLINT
  if (size < 2) return 0;
  const Encoding encoding = data[0] % 2 == 0 ? Encoding::kProtobuf : Encoding::kJson;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Outcome whole = Run(encoding, bytes, bytes.size() + 1);
  CHECK(whole == Run(encoding, bytes, 1 + data[1]));
  for (const std::string& event : whole.events) {
    (void)ReadWatchEvent<coppice::model::Pod>(encoding, event);
  }
  return 0;
}
