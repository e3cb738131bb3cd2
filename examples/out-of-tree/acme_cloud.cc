// The cloud: four verbs. A real one would ask Acme's API; this one keeps its machines in memory, so
// that the example runs anywhere. Calls come from several threads.

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "acme.h"
#include "cloud/offline_flavors.h"

namespace acme {
namespace {

using namespace coppice;  // NOLINT: an example reads better so

class AcmeCloud final : public cloud::Cloud, public cloud::OfflineFlavors {
 public:
  AcmeCloud(Clock& clock, int quota) : clock_(clock), quota_(quota) {}

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline) override {
    const std::lock_guard lock(mutex_);
    std::vector<cloud::Machine> found;
    std::ranges::copy_if(machines_, std::back_inserter(found), [&](const cloud::Machine& machine) {
      return std::ranges::all_of(tags, [&](const auto& tag) {
        const auto it = machine.tags.find(tag.first);
        return it != machine.tags.end() && it->second == tag.second;
      });
    });
    return found;
  }

  // The same name again is the same order: its first answer was lost on the way.
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline) override {
    const std::lock_guard lock(mutex_);
    const auto same = std::ranges::find(machines_, spec.name, &cloud::Machine::name);
    if (same != machines_.end()) return *same;
    if (static_cast<int>(machines_.size()) >= quota_)
      return ResourceExhausted("Acme allows " + std::to_string(quota_) + " machines");
    machines_.push_back({.id = "acme://" + std::to_string(++last_id_),
                         .name = spec.name,
                         .flavor = spec.flavor,
                         .zone = spec.zone,
                         .tags = spec.tags,
                         .state = cloud::MachineState::kRunning,
                         .created_at = clock_.Now()});
    return machines_.back();
  }

  Status Delete(const cloud::ProviderId& id, Deadline) override {
    const std::lock_guard lock(mutex_);
    return std::erase_if(machines_, [&](const auto& machine) { return machine.id == id; }) > 0
               ? Status::Ok()
               : NotFound(id + " is gone");
  }

  Result<std::vector<cloud::Flavor>> Flavors(Deadline) override {
    constexpr int64_t kGiB = int64_t{1} << 30;
    return std::vector<cloud::Flavor>{{.name = "anvil",
                                       .cpu_millis = 4'000,
                                       .memory_bytes = 16 * kGiB,
                                       .zones = {"desert"},
                                       .price_per_hour = 0.20},
                                      {.name = "rocket",
                                       .cpu_millis = 16'000,
                                       .memory_bytes = 64 * kGiB,
                                       .zones = {"desert"},
                                       .price_per_hour = 0.70}};
  }

  bool OwnsId(const cloud::ProviderId& id) const override { return id.starts_with("acme://"); }

 private:
  Clock& clock_;
  const int quota_;
  std::mutex mutex_;
  std::vector<cloud::Machine> machines_;
  int last_id_ = 0;
};

Result<std::unique_ptr<cloud::Cloud>> Make(const cloud::CloudContext& context) {
  yaml::MapReader map(context.config, context.problems);  // the `cloud:` part of the file
  map.Get("kind");
  int quota = 100;
  map.Read("quota", quota);
  map.Finish();  // names the keys that nobody read
  if (context.problems.has_errors()) return context.problems.ToStatus();
  return std::unique_ptr<cloud::Cloud>(std::make_unique<AcmeCloud>(context.clock, quota));
}

}  // namespace

// A group of a file has to say where; that it has a name and a flavor goes without saying.
void Register(cloud::CloudRegistry& clouds) { clouds.Add("acme", {Make, {"zone"}}); }

}  // namespace acme
