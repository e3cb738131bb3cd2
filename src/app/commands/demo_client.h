// A small stand-in for Cluster Autoscaler that drives a provider over the real wire: it refreshes,
// looks at each group, grows a group whose load does not fit, gives up machines that failed, and
// shrinks a group that has had too many machines for ten minutes. It knows the load and nothing
// else that the wire does not say.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "grpc/channel.h"

namespace coppice::app {

class DemoClient {
 public:
  // A line of the account: who speaks ("web", "cloud") and what happened.
  using Tell = std::function<void(const std::string& who, const std::string& what)>;

  struct Group {
    std::string id;
    int min = 0;
    int max = 0;
    int target = 0;
    int running = 0;
    int creating = 0;
    int load_cpus = 0;
    double node_cpus = 0;  // of a new machine, for pods
    double cost = 0;
    TimePoint fits_since = TimePoint::max();  // since when fewer machines would do
    TimePoint backoff_until;
    std::map<std::string, TimePoint> seen;  // running machines, and since when
    std::map<std::string, TimePoint> ordered;
  };
  struct Totals {
    int ordered = 0;
    int arrived = 0;
    int failed = 0;
    int deleted = 0;
    int refused = 0;
    int peak = 0;
    std::map<std::string, int> calls;  // by method
    double wire_seconds = 0;
  };

  DemoClient(grpc::Channel& channel, const Clock& clock, Tell tell);

  // One loop, as every ten seconds. `load_of` is how many CPUs the pods of a group ask for.
  Status Loop(const std::function<int(const std::string& group)>& load_of);

  const std::vector<Group>& groups() const { return groups_; }
  const Totals& totals() const { return totals_; }

 private:
  template <class Response, class Request>
  Result<Response> Ask(const char* method, const Request& request);

  Status ListGroups();
  Status Observe(Group& group);
  void GiveUp(Group& group, const std::string& id, const std::string& code,
              const std::string& message, int error_class);
  void Grow(Group& group, int wanted);
  void Shrink(Group& group, int wanted);
  void AddCost(Group& group, Duration since);

  grpc::Channel& channel_;
  const Clock& clock_;
  const Tell tell_;
  std::vector<Group> groups_;
  Totals totals_;
  TimePoint last_;
};

}  // namespace coppice::app
