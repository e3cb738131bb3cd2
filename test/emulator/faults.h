// What the emulator can be told to do wrong.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/clock.h"

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

nlohmann::json FaultsToJson(const Faults& faults);
// Every member must be there. Throws what nlohmann throws when one has another type.
Faults FaultsFromJson(const nlohmann::json& all);

}  // namespace coppice::emulator
