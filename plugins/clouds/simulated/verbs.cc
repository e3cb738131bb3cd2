#include "plugins/clouds/simulated/verbs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"

namespace coppice::clouds::simulated {

namespace {

using cloud::Machine;
using cloud::MachineState;

constexpr std::string_view kScheme = "simulated://";

double Cost(double price_per_hour, Duration time) {
  return price_per_hour * std::chrono::duration<double, std::ratio<3600>>(time).count();
}

// What the flavor offers there; null: nothing of its own, so the flavor's price and zones hold.
const cloud::FlavorOffering* OfferingIn(const cloud::Flavor& flavor, std::string_view zone,
                                        std::string_view capacity_type) {
  for (const cloud::FlavorOffering& offering : flavor.offerings) {
    if (offering.zone == zone && offering.capacity_type == capacity_type) return &offering;
  }
  return nullptr;
}

std::string_view WayOf(const cloud::MachineSpec& spec) {
  return spec.capacity_type.empty() ? std::string_view(cloud::kOnDemandCapacity)
                                    : std::string_view(spec.capacity_type);
}

}  // namespace

SimulatedCloud::SimulatedCloud(Options options, Clock& clock, uint64_t seed, Metrics& metrics)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics),
      started_(clock.Now()),
      rng_(seed),
      list_rng_(~seed) {}

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

void SimulatedCloud::Turns(const Entry& entry, TimePoint next) {
  if (watched_) changed_.insert(entry.machine.id);
  turns_.emplace(next, entry.machine.id);
}

void SimulatedCloud::Leave(Entry& entry, TimePoint gone_at) {
  entry.gone_at = gone_at;
  Turns(entry, gone_at);
  by_name_.erase(entry.machine.name);
  --by_flavor_[entry.machine.flavor];
  const auto reclaim = reclaims_.find(entry.reclaimed_at);
  if (reclaim != reclaims_.end() && reclaim->second == entry.machine.id) reclaims_.erase(reclaim);
}

void SimulatedCloud::Bury(TimePoint now) {
  while (!reclaims_.empty() && reclaims_.begin()->first <= now) {
    Entry& entry = machines_.at(reclaims_.begin()->second);
    Leave(entry, entry.reclaimed_at + options_.delete_time);
    metrics_
        .GetCounter("autoscaler_simulated_reclaims_total",
                    "spot machines that the simulated cloud has taken back")
        .Increment();
  }
  while (!turns_.empty() && turns_.begin()->first <= now) {
    const cloud::ProviderId id = turns_.begin()->second;
    turns_.erase(turns_.begin());
    const auto it = machines_.find(id);
    if (it == machines_.end()) continue;
    if (watched_) changed_.insert(id);
    const Entry& entry = it->second;
    if (entry.gone_at > now) continue;
    buried_cost_ += Cost(entry.price_per_hour, entry.gone_at - entry.machine.created_at);
    machines_.erase(it);
  }
}

const SoldFlavor* SimulatedCloud::Find(const std::string& flavor) const {
  const auto it = std::ranges::find_if(
      options_.flavors, [&](const SoldFlavor& sold) { return sold.flavor.name == flavor; });
  if (it != options_.flavors.end()) return &*it;
  if (!options_.grid) return nullptr;
  const auto made = made_to_measure_.find(flavor);
  if (made != made_to_measure_.end()) return &made->second;
  const auto measure = options_.grid->Parse(flavor);
  if (!measure || !options_.grid->Sells(*measure)) return nullptr;
  return &made_to_measure_.emplace(flavor, SoldFlavor{.flavor = options_.grid->FlavorOf(*measure)})
              .first->second;
}

