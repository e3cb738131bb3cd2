// RealHealth: what the health page says of a process on a real cluster, beside what it says of every
// one: who leads, how old the view of each kind is, what the API server refused, how long we may
// show it our certificate.
//
// Look() on the decision thread, now and then: what only that one may read. Write() on any.

#pragma once

#include <optional>
#include <string>

#include "base/mutex.h"
#include "host/api_server.h"
#include "host/health_check.h"
#include "report/json_out.h"

namespace coppice::app {

class RealHealth {
 public:
  struct Parts {
    host::HealthCheck& health;
    host::ApiServer& server;
    const Clock& clock;
    std::string identity;
    Duration max_view_age{};  // older is trouble
    bool dry_run = false;
  };
  explicit RealHealth(Parts parts) : parts_(std::move(parts)) {}

  void Look();
  void Write(report::JsonOut& out) const;
  // "", or that another replica leads, and which.
  std::string StandsBy() const;
  // What steers a model says here who leads (web/assets/openapi.yaml, Control).
  std::string ControlState() const;

 private:
  // Absent: there is no election.
  struct Leadership {
    bool leads = false;
    std::string leader;
  };
  std::optional<Leadership> leadership() const;

  const Parts parts_;
  mutable Mutex mutex_;
  std::string leader_ COPPICE_GUARDED_BY(mutex_);
  std::string certificate_ COPPICE_GUARDED_BY(mutex_);  // PEM
};

}  // namespace coppice::app
