// cloudscale-emulator [--listen ADDRESS:PORT] [--token TOKEN] [--boot-time 500ms] [--faults JSON]
//
// The emulated API as a program, for trying a provider by hand. Prints the URL to set as
// CLOUDSCALE_API_URL and runs until SIGINT or SIGTERM.

#include <signal.h>

#include <charconv>
#include <iostream>

#include "base/go_duration.h"
#include "test/emulator/cloudscale_emulator.h"

namespace {

constexpr char kUsage[] =
    "usage: cloudscale-emulator [--listen 127.0.0.1:8099] [--token TOKEN] [--boot-time 5s] "
    "[--faults JSON]\n"
    "  An empty token accepts any. Faults can be changed while it runs:\n"
    "    curl -X PUT URL/emulator/faults -d '{\"too_many_requests\": 3, \"list_lag_after_create\": "
    "2000}'\n"
    "    curl URL/emulator/faults        # all switches and their values\n";

int Fail(const std::string& text) {
  std::cerr << "cloudscale-emulator: " << text << "\n" << kUsage;
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace coppice;
  std::string listen = "127.0.0.1:8099";
  std::string faults = "{}";
  emulator::EmulatorOptions options;
  for (int i = 1; i < argc; ++i) {
    std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      std::cout << kUsage;
      return 0;
    }
    std::string value;
    if (const size_t equals = key.find('='); equals != std::string::npos) {
      value = key.substr(equals + 1);
      key.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return Fail(key + " needs a value");
    }
    if (key == "--listen") {
      listen = value;
    } else if (key == "--token") {
      options.token = value;
    } else if (key == "--faults") {
      faults = value;
    } else if (key == "--boot-time") {
      const auto duration = ParseGoDuration(value);
      if (!duration.ok()) return Fail("--boot-time: " + duration.status().message());
      options.boot_time = *duration;
    } else {
      return Fail("unknown option " + key);
    }
  }
  const size_t colon = listen.rfind(':');
  int port = -1;
  if (colon != std::string::npos) {
    std::from_chars(listen.data() + colon + 1, listen.data() + listen.size(), port);
  }
  if (port < 0 || port > 65535) return Fail("--listen wants ADDRESS:PORT");

  // Blocked before any thread starts, so that sigwait below is the one who gets them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  SystemClock clock;
  SeededRng rng(SeedFromSystem());
  emulator::CloudscaleEmulator cloud(options, clock, rng);
  if (const Status status = cloud.SetFaultsFromJson(faults); !status.ok()) {
    return Fail("--faults: " + status.message());
  }
  const auto server = emulator::WireServer::Start(
      colon == 0 ? "127.0.0.1" : listen.substr(0, colon), port, clock,
      [&cloud](const emulator::Request& request) { return cloud.Handle(request); });
  if (!server.ok()) return Fail(server.status().message());
  std::cout << "export CLOUDSCALE_API_URL=" << (*server)->url()
            << " CLOUDSCALE_API_TOKEN=" << (options.token.empty() ? "any" : options.token)
            << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  return 0;
}
