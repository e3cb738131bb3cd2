// FakeCloud: a cloud in memory that goes wrong on request: slow answers, refusals, answers lost
// after the deed, machines that end in failure, lists that lag behind, a quota.
//
// Thread-safe. It remembers every machine that it ever made, so that a test can ask what bills and
// what was ever deleted.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "cloud/cloud.h"

namespace coppice::cloud {

// What becomes of one call.
struct FakeAnswer {
  Status status;             // not OK: this is what the caller hears
  bool happens = true;       // whether the deed is done; with a status: done, and the answer lost
  Duration latency{};        // waited on the clock before the deed
  bool ends_failed = false;  // create only: the machine is made and ends in kFailed
};

class FakeCloud : public Cloud {
 public:
  struct Entry {
    Machine machine;
    MachineSpec spec;
    TimePoint created_at;
    std::optional<TimePoint> deleted_at;
    Duration lag{};  // of this entry in lists
  };

  explicit FakeCloud(Clock& clock) : clock_(clock) {
    flavors_ = {{.name = "small",
                 .cpu_millis = 2'000,
                 .memory_bytes = 4LL << 30,
                 .disk_bytes = 50LL << 30,
                 .zones = {"zone1"},
                 .price_per_hour = 0.05},
                {.name = "large",
                 .cpu_millis = 8'000,
                 .memory_bytes = 16LL << 30,
                 .disk_bytes = 100LL << 30,
                 .zones = {"zone1"},
                 .price_per_hour = 0.20},
                {.name = "gpu",
                 .cpu_millis = 16'000,
                 .memory_bytes = 64LL << 30,
                 .disk_bytes = 400LL << 30,
                 .gpu_type = "NVIDIA L40S",
                 .gpu_count = 2,
                 .zones = {"zone1"},
                 .price_per_hour = 2.0}};
  }

  // Hooks, asked without the lock; unset: everything works. Set them before threads start.
  std::function<FakeAnswer(const MachineSpec&)> on_create;
  std::function<FakeAnswer(const ProviderId&)> on_delete;
  std::function<FakeAnswer()> on_list;
  std::function<FakeAnswer()> on_flavors;
  std::function<Duration()> draw_lag;  // how long lists do not show the next create or delete

  void set_quota(size_t machines) {
    const MutexLock lock(mutex_);
    quota_ = machines;
  }
  void set_boot_time(Duration boot_time) {
    const MutexLock lock(mutex_);
    boot_time_ = boot_time;
  }
  void set_flavors(std::vector<Flavor> flavors) {
    const MutexLock lock(mutex_);
    flavors_ = std::move(flavors);
  }

  // What somebody else does behind our back. Returns the id.
  ProviderId Plant(const std::string& name, Tags tags,
                   MachineState state = MachineState::kRunning) {
    const MutexLock lock(mutex_);
    Entry entry{.machine = {.id = NextId(),
                            .name = name,
                            .flavor = "small",
                            .zone = "zone1",
                            .tags = std::move(tags),
                            .state = state},
                .created_at = clock_.Now()};
    const ProviderId id = entry.machine.id;
    entries_.emplace(id, std::move(entry));
    return id;
  }
  void Vanish(const ProviderId& id) {
    const MutexLock lock(mutex_);
    entries_.at(id).deleted_at = clock_.Now();
  }
  void SetState(const ProviderId& id, MachineState state, std::optional<MachineError> error = {}) {
    const MutexLock lock(mutex_);
    entries_.at(id).machine.state = state;
    entries_.at(id).machine.error = std::move(error);
  }

  void SetTags(const ProviderId& id, Tags tags) {
    const MutexLock lock(mutex_);
    entries_.at(id).machine.tags = std::move(tags);
  }

  // The truth, without lag.
  std::vector<Entry> everything() const {
    const MutexLock lock(mutex_);
    std::vector<Entry> all;
    for (const auto& [id, entry] : entries_) all.push_back(entry);
    return all;
  }
  void ForEach(const std::function<void(const Entry&)>& visit) const {  // must not call back
    const MutexLock lock(mutex_);
    for (const auto& [id, entry] : entries_) visit(entry);
  }
  std::vector<Machine> alive() const {
    std::vector<Machine> all;
    ForEach([&](const Entry& entry) {
      if (!entry.deleted_at) all.push_back(entry.machine);
    });
    return all;
  }
  int lists() const {
    const MutexLock lock(mutex_);
    return lists_;
  }
  int creates() const {
    const MutexLock lock(mutex_);
    return creates_;
  }

