// usage: nodes by how busy they really are, with an estimate for pods that the figures do not show
// yet.

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/go_duration.h"
#include "batch/session.h"
#include "plugins/batch/usage/factory.h"

namespace coppice::batch::usage {
namespace {

constexpr Duration kFresh = std::chrono::minutes(5);
constexpr double kMaxScore = 100;

struct Amounts {
  double cpu = 0;     // thousandths
  double memory = 0;  // bytes
};

struct Settings {
  int weight = 5;
  int cpu_weight = 1;
  int memory_weight = 1;
  double cpu_threshold = 80;
  double memory_threshold = 80;
  double request_ratio = 0.7;
  double burst_ratio = 0;
  double risk_threshold = 0.6;
  double risk_factor = 1.2;
  Amounts best_effort = {.cpu = 250, .memory = 200.0 * 1024 * 1024};
};

// Whatever is out of range, or of another type, leaves the default.
void GetWeight(const Arguments& arguments, std::string_view key, int& out) {
  int weight = out;
  arguments.Get(key, weight);
  if (weight >= 0) out = weight;
}
void GetBetween(const Arguments& arguments, std::string_view key, double least, double most,
                double& out) {
  double value = out;
  arguments.Get(key, value);
  if (value >= least && value <= most) out = value;
}
void GetThreshold(const Arguments& arguments, std::string_view key, double& out) {
  int percent = static_cast<int>(out);
  arguments.Get(key, percent);
  if (percent >= 0 && percent <= 100) out = percent;
}
// An int counts in `unit`, a text is a quantity.
void GetAmount(const Arguments& arguments, std::string_view key, double unit, bool milli,
               double& out) {
  const ArgumentValue* value = arguments.Find(key);
  if (!value) return;
  if (value->AsInt() && *value->AsInt() >= 0) out = static_cast<double>(*value->AsInt()) * unit;
  if (!value->AsText()) return;
  const auto quantity = model::Quantity::Parse(*value->AsText());
  if (!quantity.ok() || quantity->Compare(model::Quantity()) < 0) return;
  out = static_cast<double>(milli ? quantity->MilliValue() : quantity->Value());
}

Arguments SectionOf(const Arguments& arguments, std::string_view key) {
  const ArgumentValue* value = arguments.Find(key);
  return value && value->AsMap() ? Arguments(*value->AsMap()) : Arguments();
}

Settings ReadSettings(const Arguments& arguments) {
  Settings settings;
  GetWeight(arguments, "usage.weight", settings.weight);
  GetWeight(arguments, "cpu.weight", settings.cpu_weight);
  GetWeight(arguments, "memory.weight", settings.memory_weight);
  const Arguments thresholds = SectionOf(arguments, "thresholds");
  GetThreshold(thresholds, "cpu", settings.cpu_threshold);
  GetThreshold(thresholds, "mem", settings.memory_threshold);
  const Arguments estimator = SectionOf(arguments, "estimator");
  GetBetween(estimator, "request_ratio", 0, 1, settings.request_ratio);
  GetBetween(estimator, "burst_ratio", 0, 1, settings.burst_ratio);
  GetBetween(estimator, "risk_threshold", 0, 1, settings.risk_threshold);
  GetBetween(estimator, "risk_factor", 1, 1e12, settings.risk_factor);
  GetAmount(estimator, "be_cpu", 1, true, settings.best_effort.cpu);
  GetAmount(estimator, "be_mem", 1024.0 * 1024, false, settings.best_effort.memory);
  return settings;
}

// Of all containers; init containers one after the other, those that stay beside the rest.
Amounts LimitsOf(const model::Pod& pod) {
  const auto of = [](const model::Container& container) {
    const Resource limit = Resource::From(container.resources.limits);
    return Amounts{limit.cpu, limit.memory};
  };
  const auto add = [](Amounts& to, const Amounts& more) {
    to.cpu += more.cpu;
    to.memory += more.memory;
  };
  Amounts sum;
  Amounts staying;
  Amounts most;
  for (const model::Container& container : pod.spec.containers) add(sum, of(container));
  for (const model::Container& container : pod.spec.init_containers) {
    Amounts now = of(container);
    if (container.restart_policy == "Always") {
      add(sum, now);
      add(staying, now);
      now = staying;
    } else {
      add(now, staying);
    }
    most = {std::max(most.cpu, now.cpu), std::max(most.memory, now.memory)};
  }
  return {std::max(sum.cpu, most.cpu), std::max(sum.memory, most.memory)};
}

class Usage final : public Plugin, public Predicate, public NodeOrder, public EventHandler {
 public:
  Usage(const Arguments& arguments, SourceMaker make)
      : settings_(ReadSettings(arguments)), make_(std::move(make)) {}

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    TRY(ReadLoads());
    Duration delay = std::chrono::seconds(30);
    ReadInterval(delay);
    for (const NodeInfo* node : session.nodes()) {
      for (const Task* task : node->SortedTasks()) {
        if (IsUnseen(*task, delay)) Expect(*task, *node);
      }
    }
    session.AddEventHandler(*this);
    slots.predicate = this;
    slots.node_order = this;
    return Status::Ok();
  }