bool SimulatedCloud::InStock(const SoldFlavor& sold, std::string_view zone,
                             std::string_view capacity_type, TimePoint now) const {
  const auto* offering = OfferingIn(sold.flavor, zone, capacity_type);
  if (offering != nullptr && !offering->in_stock) return false;
  const auto count = by_flavor_.find(sold.flavor.name);
  if (sold.stock > 0 && count != by_flavor_.end() && count->second >= sold.stock) return false;
  return std::ranges::none_of(options_.stock_outs, [&](const StockOut& out) {
    const TimePoint from = started_ + out.after;
    return (out.flavor.empty() || out.flavor == sold.flavor.name) &&
           (out.zone.empty() || out.zone == zone) &&
           (out.capacity_type.empty() || out.capacity_type == capacity_type) && now >= from &&
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
  if (spec.capacity_type != "" && spec.capacity_type != cloud::kOnDemandCapacity &&
      OfferingIn(sold->flavor, spec.zone, spec.capacity_type) == nullptr) {
    return InvalidArgument("flavor '" + spec.flavor + "' is not sold as " + spec.capacity_type +
                           " in zone '" + spec.zone + "'");
  }
  if (options_.quota > 0 && static_cast<int64_t>(by_name_.size()) >= options_.quota) {
    return ResourceExhausted("the quota of " + std::to_string(options_.quota) +
                             " machines is used up");
  }
  if (!InStock(*sold, spec.zone, WayOf(spec), now)) {
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
                          .created_at = now,
                          .capacity_type = spec.capacity_type,
                          .image = spec.image},
              .ready_at = now + std::chrono::duration_cast<Duration>(options_.boot_time * stretch),
              .ends_failed = rng_.Chance(options_.faults.boot_failure),
              .listed_from = now + options_.list_lag,
              .price_per_hour = Find(spec.flavor)->flavor.price_per_hour.value_or(0)};
  const auto* offering = OfferingIn(Find(spec.flavor)->flavor, spec.zone, WayOf(spec));
  if (offering != nullptr && offering->price_per_hour) {
    entry.price_per_hour = *offering->price_per_hour;
  }
  if (spec.capacity_type == cloud::kSpotCapacity && options_.spot_lifetime > Duration::zero()) {
    const double lives = -std::log(1 - rng_.Unit());  // of an even rate, in mean lifetimes
    entry.reclaimed_at =
        now + std::chrono::duration_cast<Duration>(options_.spot_lifetime * std::min(lives, 20.0));
    while (reclaims_.contains(entry.reclaimed_at)) entry.reclaimed_at += Duration(1);
    reclaims_[entry.reclaimed_at] = entry.machine.id;
  }
  by_name_[spec.name] = entry.machine.id;
  ++by_flavor_[spec.flavor];
  const cloud::ProviderId id = entry.machine.id;
  Turns(entry, entry.ready_at);
  if (entry.listed_from > now) Turns(entry, entry.listed_from);
  return machines_.emplace(id, std::move(entry)).first->second;
}

std::vector<cloud::MachineChange> SimulatedCloud::TakeChanges() {
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  Bury(now);
  if (!std::exchange(watched_, true)) {
    for (const auto& [id, entry] : machines_) changed_.insert(id);
  }
  std::vector<cloud::MachineChange> changes;
  for (const cloud::ProviderId& id : std::exchange(changed_, {})) {
    const auto it = machines_.find(id);
    if (it == machines_.end()) {
      changes.push_back({id, std::nullopt});
    } else if (now >= it->second.listed_from) {  // else its turn comes
      changes.push_back({id, Now(it->second, now)});
    }
  }
  return changes;
}

Result<std::vector<Machine>> SimulatedCloud::List(const cloud::Tags& tags, Deadline deadline) {
  const bool in_time = Travel(deadline);
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  Bury(now);
  if (!in_time) return Count("list_servers", DeadlineExceeded("listing took too long"));
  if (list_rng_.Chance(options_.faults.list_failure)) {
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
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  Bury(now);
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
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  Bury(now);
  const auto it = machines_.find(id);
  if (it == machines_.end()) return Count("delete_server", NotFound("there is no machine " + id));
  if (rng_.Chance(options_.faults.delete_failure)) {
    return Count("delete_server", Unavailable("the simulated cloud is not to be reached"));
  }
  Entry& entry = it->second;
  if (entry.gone_at == TimePoint::max()) {
    Leave(entry, now + options_.delete_time);
  }
  if (!in_time) return Count("delete_server", DeadlineExceeded("the answer took too long"));
  return Count("delete_server", Status::Ok());
}

Result<std::vector<cloud::Flavor>> SimulatedCloud::Flavors(Deadline deadline) {
  if (!Travel(deadline)) return Count("list_flavors", DeadlineExceeded("it took too long"));
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  std::vector<cloud::Flavor> all;
  for (const SoldFlavor& sold : options_.flavors) {
    all.push_back(sold.flavor);
    cloud::Flavor& flavor = all.back();
    for (cloud::FlavorOffering& offering : flavor.offerings) {
      offering.in_stock = InStock(sold, offering.zone, offering.capacity_type, now);
    }
    flavor.in_stock =
        flavor.offerings.empty()
            ? std::ranges::any_of(flavor.zones,
                                  [&](const std::string& zone) COPPICE_REQUIRES(mutex_) {
                                    return InStock(sold, zone, cloud::kOnDemandCapacity, now);
                                  })
            : std::ranges::any_of(flavor.offerings, &cloud::FlavorOffering::in_stock);
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
  const MutexLock lock(mutex_);
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
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  double sum = buried_cost_;
  for (const auto& [id, entry] : machines_) {
    sum += Cost(entry.price_per_hour, std::min(now, entry.gone_at) - entry.machine.created_at);
  }
  return sum;
}

}  // namespace coppice::clouds::simulated
