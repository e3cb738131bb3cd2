// A cloud that counts what it is asked: every verb goes to the cloud behind it, and is a call out.

#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloud/cloud.h"

namespace coppice::test {

class CountingCloud final : public cloud::Cloud {
 public:
  explicit CountingCloud(cloud::Cloud& behind) : behind_(behind) {}

  int calls() const { return calls_; }

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline deadline) override {
    ++calls_;
    return behind_.List(tags, deadline);
  }
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override {
    ++calls_;
    return behind_.Create(spec, deadline);
  }
  Status Delete(const cloud::ProviderId& id, Deadline deadline) override {
    ++calls_;
    return behind_.Delete(id, deadline);
  }
  Result<std::vector<cloud::Flavor>> Flavors(Deadline deadline) override {
    ++calls_;
    return behind_.Flavors(deadline);
  }
  Result<std::vector<std::string>> Validate(const cloud::GroupConfig& group,
                                            Deadline deadline) override {
    ++calls_;
    return behind_.Validate(group, deadline);
  }
  bool OwnsId(const cloud::ProviderId& id) const override { return behind_.OwnsId(id); }
  std::map<std::string, std::string> Extra(const cloud::GroupConfig& group) const override {
    return behind_.Extra(group);
  }
  std::string GpuLabel() const override { return behind_.GpuLabel(); }
  std::string IdPrefix() const override { return behind_.IdPrefix(); }
  std::optional<cloud::FlavorGrid> Grid() const override { return behind_.Grid(); }

 private:
  cloud::Cloud& behind_;
  std::atomic<int> calls_{0};
};

}  // namespace coppice::test