  Fit CheckNode(const Task&, const NodeInfo& node) override {
    const Load* load = LoadOf(node);
    if (!load) return nullptr;
    if (load->cpu > settings_.cpu_threshold) return cpu_exceeded_;
    return load->memory > settings_.memory_threshold ? memory_exceeded_ : nullptr;
  }
  Scope PredicateScope(const Task&) const override { return Scope::kShapes; }

  Result<double> ScoreNode(const Task&, const NodeInfo& node) override {
    const int weights = settings_.cpu_weight + settings_.memory_weight;
    if (!LoadOf(node) || weights == 0) return 0.0;
    const Amounts busy = BusyPart(node);
    const double idle =
        ((1 - busy.cpu) * settings_.cpu_weight + (1 - busy.memory) * settings_.memory_weight) /
        weights;
    return idle * kMaxScore * settings_.weight;
  }
  Scope NodeOrderScope(const Task&) const override { return Scope::kOwnNode; }

  void OnAllocate(Event& event) override {
    if (const NodeInfo* node = session_->FindNode(event.task.node_name)) Expect(event.task, *node);
  }
  void OnDeallocate(Event& event) override { Forget(event.task); }

 private:
  struct Estimate {
    const NodeInfo* node;
    Amounts amounts;
  };

  // Upstream goes on without figures whose origin it does not know, with a line in its log.
  Status ReadLoads() {
    const auto& metrics = session_->conf().metrics;
    if (!metrics || !metrics->contains("type") || metrics->at("type").empty()) return Status::Ok();
    auto source = make_(*metrics);
    if (!source.ok()) return session_->upstream_exact() ? Status::Ok() : source.status();
    Duration interval = std::chrono::seconds(30);
    ReadInterval(interval);
    samples_ = (*source)->Latest(session_->now(), interval);
    for (const NodeInfo* node : session_->nodes()) {
      if (const Load* load = Find(*node))
        session_->SetUsage(*node, {samples_->taken, load->cpu, load->memory});
    }
    return Status::Ok();
  }
  void ReadInterval(Duration& out) const {
    const auto& metrics = session_->conf().metrics;
    if (!metrics || !metrics->contains("interval")) return;
    const auto interval = ParseGoDuration(metrics->at("interval"));
    if (interval.ok() && *interval > Duration::zero()) out = *interval;
  }

  const Load* LoadOf(const NodeInfo& node) const {
    if (!samples_ || session_->now() - samples_->taken > kFresh) return nullptr;
    const auto found = samples_->nodes.find(node.name);
    return found == samples_->nodes.end() ? nullptr : &found->second;
  }

  // On a node, and not in the figures yet.
  bool IsUnseen(const Task& task, Duration delay) const {
    switch (task.node_status) {
      case TaskStatus::kAllocated:
      case TaskStatus::kBinding:
      case TaskStatus::kBound:
        return true;
      case TaskStatus::kRunning:
        return !task.pod->status.start_time ||
               session_->now() - task.pod->status.start_time->at < delay;
      default:
        return false;
    }
  }

  // Of the node's capacity what is in use, or soon will be: 0 to 1.
  Amounts BusyPart(const NodeInfo& node) const {
    const Load* load = samples_ ? Find(node) : nullptr;
    const auto expected = expected_.find(&node);
    const auto part = [](double percent, double more, double capacity) {
      if (capacity <= 0) return 0.0;
      return std::clamp((percent / 100 * capacity + more) / capacity, 0.0, 1.0);
    };
    const Amounts more = expected == expected_.end() ? Amounts() : expected->second;
    return {part(load ? load->cpu : 0, more.cpu, node.capacity.cpu),
            part(load ? load->memory : 0, more.memory, node.capacity.memory)};
  }
  const Load* Find(const NodeInfo& node) const {
    const auto found = samples_->nodes.find(node.name);
    return found == samples_->nodes.end() ? nullptr : &found->second;
  }

