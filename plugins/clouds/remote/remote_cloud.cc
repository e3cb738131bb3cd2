#include "plugins/clouds/remote/remote_cloud.h"

#include <algorithm>
#include <utility>

namespace coppice::clouds::remote {
namespace {

// The deed may be done, whatever the answer was to mean.
Status Unreadable(const Status& status) {
  return Unavailable("the cloud's answer cannot be used: " + status.message());
}

}  // namespace

Result<std::string> RemoteCloud::Ask(const char* method, std::string_view request,
                                     Deadline deadline) const {
  return call_(std::string("/") + rpc::kCloudService + "/" + method, request, deadline);
}

Result<std::vector<cloud::Machine>> RemoteCloud::List(const cloud::Tags& tags, Deadline deadline) {
  const auto answer = TRY(Ask("List", rpc::SerializeListRequest(tags), deadline));
  auto machines = rpc::ParseListResponse(answer);
  if (!machines.ok()) return Unreadable(machines.status());
  // A server that ignores the filter must not hand us somebody else's machines.
  std::erase_if(*machines, [&](const cloud::Machine& machine) {
    return !std::ranges::all_of(tags, [&](const auto& tag) {
      const auto it = machine.tags.find(tag.first);
      return it != machine.tags.end() && it->second == tag.second;
    });
  });
  return machines;
}

Result<cloud::Machine> RemoteCloud::Create(const cloud::MachineSpec& spec, Deadline deadline) {
  const auto answer = TRY(Ask("Create", rpc::SerializeCreateRequest(spec), deadline));
  auto machine = rpc::ParseCreateResponse(answer);
  if (!machine.ok()) return Unreadable(machine.status());
  return machine;
}

Status RemoteCloud::Delete(const cloud::ProviderId& id, Deadline deadline) {
  return Ask("Delete", rpc::SerializeDeleteRequest(id), deadline).status();
}

Result<std::vector<cloud::Flavor>> RemoteCloud::Flavors(Deadline deadline) {
  const auto answer = TRY(Ask("Flavors", "", deadline));
  auto description = rpc::ParseFlavorsResponse(answer);
  if (!description.ok()) return Unreadable(description.status());
  auto flavors = std::exchange(description->flavors, {});
  const std::lock_guard lock(mutex_);
  description_ = *std::move(description);
  return flavors;
}

Result<std::vector<std::string>> RemoteCloud::Validate(const cloud::GroupConfig& group,
                                                       Deadline deadline) {
  const auto answer =
      Ask("Validate", rpc::SerializeValidateRequest(rpc::SpecOfGroup(group)), deadline);
  if (answer.code() == Code::kUnimplemented) return Cloud::Validate(group, deadline);
  if (!answer.ok()) return answer.status();
  auto mistakes = rpc::ParseValidateResponse(*answer);
  if (!mistakes.ok()) return Unreadable(mistakes.status());
  return mistakes;
}

bool RemoteCloud::OwnsId(const cloud::ProviderId& id) const {
  const std::lock_guard lock(mutex_);
  return !id.empty() && id.starts_with(description_.id_prefix);
}

std::optional<cloud::FlavorGrid> RemoteCloud::Grid() const {
  const std::lock_guard lock(mutex_);
  return description_.grid;
}

std::string RemoteCloud::GpuLabel() const {
  const std::lock_guard lock(mutex_);
  return description_.gpu_label;
}

std::string RemoteCloud::MetricPrefix() const {
  return metric_prefix_.empty() ? Cloud::MetricPrefix() : metric_prefix_;
}

}  // namespace coppice::clouds::remote
