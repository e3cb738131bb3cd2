// RemoteCloud: the four verbs of a cloud that another process speaks for, in any language, over
// proto/cloud.proto. What is asked goes over as it is; nothing is kept but what Flavors told last.
//
// Any thread. What the wire loses is kUnavailable or kDeadlineExceeded, and so is an answer that
// makes no sense: after it nobody knows whether something happened.

#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/cloud.h"
#include "rpc/cloud_messages.h"

namespace coppice::clouds::remote {

// One unary call: method, request, deadline -> the answer's bytes. A grpc::Channel, or a test.
using CallFunction =
    std::function<Result<std::string>(const std::string&, std::string_view, Deadline)>;

class RemoteCloud final : public cloud::Cloud {
 public:
  RemoteCloud(CallFunction call, std::string metric_prefix)
      : call_(std::move(call)), metric_prefix_(std::move(metric_prefix)) {}

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline deadline) override;
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override;
  Status Delete(const cloud::ProviderId& id, Deadline deadline) override;
  Result<std::vector<cloud::Flavor>> Flavors(Deadline deadline) override;
  // A server that does not implement it: flavor and zone are checked here.
  Result<std::vector<std::string>> Validate(const cloud::GroupConfig& group,
                                            Deadline deadline) override;

  bool OwnsId(const cloud::ProviderId& id) const override;
  std::map<std::string, std::string> Extra(const cloud::GroupConfig& group) const override {
    return rpc::ExtraOfGroup(group);
  }
  std::optional<cloud::FlavorGrid> Grid() const override;
  std::string GpuLabel() const override;
  std::string MetricPrefix() const override;

 private:
  Result<std::string> Ask(const char* method, std::string_view request, Deadline deadline) const;

  const CallFunction call_;
  const std::string metric_prefix_;
  mutable std::mutex mutex_;
  rpc::CloudDescription description_;  // without the flavors
};

}  // namespace coppice::clouds::remote
