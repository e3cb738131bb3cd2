// Load: what people do to a model cluster: services that follow the day, jobs that come when they
// come, and now and then far too much of both at once. All drawn from one seed.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/controllers.h"
#include "sim/model.h"

namespace coppice::sim {

// A service whose replicas follow the time of day.
struct Service {
  std::string name;
  int at_night = 1;
  int at_noon = 1;
  std::string cpu = "500m";
  std::string memory = "512Mi";
  std::optional<std::string> max_unavailable;  // a budget: "1", "20%"
};

struct LoadOptions {
  std::vector<Service> services;
  double jobs_per_hour = 2;  // on average
  int max_job_pods = 12;
  Duration longest_job = std::chrono::minutes(40);
  double bursts_per_day = 1.5;               // a service is suddenly wanted three times as much
  Duration step = std::chrono::minutes(10);  // how often services are scaled
};
LoadOptions DefaultLoad();

class Load {
 public:
  Load(Model& model, LoadOptions options, uint64_t seed);

  // The services, a DaemonSet, and from now on everything that happens.
  void Start();

 private:
  void ScaleServices();
  void NextStep();
  void NextJob();
  void NextBurst();
  Duration Until(double per_hour);  // the next event of so many an hour

  Model& model_;
  const LoadOptions options_;
  SeededRng rng_;
  int jobs_ = 0;
  std::map<std::string, double> burst_;  // service: how many times its usual size
};

// A pod that asks for so much of each.
model::Pod PodAsking(const std::string& cpu, const std::string& memory);

}  // namespace coppice::sim
