// SimulatedCloud: machines that exist only as entries with times. They take time to boot and to go,
// cost money, run out of stock and quota, and fail with the probabilities of its options, all drawn
// from one seed. Time is the Clock's, so a day is a test of milliseconds; on a real clock it is the
// default cloud of everything that needs none.
//
// Thread-safe. An order that is repeated under the name of a living machine is answered with it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/rng.h"
#include "cloud/cloud.h"
#include "cloud/machine_changes.h"
#include "cloud/offline_flavors.h"
#include "plugins/clouds/simulated/options.h"

namespace coppice::clouds::simulated {

class SimulatedCloud final : public cloud::Cloud,
                             public cloud::OfflineFlavors,
                             public cloud::MachineChanges {
 public:
  SimulatedCloud(Options options, Clock& clock, uint64_t seed, Metrics& metrics);

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline deadline) override;
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override;
  Status Delete(const cloud::ProviderId& id, Deadline deadline) override;
  Result<std::vector<cloud::Flavor>> Flavors(Deadline deadline) override;
  bool OwnsId(const cloud::ProviderId& id) const override;
  Result<std::vector<std::string>> Validate(const cloud::GroupConfig& group,
                                            Deadline deadline) override;
  std::string GpuLabel() const override { return "simulated.coppice/gpu"; }
  std::string IdPrefix() const override { return "simulated://"; }
  std::optional<cloud::FlavorGrid> Grid() const override { return options_.grid; }

  std::vector<cloud::MachineChange> TakeChanges() override;

  // What all machines together have cost until now.
  double spent() const;

 private:
  struct Entry {
    cloud::Machine machine;  // its state is worked out when somebody looks
    TimePoint ready_at;
    bool ends_failed = false;
    TimePoint listed_from;
    TimePoint gone_at = TimePoint::max();       // being deleted if it has one
    TimePoint reclaimed_at = TimePoint::max();  // spot: the cloud takes it back
    double price_per_hour = 0;
  };

  // Waits as long as the network would; false: the caller is gone before the answer.
  bool Travel(Deadline deadline);
  cloud::Machine Now(const Entry& entry, TimePoint now) const;
  // Takes spot machines back, and forgets what has gone.
  void Bury(TimePoint now) COPPICE_REQUIRES(mutex_);
  void Leave(Entry& entry, TimePoint gone_at) COPPICE_REQUIRES(mutex_);
  // It looks different now, and will again then.
  void Turns(const Entry& entry, TimePoint next) COPPICE_REQUIRES(mutex_);
  const SoldFlavor* Find(const std::string& flavor) const COPPICE_REQUIRES(mutex_);
  bool InStock(const SoldFlavor& sold, std::string_view zone, std::string_view capacity_type,
               TimePoint now) const COPPICE_REQUIRES(mutex_);
  Status CheckOrder(const cloud::MachineSpec& spec, TimePoint now) COPPICE_REQUIRES(mutex_);
  Entry& Make(const cloud::MachineSpec& spec, TimePoint now) COPPICE_REQUIRES(mutex_);
  Status Count(std::string_view operation, Status status) const;

  const Options options_;
  Clock& clock_;
  Metrics& metrics_;
  const TimePoint started_;

  mutable Mutex mutex_;
  SeededRng rng_ COPPICE_GUARDED_BY(mutex_);  // of what becomes of machines
  // Of lists: how often somebody looks decides nothing else.
  SeededRng list_rng_ COPPICE_GUARDED_BY(mutex_);
  std::map<cloud::ProviderId, Entry> machines_ COPPICE_GUARDED_BY(mutex_);
  std::map<std::string, cloud::ProviderId> by_name_ COPPICE_GUARDED_BY(mutex_);  // the living
  std::map<std::string, int64_t> by_flavor_ COPPICE_GUARDED_BY(mutex_);          // how many live
  std::map<TimePoint, cloud::ProviderId> reclaims_ COPPICE_GUARDED_BY(mutex_);   // of the living
  // When one is in another state.
  std::set<std::pair<TimePoint, cloud::ProviderId>> turns_ COPPICE_GUARDED_BY(mutex_);
  bool watched_ COPPICE_GUARDED_BY(mutex_) = false;                 // somebody takes changes
  std::set<cloud::ProviderId> changed_ COPPICE_GUARDED_BY(mutex_);  // since they were taken
  // Of the grid, as they are asked for.
  mutable std::map<std::string, SoldFlavor> made_to_measure_ COPPICE_GUARDED_BY(mutex_);
  uint64_t made_ COPPICE_GUARDED_BY(mutex_) = 0;
  double buried_cost_ COPPICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice::clouds::simulated