  double RiskOf(const NodeInfo& node) const {
    const int weights = settings_.cpu_weight + settings_.memory_weight;
    if (weights == 0) return settings_.risk_threshold <= 0 ? settings_.risk_factor : 1;
    const Amounts busy = BusyPart(node);
    const double load =
        (busy.cpu * settings_.cpu_weight + busy.memory * settings_.memory_weight) / weights;
    return load >= settings_.risk_threshold ? settings_.risk_factor : 1;
  }

  Amounts EstimateOf(const Task& task, const NodeInfo& node) const {
    const double risk = RiskOf(node);
    if (task.best_effort) {
      return {settings_.best_effort.cpu * risk, settings_.best_effort.memory * risk};
    }
    const Amounts limit = LimitsOf(*task.pod);
    const auto estimate = [&](double request, double most) {
      most = std::max(most, request);
      const double value =
          (request * settings_.request_ratio + (most - request) * settings_.burst_ratio) * risk;
      return std::clamp(value, 0.0, most);
    };
    return {estimate(task.req().cpu, limit.cpu), estimate(task.req().memory, limit.memory)};
  }

  void Expect(const Task& task, const NodeInfo& node) {
    const Amounts amounts = EstimateOf(task, node);
    Forget(task);
    expected_[&node].cpu += amounts.cpu;
    expected_[&node].memory += amounts.memory;
    estimates_[task.index] = {&node, amounts};
  }
  // By what was added then, whatever the estimate would be now.
  void Forget(const Task& task) {
    const auto found = estimates_.find(task.index);
    if (found == estimates_.end()) return;
    Amounts& expected = expected_[found->second.node];
    expected.cpu = std::max(expected.cpu - found->second.amounts.cpu, 0.0);
    expected.memory = std::max(expected.memory - found->second.amounts.memory, 0.0);
    estimates_.erase(found);
  }

  const Settings settings_;
  const SourceMaker make_;
  Session* session_ = nullptr;
  std::shared_ptr<const Samples> samples_;
  std::unordered_map<const NodeInfo*, Amounts> expected_;
  std::unordered_map<uint32_t, Estimate> estimates_;  // by Task::index
  const Fit cpu_exceeded_ =
      Refuse(kFitUnresolvable, "the CPU load of the node exceeds the upper limit.", "usage");
  const Fit memory_exceeded_ =
      Refuse(kFitUnresolvable, "the memory load of the node exceeds the upper limit.", "usage");
};

// Sources by all that the configuration says about them, kept from session to session.
class Sources {
 public:
  Result<std::shared_ptr<Source>> Get(const std::map<std::string, std::string>& metrics) {
    const std::string type = metrics.at("type");
    if (type != "prometheus") {
      return Unimplemented("metrics: type '" + type +
                           "' is not read here; have the loads of nodes in Prometheus and say type:"
                           " prometheus with its address");
    }
    const std::lock_guard lock(mutex_);
    if (const auto found = sources_.find(metrics); found != sources_.end()) return found->second;
    const auto text = [&](const char* key) {
      const auto found = metrics.find(key);
      return found == metrics.end() ? std::string() : found->second;
    };
    auto fetch = TRY(FromPrometheus(text("address"), text("caFile")));
    if (sources_.size() >= kMost) sources_.clear();  // configurations came and went
    if (!workers_) workers_ = std::make_shared<Pool>(1, kMost);
    return sources_[metrics] = std::make_shared<Source>(std::move(fetch), workers_);
  }

 private:
  static constexpr size_t kMost = 8;
  std::mutex mutex_;
  std::shared_ptr<Workers> workers_;
  std::map<std::map<std::string, std::string>, std::shared_ptr<Source>> sources_;
};

}  // namespace

PluginFactory MakeFactory(SourceMaker make) {
  return [make](const PluginContext& context) -> Result<std::unique_ptr<Plugin>> {
    return std::unique_ptr<Plugin>(std::make_unique<Usage>(context.arguments, make));
  };
}

void Register(PluginRegistry& registry) {
  auto sources = std::make_shared<Sources>();
  registry.Add("usage", MakeFactory([sources](const std::map<std::string, std::string>& metrics) {
                 return sources->Get(metrics);
               }));
}

}  // namespace coppice::batch::usage
