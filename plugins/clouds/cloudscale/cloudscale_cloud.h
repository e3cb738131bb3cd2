// CloudscaleCloud: the four verbs on the cloudscale.ch API, and the start-up check of a group.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cloud/cloud.h"
#include "plugins/clouds/cloudscale/api.h"
#include "plugins/clouds/cloudscale/messages.h"
#include "plugins/clouds/cloudscale/validate.h"

namespace coppice::clouds::cloudscale {

struct CreateOptions {
  // How long after a create whose answer was lost we look for the server in the list before we say
  // that we do not know. Lists may lag behind.
  Duration settle_time = std::chrono::seconds(10);
  Duration look_interval = std::chrono::seconds(1);
};

class CloudscaleCloud final : public cloud::Cloud {
 public:
  CloudscaleCloud(std::unique_ptr<Api> api, CreateOptions options, Clock& clock, const Log& log)
      : api_(std::move(api)), options_(options), clock_(clock), log_(log), catalog_(*api_, clock) {}

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline deadline) override;
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override;
  Status Delete(const cloud::ProviderId& id, Deadline deadline) override;
  Result<std::vector<cloud::Flavor>> Flavors(Deadline deadline) override;

  bool OwnsId(const cloud::ProviderId& id) const override;
  Result<std::vector<std::string>> Validate(const cloud::GroupConfig& group,
                                            Deadline deadline) override;
  std::map<std::string, std::string> Extra(const cloud::GroupConfig& group) const override {
    return ExtraOf(group);
  }
  std::string IdPrefix() const override { return "cloudscale://"; }
  // The constant of the Go provider; operators put it on their GPU nodes.
  std::string GpuLabel() const override { return "cloudscale.ch/gpu-node"; }
  // The Go provider's, so that dashboards go on.
  std::string MetricPrefix() const override { return "autoscaler_cloudscale"; }

 private:
  Result<std::optional<cloud::Machine>> FindByName(const cloud::MachineSpec& spec,
                                                   Deadline deadline);
  Result<std::optional<cloud::Machine>> LookFor(const cloud::MachineSpec& spec, TimePoint until,
                                                Deadline deadline);
  std::optional<TimePoint> FirstSent(const std::string& name);
  void RememberSent(const std::string& name);

  const std::unique_ptr<Api> api_;
  const CreateOptions options_;
  Clock& clock_;
  const Log& log_;
  Catalog catalog_;
  std::mutex mutex_;
  // Names that a create was sent for, and when last. The API allows two servers of one name, so who
  // orders a name again is first shown what is there already.
  std::map<std::string, TimePoint> sent_;
};

}  // namespace coppice::clouds::cloudscale
