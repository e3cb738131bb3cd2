#include "plugins/clouds/simulated/verbs.h"

#include <algorithm>

#include "base/strings.h"

namespace coppice::clouds::simulated {

namespace {

using cloud::Machine;
using cloud::MachineState;

constexpr std::string_view kScheme = "simulated://";

double Cost(double price_per_hour, Duration time) {
  return price_per_hour * std::chrono::duration<double, std::ratio<3600>>(time).count();
}

}  // namespace

SimulatedCloud::SimulatedCloud(Options options, Clock& clock, uint64_t seed, Metrics& metrics)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics),
      started_(clock.Now()),
      rng_(seed) {}

bool SimulatedCloud::Travel(Deadline deadline) {
  if (options_.latency <= Duration::zero()) return true;
  const TimePoint back = clock_.Now() + options_.latency;
  clock_.SleepUntil(std::min(back, deadline.at));
  return back <= deadline.at;
}

Status SimulatedCloud::Count(std::string_view operation, Status status) const {
  metrics_
      .GetCounter(
          "autoscaler_simulated_api_requests_total", "calls to the simulated cloud",
          {{"operation", std::string(operation)}, {"result", status.ok() ? "success" : "error"}})
      .Increment();
  return status;
}

Machine SimulatedCloud::Now(const Entry& entry, TimePoint now) const {
  Machine machine = entry.machine;
  if (entry.gone_at != TimePoint::max()) {
    machine.state = MachineState::kDeleting;
  } else if (now < entry.ready_at) {
    machine.state = MachineState::kCreating;
  } else if (entry.ends_failed) {
    machine.state = MachineState::kFailed;
    machine.error = cloud::MachineError{cloud::ErrorClass::kOther, "BOOT_FAILED",
                                        "the machine did not come up"};
  } else {
    machine.state = MachineState::kRunning;
  }
  return machine;
}

void SimulatedCloud::Bury(TimePoint now) {
  for (auto it = machines_.begin(); it != machines_.end();) {
    if (it->second.gone_at > now) {
      ++it;
      continue;
    }
    buried_cost_ +=
        Cost(it->second.price_per_hour, it->second.gone_at - it->second.machine.created_at);
    it = machines_.erase(it);
  }
}

const SoldFlavor* SimulatedCloud::Find(std::string_view flavor) const {
  const auto it = std::ranges::find_if(
      options_.flavors, [&](const SoldFlavor& sold) { return sold.flavor.name == flavor; });
  return it == options_.flavors.end() ? nullptr : &*it;
}

bool SimulatedCloud::InStock(const SoldFlavor& sold, std::string_view zone, TimePoint now) const {
  const auto count = by_flavor_.find(sold.flavor.name);
  if (sold.stock > 0 && count != by_flavor_.end() && count->second >= sold.stock) return false;
  return std::ranges::none_of(options_.stock_outs, [&](const StockOut& out) {
    const TimePoint from = started_ + out.after;
    return (out.flavor.empty() || out.flavor == sold.flavor.name) &&
           (out.zone.empty() || out.zone == zone) && now >= from &&
           (out.lasts == Duration::zero() || now < from + out.lasts);
  });
}

Status SimulatedCloud::CheckOrder(const cloud::MachineSpec& spec, TimePoint now) {
  const SoldFlavor* sold = Find(spec.flavor);
  if (sold == nullptr) return InvalidArgument("there is no flavor '" + spec.flavor + "'");
  const auto& zones = sold->flavor.zones;
  if (std::ranges::find(zones, spec.zone) == zones.end()) {
    return InvalidArgument("flavor '" + spec.flavor + "' is not sold in zone '" + spec.zone +
                           "'; it is in: " + Join(zones, ", "));
  }
  if (options_.quota > 0 && static_cast<int64_t>(by_name_.size()) >= options_.quota) {
    return ResourceExhausted("the quota of " + std::to_string(options_.quota) +
                             " machines is used up");
  }
  if (!InStock(*sold, spec.zone, now)) {
    return ResourceExhausted("flavor '" + spec.flavor + "' is out of stock in zone '" + spec.zone +
                             "'");
  }
  if (rng_.Chance(options_.faults.create_failure)) {
    return FailedPrecondition("the simulated cloud refuses this order, as its faults say");
  }
  return Status::Ok();
}

SimulatedCloud::Entry& SimulatedCloud::Make(const cloud::MachineSpec& spec, TimePoint now) {
  const double stretch = 1 + options_.boot_jitter * (2 * rng_.Unit() - 1);
  Entry entry{.machine = {.id = std::string(kScheme) + spec.name + "/" + std::to_string(++made_),
                          .name = spec.name,
                          .flavor = spec.flavor,
                          .zone = spec.zone,
                          .tags = spec.tags,
                          .created_at = now},
              .ready_at = now + std::chrono::duration_cast<Duration>(options_.boot_time * stretch),
              .ends_failed = rng_.Chance(options_.faults.boot_failure),
              .listed_from = now + options_.list_lag,
              .price_per_hour = Find(spec.flavor)->flavor.price_per_hour.value_or(0)};
  by_name_[spec.name] = entry.machine.id;
  ++by_flavor_[spec.flavor];
  const cloud::ProviderId id = entry.machine.id;
  return machines_.emplace(id, std::move(entry)).first->second;
}

