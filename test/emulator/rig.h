// The cloudscale plug-in, a real HTTP connection, and the emulated API at its other end.

#pragma once

#include <memory>
#include <string>

#include "net/http_client.h"
#include "plugins/clouds/cloudscale/cloudscale_cloud.h"
#include "test/emulator/cloudscale_emulator.h"
#include "test/emulator/wire_server.h"
#include "test/support/must.h"

namespace coppice::emulator {

// Real time, but little of it: boots take milliseconds and waits are short.
class Rig {
 public:
  Rig() : Rig(EmulatorOptions{.token = "right", .boot_time = std::chrono::milliseconds(20)}) {}
  explicit Rig(const EmulatorOptions& options)
      : emulator(options, clock, rng),
        server(MUST(WireServer::Start(
            "127.0.0.1", 0, clock,
            [this](const Request& request) { return emulator.Handle(request); }))),
        cloud_(Make(clouds::cloudscale::TokenSource::Fixed(Secret("right")))) {}

  std::unique_ptr<clouds::cloudscale::CloudscaleCloud> Make(
      clouds::cloudscale::TokenSource tokens, Duration request_timeout = std::chrono::seconds(5)) {
    auto http = MUST(net::MakeHttpClient({.proxy = "", .request_timeout = request_timeout}, clock));
    clouds::cloudscale::ApiOptions options{.root = server->url()};
    options.limits.per_second = 0;
    options.backoff.first = std::chrono::milliseconds(5);
    auto api = std::make_unique<clouds::cloudscale::Api>(
        options, std::move(http), std::move(tokens), clock, rng, log, metrics);
    return std::make_unique<clouds::cloudscale::CloudscaleCloud>(
        std::move(api),
        clouds::cloudscale::CreateOptions{.settle_time = std::chrono::milliseconds(500),
                                          .look_interval = std::chrono::milliseconds(20)},
        clock, log);
  }

  cloud::Cloud& cloud() { return *cloud_; }
  Deadline Soon() { return Deadline::In(clock, std::chrono::seconds(20)); }
  cloud::MachineSpec Spec(const std::string& name) {
    return {.name = name,
            .flavor = "flex-8-2",
            .zone = "rma1",
            .image = "debian-12",
            .disk_bytes = int64_t{50} << 30,
            .tags = {{cloud::kGroupTag, "workers"}, {cloud::kClusterTag, "test"}}};
  }

  SystemClock clock;
  SeededRng rng{7};
  Log log = Log::Null();
  Metrics metrics;
  CloudscaleEmulator emulator;
  std::unique_ptr<WireServer> server;

 private:
  std::unique_ptr<clouds::cloudscale::CloudscaleCloud> cloud_;
};

}  // namespace coppice::emulator
