#include "provider/driven_cloud.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "base/strings.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/group_limits.h"
#include "cloud/node_groups_wrapper.h"
#include "provider/config_watch.h"

namespace coppice::provider {
namespace {

constexpr size_t kDrivenCalls = 10;
constexpr size_t kDrivenOrders = 100'000;
constexpr Duration kCheckTimeout = std::chrono::seconds(30);

class DrivenCloud final : public cloud::NodeGroupsWrapper {
 public:
  DrivenCloud(DrivenCloudOptions options, const OpenCloudContext& context)
      : options_(std::move(options)),
        clock_(context.clock),
        log_(context.log),
        watch_(options_.config_path,
               {context.clouds, [](const char* name) { return std::getenv(name); }}, context.log) {}

  Status Open(const OpenCloudContext& context) {
    config_ = TRY(watch_.LoadFirst());
    if (config_.cloud_kind != options_.cloud) {
      return InvalidArgument("--cloud-provider=" + options_.cloud + ", but " +
                             options_.config_path + " is for the cloud '" + config_.cloud_kind +
                             "': set cloud.kind there, or the flag");
    }
    TRY(ApplyLimits(config_));
    cloud_ = TRY(OpenCloud(config_, context));
    TRY(CheckAgainstCloud(*cloud_, config_.groups, options_.config_path, kCheckTimeout, clock_,
                          log_));
    if (options_.workers == nullptr)
      own_workers_ = std::make_unique<Pool>(kDrivenCalls, kDrivenOrders);
    Workers& workers = own_workers_ ? *own_workers_ : *options_.workers;
    groups_ = TRY(cloud::CloudNodeGroups::Create(
        {.cloud = *cloud_,
         .workers = workers,
         .clock = clock_,
         .rng = context.rng,
         .log = log_,
         .metrics = context.metrics},
        {.cluster = config_.cluster_tag,
         .max_parallel = kDrivenCalls,
         .answer_increase_after = config_.answer_increase_after.value_or(Duration::zero())},
        config_.groups));
    StandBefore(*groups_);
    return Status::Ok();
  }

  ~DrivenCloud() override {
    if (groups_ == nullptr) return;
    const Status drained = groups_->Drain(Deadline::In(clock_, options_.drain));
    if (!drained.ok()) {
      log_.Warning("orders under way are handed over to the next start",
                   {{"orders", drained.message()}});
    }
  }

  Status Refresh(Deadline deadline) override {
    ReadConfigAgain();
    return groups_->Refresh(deadline);
  }

 private:
  Status ApplyLimits(ProviderConfig& config) const {
    return cloud::LimitGroups(options_.limits, config.groups);
  }

  Status Apply(ProviderConfig next) {
    TRY(ApplyLimits(next));
    std::vector<cloud::GroupConfig> changed;
    std::ranges::copy_if(next.groups, std::back_inserter(changed), [&](const auto& group) {
      return std::ranges::find(config_.groups, group) == config_.groups.end();
    });
    TRY(CheckAgainstCloud(*cloud_, changed, options_.config_path, kCheckTimeout, clock_, log_));
    TRY(groups_->Reconfigure(next.groups));
    if (next.cluster_tag != config_.cluster_tag || next.cloud_kind != config_.cloud_kind ||
        !SameYaml(next.cloud, config_.cloud)) {
      log_.Warning("clusterTag and cloud take effect after a restart only");
    }
    config_.groups = std::move(next.groups);
    log_.Info("configuration taken into use",
              {{"groups", config_.groups.size()}, {"changed_groups", changed.size()}});
    return Status::Ok();
  }

  // One Refresh at a time; another that comes meanwhile goes on with the old groups. No lock, for
  // the cloud is asked on the way.
  void ReadConfigAgain() {
    if (reading_.exchange(true)) return;
    if (auto next = watch_.LoadIfChanged()) {
      const Status applied = Apply(std::move(*next));
      if (!applied.ok()) {
        log_.Error("the new configuration is refused, the old one stays in use",
                   {{"file", options_.config_path}, {"error", applied.message()}});
      }
    }
    reading_ = false;
  }

  const DrivenCloudOptions options_;
  Clock& clock_;
  const Log& log_;
  std::atomic<bool> reading_ = false;
  ConfigWatch watch_;
  ProviderConfig config_;
  // In the order in which they need each other; destroyed in the other.
  std::unique_ptr<cloud::Cloud> cloud_;
  std::unique_ptr<Pool> own_workers_;
  std::unique_ptr<cloud::CloudNodeGroups> groups_;
};

}  // namespace

Result<std::unique_ptr<cloud::NodeGroups>> DriveCloud(DrivenCloudOptions options,
                                                      const OpenCloudContext& context) {
  if (options.config_path.empty()) {
    return InvalidArgument("--cloud-provider=" + options.cloud +
                           " needs --cloud-config: a file with the node groups, as `coppice "
                           "provider` reads it");
  }
  auto driven = std::make_unique<DrivenCloud>(std::move(options), context);
  TRY(driven->Open(context));
  return std::unique_ptr<cloud::NodeGroups>(std::move(driven));
}

}  // namespace coppice::provider