Result<std::vector<Machine>> SimulatedCloud::List(const cloud::Tags& tags, Deadline deadline) {
  const bool in_time = Travel(deadline);
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  Bury(now);
  if (!in_time) return Count("list_servers", DeadlineExceeded("listing took too long"));
  if (rng_.Chance(options_.faults.list_failure)) {
    return Count("list_servers", Unavailable("the simulated cloud is not to be reached"));
  }
  std::vector<Machine> all;
  for (const auto& [id, entry] : machines_) {
    const auto has = [&](const auto& tag) {
      const auto it = entry.machine.tags.find(tag.first);
      return it != entry.machine.tags.end() && it->second == tag.second;
    };
    if (now >= entry.listed_from && std::ranges::all_of(tags, has)) all.push_back(Now(entry, now));
  }
  (void)Count("list_servers", Status::Ok());
  return all;
}

Result<Machine> SimulatedCloud::Create(const cloud::MachineSpec& spec, Deadline deadline) {
  const bool in_time = Travel(deadline);
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  const auto known = by_name_.find(spec.name);
  const Entry* entry = known == by_name_.end() ? nullptr : &machines_.at(known->second);
  if (entry == nullptr) {
    const Status wrong = CheckOrder(spec, now);
    if (!wrong.ok()) return Count("create_server", wrong);
    entry = &Make(spec, now);
  }
  // It has happened; whether the caller hears of it is another matter.
  if (!in_time) return Count("create_server", DeadlineExceeded("the answer took too long"));
  if (rng_.Chance(options_.faults.lost_answer)) {
    return Count("create_server", Unavailable("the connection broke before the answer"));
  }
  (void)Count("create_server", Status::Ok());
  return Now(*entry, now);
}

Status SimulatedCloud::Delete(const cloud::ProviderId& id, Deadline deadline) {
  const bool in_time = Travel(deadline);
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  Bury(now);
  const auto it = machines_.find(id);
  if (it == machines_.end()) return Count("delete_server", NotFound("there is no machine " + id));
  if (rng_.Chance(options_.faults.delete_failure)) {
    return Count("delete_server", Unavailable("the simulated cloud is not to be reached"));
  }
  Entry& entry = it->second;
  if (entry.gone_at == TimePoint::max()) {
    entry.gone_at = now + options_.delete_time;
    by_name_.erase(entry.machine.name);
    --by_flavor_[entry.machine.flavor];
  }
  if (!in_time) return Count("delete_server", DeadlineExceeded("the answer took too long"));
  return Count("delete_server", Status::Ok());
}

Result<std::vector<cloud::Flavor>> SimulatedCloud::Flavors(Deadline deadline) {
  if (!Travel(deadline)) return Count("list_flavors", DeadlineExceeded("it took too long"));
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  std::vector<cloud::Flavor> all;
  for (const SoldFlavor& sold : options_.flavors) {
    all.push_back(sold.flavor);
    all.back().in_stock = std::ranges::any_of(
        sold.flavor.zones, [&](const std::string& zone) { return InStock(sold, zone, now); });
  }
  (void)Count("list_flavors", Status::Ok());
  return all;
}

// simulated://NAME/NUMBER
bool SimulatedCloud::OwnsId(const cloud::ProviderId& id) const {
  if (!id.starts_with(kScheme)) return false;
  const std::string_view rest = std::string_view(id).substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size()) return false;
  return std::ranges::all_of(rest.substr(slash + 1), [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::vector<std::string>> SimulatedCloud::Validate(const cloud::GroupConfig& group,
                                                          Deadline) {
  std::vector<std::string> mistakes;
  const auto add = [&](const std::string& what, const std::string& value,
                       const std::vector<std::string>& known) {
    const std::string nearest = Nearest(value, known);
    mistakes.push_back(
        "group '" + group.name + "': there is no " + what + " '" + value + "'; " +
        (nearest.empty() ? "there are: " + Join(known, ", ") : "did you mean '" + nearest + "'?"));
  };
  std::vector<std::string> names;
  for (const SoldFlavor& sold : options_.flavors) names.push_back(sold.flavor.name);
  const SoldFlavor* sold = Find(group.flavor);
  if (sold == nullptr) add("flavor", group.flavor, names);
  if (std::ranges::find(options_.zones, group.zone) == options_.zones.end()) {
    add("zone", group.zone, options_.zones);
  } else if (sold != nullptr &&
             std::ranges::find(sold->flavor.zones, group.zone) == sold->flavor.zones.end()) {
    mistakes.push_back("group '" + group.name + "': flavor '" + group.flavor +
                       "' is not sold in zone '" + group.zone +
                       "'; it is in: " + Join(sold->flavor.zones, ", "));
  }
  return mistakes;
}

double SimulatedCloud::spent() const {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  double sum = buried_cost_;
  for (const auto& [id, entry] : machines_) {
    sum += Cost(entry.price_per_hour, std::min(now, entry.gone_at) - entry.machine.created_at);
  }
  return sum;
}

}  // namespace coppice::clouds::simulated
