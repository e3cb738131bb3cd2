// Any bytes as what a server sends: no crash, memory bounded, every call ended once.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "grpc/client_session.h"

// The first byte says how the bytes are cut.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  using namespace coppice::grpc;
  if (size < 1) return 0;
  constexpr size_t kMost = 1 << 16;
  ClientSession session({.authority = "fuzz", .max_message_bytes = kMost});
  int open = 0;
  for (int i = 0; i < 3; ++i) {
    const auto started = session.Start({.method = "/test.Echo/Echo",
                                        .request = "question",
                                        .timeout = std::nullopt,
                                        .end = [&open](const CallEnd& end) {
                                          --open;
                                          if (end.answer.ok() && end.answer->size() > kMost)
                                            std::abort();
                                        }});
    if (started.ok()) ++open;
  }
  std::string out;
  session.Pull(out, 1 << 12);
  const size_t step = data[0] == 0 ? SIZE_MAX : data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (!rest.empty() && session.Receive(rest.substr(0, step)).ok()) {
    rest.remove_prefix(std::min(step, rest.size()));
    out.clear();
    session.Pull(out, 1 << 12);
  }
  session.Ping();
  session.End(Unavailable("the end"));
  if (open != 0) std::abort();
  return 0;
}