  Result<std::vector<Machine>> List(const Tags& tags, Deadline) override {
    const FakeAnswer answer = Ask(on_list);
    const MutexLock lock(mutex_);
    ++lists_;
    if (!answer.status.ok()) return answer.status;
    std::vector<Machine> shown;
    const TimePoint now = clock_.Now();
    for (const auto& [id, entry] : entries_) {
      if (entry.created_at + entry.lag > now) continue;
      if (entry.deleted_at && *entry.deleted_at + entry.lag <= now) continue;
      const auto has = [&](const auto& tag) {
        const auto it = entry.machine.tags.find(tag.first);
        return it != entry.machine.tags.end() && it->second == tag.second;
      };
      if (std::ranges::all_of(tags, has)) shown.push_back(Aged(entry, now));
    }
    return shown;
  }

  Result<Machine> Create(const MachineSpec& spec, Deadline) override {
    const FakeAnswer answer = on_create ? on_create(spec) : FakeAnswer{};
    if (answer.latency > Duration::zero()) clock_.SleepFor(answer.latency);
    const Duration lag = draw_lag ? draw_lag() : Duration::zero();
    const MutexLock lock(mutex_);
    ++creates_;
    if (!answer.happens) return answer.status;
    if (Alive() >= quota_) return ResourceExhausted("the quota of machines is used up");
    const bool known = std::ranges::any_of(
        flavors_, [&](const Flavor& flavor) { return flavor.name == spec.flavor; });
    if (!known) return InvalidArgument("there is no flavor '" + spec.flavor + "'");
    Entry entry{.machine = {.id = NextId(),
                            .name = spec.name,
                            .flavor = spec.flavor,
                            .zone = spec.zone,
                            .tags = spec.tags,
                            .created_at = clock_.Now(),
                            .capacity_type = spec.capacity_type,
                            .image = spec.image},
                .spec = spec,
                .created_at = clock_.Now(),
                .lag = lag};
    if (answer.ends_failed) {
      entry.machine.state = MachineState::kFailed;
      entry.machine.error = MachineError{ErrorClass::kOther, "BOOT_FAILED", "it did not start"};
    }
    const Machine machine = entry.machine;
    entries_.emplace(machine.id, std::move(entry));
    if (!answer.status.ok()) return answer.status;
    return machine;
  }

  Status Delete(const ProviderId& id, Deadline) override {
    const FakeAnswer answer = on_delete ? on_delete(id) : FakeAnswer{};
    if (answer.latency > Duration::zero()) clock_.SleepFor(answer.latency);
    const MutexLock lock(mutex_);
    if (!answer.happens) return answer.status;
    const auto it = entries_.find(id);
    if (it == entries_.end() || it->second.deleted_at) return NotFound("no machine " + id);
    it->second.deleted_at = clock_.Now();
    return answer.status;
  }

  Result<std::vector<Flavor>> Flavors(Deadline) override {
    const FakeAnswer answer = Ask(on_flavors);
    if (!answer.status.ok()) return answer.status;
    const MutexLock lock(mutex_);
    return flavors_;
  }

  bool OwnsId(const ProviderId& id) const override {
    return id.starts_with("fake://") && id.size() > 7;
  }
  std::string IdPrefix() const override { return "fake://"; }
  std::string GpuLabel() const override { return "fake.example/gpu"; }

 private:
  FakeAnswer Ask(const std::function<FakeAnswer()>& hook) {
    FakeAnswer answer = hook ? hook() : FakeAnswer{};
    if (answer.latency > Duration::zero()) clock_.SleepFor(answer.latency);
    return answer;
  }
  Machine Aged(const Entry& entry, TimePoint now) const COPPICE_REQUIRES(mutex_) {
    Machine machine = entry.machine;
    if (machine.state == MachineState::kCreating && entry.created_at + boot_time_ <= now) {
      machine.state = MachineState::kRunning;
    }
    return machine;
  }
  size_t Alive() const COPPICE_REQUIRES(mutex_) {
    return static_cast<size_t>(
        std::ranges::count_if(entries_, [](const auto& e) { return !e.second.deleted_at; }));
  }
  ProviderId NextId() COPPICE_REQUIRES(mutex_) {
    const std::string number = std::to_string(++next_id_);
    return "fake://" + std::string(8 - std::min<size_t>(8, number.size()), '0') + number;
  }

  Clock& clock_;
  mutable Mutex mutex_;
  std::map<ProviderId, Entry> entries_ COPPICE_GUARDED_BY(mutex_);
  std::vector<Flavor> flavors_ COPPICE_GUARDED_BY(mutex_);
  size_t quota_ COPPICE_GUARDED_BY(mutex_) = SIZE_MAX;
  Duration boot_time_ COPPICE_GUARDED_BY(mutex_) = std::chrono::seconds(30);
  uint64_t next_id_ COPPICE_GUARDED_BY(mutex_) = 0;
  int lists_ COPPICE_GUARDED_BY(mutex_) = 0;
  int creates_ COPPICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace coppice::cloud
