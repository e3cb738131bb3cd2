#include "sim/load.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace coppice::sim {

namespace {

model::Quantity Amount(const std::string& text) {
  const auto quantity = model::Quantity::Parse(text);
  CHECK(quantity.ok());
  return *quantity;
}

// 0 in the small hours, 1 in the early afternoon.
double OfDay(TimePoint now) {
  const double hours =
      std::chrono::duration<double, std::ratio<3600>>(now.time_since_epoch()).count();
  return 0.5 - 0.5 * std::cos((hours - 2) / 24 * 2 * std::numbers::pi);
}

std::optional<model::IntOrString> Number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (text->ends_with('%')) return model::IntOrString{.is_string = true, .text = *text};
  return model::IntOrString{.number = std::atoi(text->c_str())};
}

}  // namespace

model::Pod PodAsking(const std::string& cpu, const std::string& memory) {
  model::Pod pod;
  model::Container container;
  container.name = "main";
  if (!cpu.empty()) container.resources.requests["cpu"] = Amount(cpu);
  if (!memory.empty()) container.resources.requests["memory"] = Amount(memory);
  pod.spec.containers.push_back(std::move(container));
  pod.spec.restart_policy = "Always";
  return pod;
}

LoadOptions DefaultLoad() {
  LoadOptions load;
  load.services = {
      {.name = "web", .at_night = 4, .at_noon = 40, .cpu = "700m", .memory = "2Gi"},
      {.name = "api",
       .at_night = 3,
       .at_noon = 18,
       .cpu = "1200m",
       .memory = "4Gi",
       .max_unavailable = "20%"},
      {.name = "search",
       .at_night = 2,
       .at_noon = 6,
       .cpu = "1500m",
       .memory = "6Gi",
       .max_unavailable = "1"},
  };
  return load;
}

Load::Load(Model& model, LoadOptions options, uint64_t seed)
    : model_(model), options_(std::move(options)), rng_(seed) {}

Duration Load::Until(double per_hour) {
  // The wait for an event of a Poisson process; at least a second, so that no two fall together.
  const double hours = -std::log(1 - rng_.Unit()) / per_hour;
  return std::chrono::seconds(1 + std::llround(hours * 3600));
}

void Load::Start() {
  WorkloadSpec agent{.name = "node-agent", .namespace_ = "kube-system", .kind = "DaemonSet"};
  agent.pod = PodAsking("100m", "150Mi");
  agent.pod.spec.tolerations = {{.operator_ = "Exists"}};
  model_.controllers.Add(std::move(agent));
  for (const Service& service : options_.services) {
    WorkloadSpec spec{.name = service.name,
                      .pod = PodAsking(service.cpu, service.memory),
                      .replicas = service.at_night,
                      .budget_max = Number(service.max_unavailable)};
    model_.controllers.Add(std::move(spec));
  }
  NextStep();
  if (options_.jobs_per_hour > 0)
    model_.agenda.In(Until(options_.jobs_per_hour), [this] { NextJob(); });
  if (options_.bursts_per_day > 0)
    model_.agenda.In(Until(options_.bursts_per_day / 24), [this] { NextBurst(); });
}

void Load::ScaleServices() {
  const double day = OfDay(model_.agenda.Now());
  for (const Service& service : options_.services) {
    double wanted = service.at_night + (service.at_noon - service.at_night) * day;
    const auto burst = burst_.find(service.name);
    if (burst != burst_.end()) wanted *= burst->second;
    wanted *= 0.95 + 0.1 * rng_.Unit();
    model_.controllers.Scale(service.name, std::max(1, static_cast<int>(std::lround(wanted))));
  }
}

void Load::NextStep() {
  ScaleServices();
  model_.agenda.In(options_.step, [this] { NextStep(); });
}

void Load::NextJob() {
  const int pods = 1 + static_cast<int>(rng_.Below(static_cast<uint64_t>(options_.max_job_pods)));
  const auto longest_minutes =
      static_cast<uint64_t>(options_.longest_job / std::chrono::minutes(1));
  WorkloadSpec job{.name = "job-" + std::to_string(++jobs_), .kind = "Job"};
  job.pod = rng_.Chance(0.5) ? PodAsking("1", "2Gi") : PodAsking("2", "3Gi");
  job.pod.spec.restart_policy = "OnFailure";
  job.replicas = pods;
  job.runs_for = std::chrono::minutes(3 + rng_.Below(std::max<uint64_t>(1, longest_minutes - 2)));
  if (rng_.Chance(0.2)) {  // a fifth must not be disturbed
    job.pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";
    job.pod.metadata.annotations["karpenter.sh/do-not-disrupt"] = "true";
  }
  model_.controllers.Add(std::move(job));
  model_.agenda.In(Until(options_.jobs_per_hour), [this] { NextJob(); });
}

void Load::NextBurst() {
  const Service& service = options_.services[rng_.Below(options_.services.size())];
  burst_[service.name] = 2 + rng_.Unit();
  const Duration lasts = std::chrono::minutes(10 + rng_.Below(50));
  model_.agenda.In(lasts, [this, name = service.name] { burst_.erase(name); });
  ScaleServices();
  model_.agenda.In(Until(options_.bursts_per_day / 24), [this] { NextBurst(); });
}

}  // namespace coppice::sim
