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
#include "test/emulator/wire_server.h"

namespace coppice::emulator {

// Counts are of the requests to come: 2 means that the next two are hit. Durations are milliseconds
// in JSON.
struct Faults {
  Duration latency{};         // before every answer
  Duration create_latency{};  // in addition, before the answer to a create
  int too_many_requests = 0;  // 429 with Retry-After; nothing was done
  int retry_after_seconds = 1;
  int server_errors = 0;      // 500 with a JSON body; nothing was done
  int html_errors = 0;        // 502 with a page; nothing was done
  int truncated_answers = 0;  // the body ends in the middle
  int closed_creates = 0;     // the server is created, the connection closed without an answer
  int hung_creates = 0;       // the server is created, and no answer ever comes
  int failed_creates = 0;     // 201, but the server ends in status "error"
  Duration list_lag_after_create{};     // how long a new server is missing in lists
  Duration list_lag_after_delete{};     // how long a deleted one is still listed
  int server_quota = -1;                // servers that the project may have; -1: no end
  bool refuse_duplicate_names = false;  // the real API allows them
  std::string only;                     // "POST /v1/servers": counts hit only what begins like this
};

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
