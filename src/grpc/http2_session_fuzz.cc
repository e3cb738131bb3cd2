// Any bytes as one client's connection: no crash, nothing written outside, memory bounded, and what
// we send stays readable.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/health.h"
#include "grpc/http2_session.h"
#include "grpc/reflection.h"

namespace {

struct Nobody final : coppice::grpc::Caller {
  std::vector<std::string> Names() const override { return {}; }
  std::string Address() const override { return "fuzz"; }
};

// The first byte says how the bytes are cut, the second whether the preface is spared us.
void Play(coppice::grpc::Http2Session& session, coppice::grpc::Health& health,
          std::vector<int32_t>& waiting, const uint8_t* data, size_t size) {
  using namespace coppice;
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const size_t step = data[0] == 0 ? SIZE_MAX : data[0];
  if (data[1] % 2 == 0 && !session.Receive(kPreface).ok()) return;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string out;
  while (!rest.empty()) {
    if (!session.Receive(rest.substr(0, step)).ok()) break;
    rest.remove_prefix(std::min(step, rest.size()));
    session.Pull(out, 1 << 12);
    if (rest.size() % 16 == 0) session.Tick();
    health.Set(rest.size() % 2 == 0);
    health.Tell();
    for (const int32_t stream : waiting) session.Answer(stream, std::string("late"));
    waiting.clear();
  }
  session.Ping();
  session.GoAway();
  session.EndStreams(Unavailable("the end"));
  while (session.Pull(out, 1 << 12) && out.size() < (1 << 20)) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice;
  using namespace coppice::grpc;
  if (size < 2) return 0;
  Health health({"test.Echo"});
  Routes routes;
  routes.Add({.path = "/test.Echo/Echo",
              .unary = [](const Call& call) -> Answer { return std::string(call.request); }});
  routes.Add({.path = "/test.Echo/Wait", .unary = nullptr, .waits = true});
  health.AddTo(routes);
  AddReflection(routes, {"test.Echo"});

  const SystemClock clock;
  const Log log = Log::Null();
  const Nobody caller;
  ServerLoad load({.max_bytes = 1 << 18}, clock, log);
  std::vector<int32_t> waiting;
  {
    Http2Session session(
        {.routes = routes,
         .caller = caller,
         .clock = clock,
         .load = load,
         .start_waiting =
             [&](WaitingCall call) {
               waiting.push_back(call.stream);
               load.Return(call.held);
             }},
        {.max_message_bytes = 1 << 16, .max_streams = 16, .max_queued_bytes = 1 << 12});
    Play(session, health, waiting, data, size);
  }
  // Whatever was held has been returned, or a server would refuse everything in the end.
  if (load.held() != 0) std::abort();
  return 0;
}
