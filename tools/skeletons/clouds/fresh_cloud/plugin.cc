// fresh-cloud: four verbs (src/cloud/cloud.h). Machines are kept in memory so that it builds and
// passes the suite as it is; replace the bodies by calls to your API (net/http_client.h) one by one.
//
// Calls come from several threads.

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cloud/cloud.h"

namespace coppice::clouds::fresh_cloud {
namespace {

constexpr char kScheme[] = "fresh-cloud://";

class FreshCloud final : public cloud::Cloud {
 public:
  explicit FreshCloud(Clock& clock) : clock_(clock) {}

  // All of them or an error: what is missing here is taken for gone.
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

  // kResourceExhausted: quota or stock-out. kInvalidArgument: the order is wrong. kUnavailable: you
  // do not know whether it happened; then it is asked for again under the same name.
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override {
    const auto flavors = TRY(Flavors(deadline));
    if (std::ranges::find(flavors, spec.flavor, &cloud::Flavor::name) == flavors.end()) {
      return InvalidArgument("there is no flavor '" + spec.flavor + "'");
    }
    const std::lock_guard lock(mutex_);
    const auto same = std::ranges::find(machines_, spec.name, &cloud::Machine::name);
    if (same != machines_.end()) return *same;  // a name is bought once
    machines_.push_back({.id = kScheme + std::to_string(++last_id_),
                         .name = spec.name,
                         .flavor = spec.flavor,
                         .zone = spec.zone,
                         .tags = spec.tags,  // into the same request: nobody finds it otherwise
                         .state = cloud::MachineState::kRunning,
                         .created_at = clock_.Now(),
                         .capacity_type = spec.capacity_type,
                         .image = spec.image});
    return machines_.back();
  }

  Status Delete(const cloud::ProviderId& id, Deadline) override {
    const std::lock_guard lock(mutex_);
    return std::erase_if(machines_, [&](const auto& machine) { return machine.id == id; }) > 0
               ? Status::Ok()
               : NotFound("there is no machine " + id);
  }

  // The hardware as sold, also what is out of stock just now.
  Result<std::vector<cloud::Flavor>> Flavors(Deadline) override {
    return std::vector<cloud::Flavor>{{.name = "medium",
                                       .cpu_millis = 4'000,
                                       .memory_bytes = 16LL << 30,
                                       .disk_bytes = 50LL << 30,
                                       .zones = {"here"},
                                       .price_per_hour = 0.10}};
  }

  bool OwnsId(const cloud::ProviderId& id) const override {
    return id.starts_with(kScheme) && id.size() > sizeof(kScheme) - 1;
  }
  std::string IdPrefix() const override { return kScheme; }

 private:
  Clock& clock_;
  std::mutex mutex_;
  std::vector<cloud::Machine> machines_;
  int last_id_ = 0;
};

Result<std::unique_ptr<cloud::Cloud>> Make(const cloud::CloudContext& context) {
  yaml::MapReader map(context.config, context.problems);  // the `cloud:` part of the file
  map.Get("kind");
  map.Finish();  // names the keys that nobody read
  if (context.problems.has_errors()) return context.problems.ToStatus();
  return std::unique_ptr<cloud::Cloud>(std::make_unique<FreshCloud>(context.clock));
}

}  // namespace

void Register(cloud::CloudRegistry& registry) { registry.Add("fresh-cloud", Make); }

}  // namespace coppice::clouds::fresh_cloud
