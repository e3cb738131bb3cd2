// WatchedCloud: a cloud between the node groups and the real (here: simulated) one. What passes
// through can be refused, lost or observed; what is behind it stays truthful, so that a model can
// always ask what machines there really are.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cloud/cloud.h"
#include "cloud/machine_changes.h"

namespace coppice::sim {

class WatchedCloud final : public cloud::Cloud {
 public:
  // Each is asked if it is set. A Status that is not OK is what the caller hears.
  struct Hooks {
    std::function<Status()> before_list;
    std::function<Status(const cloud::MachineSpec&)> before_create;  // refused, nothing made
    std::function<Status(const cloud::MachineSpec&)> after_create;   // made, the answer lost
    std::function<bool(const cloud::MachineSpec&)> fails_to_boot;    // made, ends in failure
    std::function<Status(const cloud::ProviderId&)> before_delete;
    std::function<void(const cloud::Machine&)> created;
    std::function<void(const cloud::ProviderId&)> deleted;  // by who asked for it here
    // Is going or gone, whoever wanted it; may be told twice. When changes are taken.
    std::function<void(const cloud::ProviderId&)> ended;
    std::function<void()> changed;  // something was made or ended: look again
  };

  explicit WatchedCloud(std::unique_ptr<cloud::Cloud> behind)
      : behind_(std::move(behind)), changes_(dynamic_cast<cloud::MachineChanges*>(behind_.get())) {}

  Hooks hooks;

  // What there is, without faults of ours.
  std::vector<cloud::Machine> Truth() const;
  // What has changed in it since the last call, as cloud::MachineChanges has it; a cloud that is none
  // is read whole, and compared.
  std::vector<cloud::MachineChange> TakeChanges();
  // Made by somebody else, past all hooks; its name is the spec's.
  Result<cloud::Machine> Plant(const cloud::MachineSpec& spec);
  // Whether it is one that does not come up.
  bool Fails(const cloud::ProviderId& id) const { return failed_.contains(id); }
  // Gone behind our back.
  void Vanish(const cloud::ProviderId& id);

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline deadline) override;
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override;
  Status Delete(const cloud::ProviderId& id, Deadline deadline) override;
  Result<std::vector<cloud::Flavor>> Flavors(Deadline deadline) override;
  bool OwnsId(const cloud::ProviderId& id) const override { return behind_->OwnsId(id); }
  Result<std::vector<std::string>> Validate(const cloud::GroupConfig& group,
                                            Deadline deadline) override {
    return behind_->Validate(group, deadline);
  }
  std::map<std::string, std::string> Extra(const cloud::GroupConfig& group) const override {
    return behind_->Extra(group);
  }
  std::optional<cloud::FlavorGrid> Grid() const override { return behind_->Grid(); }
  std::string GpuLabel() const override { return behind_->GpuLabel(); }
  std::string MetricPrefix() const override { return behind_->MetricPrefix(); }

 private:
  void Mark(cloud::Machine& machine) const;
  void TellEnded(const std::vector<cloud::MachineChange>& changes) const;

  std::unique_ptr<cloud::Cloud> behind_;
  cloud::MachineChanges* changes_;                    // the same; null: it cannot say
  std::map<cloud::ProviderId, cloud::Machine> told_;  // then: as it was told last
  std::map<cloud::ProviderId, bool> failed_;
};

}  // namespace coppice::sim
