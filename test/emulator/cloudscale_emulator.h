// The cloudscale.ch API as far as a provider of machines can see it, in memory, with faults on
// order.
//
// A pure function of requests and the clock: `Handle` is what WireServer calls, and what a test may
// call itself. Servers boot, stop and start in the time of the Clock that it is given. Any thread
// may call.
//
// Under /emulator/ are paths of our own: GET|PUT /emulator/faults (a JSON map of the members of
// Faults; PUT changes only what it names), GET /emulator/stats, POST /emulator/reset.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "base/status.h"
#include "test/emulator/faults.h"
#include "test/emulator/wire_server.h"

namespace coppice::emulator {

struct EmulatorOptions {
  std::string token;                                    // "": any bearer token is good
  std::string read_only_token;                          // may only GET
  Duration boot_time = std::chrono::milliseconds(500);  // "changing" to "running", and back again
};

class CloudscaleEmulator {
 public:
  CloudscaleEmulator(EmulatorOptions options, Clock& clock, Rng& rng);
  ~CloudscaleEmulator();
  CloudscaleEmulator(const CloudscaleEmulator&) = delete;
  CloudscaleEmulator& operator=(const CloudscaleEmulator&) = delete;

  Response Handle(const Request& request);

  Faults faults() const;
  void SetFaults(const Faults& faults);
  // As PUT /emulator/faults: JSON, only the members that it names are changed.
  Status SetFaultsFromJson(std::string_view json);

  // How often "POST /v1/servers" and the like (method and collection) were asked.
  int Requests(const std::string& what) const;
  size_t server_count() const;
  std::vector<std::string> server_names() const;
  // The whole JSON body of the server's create request, for tests that look at what was sent.
  std::string CreateRequestOf(const std::string& name) const;

  // Puts a server of somebody else into the project. Returns its UUID.
  std::string AddServer(const std::string& name, const std::map<std::string, std::string>& tags);
  void SetServerStatus(const std::string& uuid, const std::string& status);
  std::string AddNetwork(const std::string& name, const std::string& zone);
  std::string AddSubnet(const std::string& network_uuid, const std::string& cidr);
  std::string AddServerGroup(const std::string& name, const std::string& zone);

 private:
  struct State;
  mutable std::mutex mutex_;
  std::unique_ptr<State> state_;
};

}  // namespace coppice::emulator
