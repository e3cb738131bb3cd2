#include "sim/faults.h"

#include <cmath>

namespace coppice::sim {

using std::chrono::minutes;
using std::chrono::seconds;

Faults::Faults(Model& model, FaultRates rates, uint64_t seed)
    : model_(model), rates_(rates), rng_(seed) {
  model_.cloud.hooks.before_list = [this]() -> Status {
    return away_ ? Unavailable("the cloud is not to be reached") : Status::Ok();
  };
  model_.cloud.hooks.before_create = [this](const cloud::MachineSpec& spec) -> Status {
    if (away_) return Unavailable("the cloud is not to be reached");
    const auto tag = spec.tags.find(cloud::kGroupTag);
    const auto out = sold_out_.find(tag == spec.tags.end() ? spec.flavor : tag->second);
    if (on_ && out != sold_out_.end() && model_.agenda.Now() < out->second)
      return ResourceExhausted("flavor '" + spec.flavor + "' is out of stock");
    return Status::Ok();
  };
  model_.cloud.hooks.after_create = [this](const cloud::MachineSpec& spec) -> Status {
    if (!on_ || !rng_.Chance(rates_.lost_answer)) return Status::Ok();
    Tell("the answer to the order of " + spec.name + " was lost");
    return Unavailable("the connection broke before the answer");
  };
  model_.cloud.hooks.fails_to_boot = [this](const cloud::MachineSpec& spec) {
    if (!on_ || !rng_.Chance(rates_.failed_boot)) return false;
    Tell(spec.name + " will not come up");
    return true;
  };
  model_.cloud.hooks.before_delete = [this](const cloud::ProviderId& id) -> Status {
    if (away_) return Unavailable("the cloud is not to be reached");
    if (!on_ || !rng_.Chance(rates_.refused_delete)) return Status::Ok();
    Tell("the cloud did not delete " + id);
    return Unavailable("try again later");
  };
  model_.machines.joins_after = [this](const cloud::Machine& machine) -> std::optional<Duration> {
    if (on_ && rng_.Chance(rates_.no_join)) {
      Tell(machine.name + " never joins");
      return std::nullopt;
    }
    if (on_ && rng_.Chance(rates_.slow_join)) {
      Tell(machine.name + " joins slowly");
      return Between(minutes(5), minutes(25));
    }
    return Between(seconds(5), seconds(40));
  };
  model_.api.hooks.before_evict = [this](const model::Pod& pod) -> Status {
    if (!on_ || !rng_.Chance(rates_.refused_eviction)) return Status::Ok();
    Tell("the eviction of " + pod.metadata.name + " was refused");
    return ResourceExhausted("try again later");
  };
  model_.api.hooks.hangs = [this](const model::Pod& pod) {
    if (!on_ || !rng_.Chance(rates_.hanging_eviction)) return false;
    Tell(pod.metadata.name + " does not end");
    return true;
  };
  model_.api.objects.before = [this](std::string_view verb,
                                     const cluster::ObjectName& object) -> Status {
    if (!on_ || !rng_.Chance(rates_.refused_change)) return Status::Ok();
    Tell("the API server refused: " + std::string(verb) + " " + object.resource + "/" +
         object.name);
    return Unavailable("try again later");
  };
  model_.api.hooks.before_change = [this](const std::string& node) -> Status {
    if (!on_ || !rng_.Chance(rates_.refused_change)) return Status::Ok();
    Tell("a change of node " + node + " was refused");
    return Unavailable("the API server is not to be reached");
  };
}

void Faults::Tell(const std::string& what) {
  ++count_;
  if (tell) tell(what);
}

Duration Faults::Between(Duration least, Duration most) {
  const auto span = static_cast<uint64_t>((most - least) / seconds(1));
  return least + seconds(rng_.Below(span + 1));
}

// Strikes so often a day on average, for ever.
void Faults::Plan(double per_day, std::function<void()> strike) {
  if (per_day <= 0) return;
  const double days = -std::log(1 - rng_.Unit()) / per_day;
  model_.agenda.In(seconds(1 + std::llround(days * 86'400)),
                   [this, per_day, strike = std::move(strike)] {
                     if (!on_) return;
                     strike();
                     Plan(per_day, strike);
                   });
}

void Faults::Start() {
  on_ = true;
  Plan(rates_.stock_outs, [this] { StockOut(); });
  Plan(rates_.outages, [this] { Outage(); });
  Plan(rates_.lost_machines, [this] { LoseMachine(); });
  Plan(rates_.unready_nodes, [this] { UnreadyNode(); });
  if (set_stale) Plan(rates_.stale_views, [this] { StaleView(); });
  if (restart) {
    Plan(rates_.restarts, [this] {
      Tell("the autoscaler restarts");
      restart();
    });
  }
}

void Faults::Stop() {
  on_ = away_ = false;
  sold_out_.clear();
  if (set_stale) set_stale(false);
}

void Faults::StockOut() {
  const auto& groups = model_.groups();
  std::string what;
  if (!groups.empty()) {
    what = groups[rng_.Below(groups.size())].name;
  } else if (const auto flavors = model_.cloud.Flavors(Deadline::Never()); flavors.ok()) {
    what = (*flavors)[rng_.Below(flavors->size())].name;
  }
  const Duration lasts = Between(minutes(5), minutes(60));
  sold_out_[what] = model_.agenda.Now() + lasts;
  Tell((groups.empty() ? "flavor " : "group ") + what + " is out of stock");
}

void Faults::Outage() {
  away_ = true;
  Tell("the cloud is away");
  model_.agenda.In(Between(seconds(10), minutes(5)), [this] { away_ = false; });
}

void Faults::LoseMachine() {
  const auto machines = model_.cloud.Truth();
  if (machines.empty()) return;
  const cloud::Machine& machine = machines[rng_.Below(machines.size())];
  if (machine.state == cloud::MachineState::kDeleting) return;
  Tell("machine " + machine.name + " is lost");
  model_.cloud.Vanish(machine.id);
}

void Faults::UnreadyNode() {
  const auto nodes = model_.cluster.objects().Nodes();
  if (nodes.empty()) return;
  const std::string name = nodes[rng_.Below(nodes.size())]->metadata.name;
  Tell("node " + name + " stops being ready");
  model_.machines.SetReady(name, false);
  model_.agenda.In(Between(minutes(1), minutes(30)),
                   [this, name] { model_.machines.SetReady(name, true); });
}

void Faults::StaleView() {
  Tell("the view of the cluster falls behind");
  set_stale(true);
  model_.agenda.In(Between(seconds(10), minutes(6)), [this] { set_stale(false); });
}

}  // namespace coppice::sim
