#include "plugins/clouds/cloudscale/cloudscale_cloud.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/url.h"
#include "plugins/clouds/cloudscale/provider_id.h"

namespace coppice::clouds::cloudscale {
namespace {

// How long a name stays in mind, far longer than anybody repeats an order.
constexpr Duration kRememberSent = std::chrono::hours(2);

std::string ListPath(const cloud::Tags& tags) {
  std::string path = "servers";
  char separator = '?';
  for (const auto& [key, value] : tags) {
    path += fmt::format("{}{}={}", std::exchange(separator, '&'), net::PercentEncode("tag:" + key),
                        net::PercentEncode(value));
  }
  return path;
}

bool IsUnknownOutcome(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kInternal;
}

// The codes that tell a caller to list by name before it repeats (cloud.h).
Status Unknown(const Status& failure) {
  const Code code = failure.code() == Code::kDeadlineExceeded ? failure.code() : Code::kUnavailable;
  return {code, failure.message() + "; it is unknown whether the server was created"};
}

bool HasAll(const cloud::Machine& machine, const cloud::Tags& tags) {
  return std::ranges::all_of(tags, [&](const auto& tag) {
    const auto it = machine.tags.find(tag.first);
    return it != machine.tags.end() && it->second == tag.second;
  });
}

}  // namespace

Result<std::vector<cloud::Machine>> CloudscaleCloud::List(const cloud::Tags& tags,
                                                          Deadline deadline) {
  std::vector<cloud::Machine> machines;
  const auto page = [&](std::string_view body) -> Status {
    for (cloud::Machine& machine : TRY(ParseServers(body))) {
      // The filter is the API's job, and too dangerous to take on trust: what we list, we may
      // delete.
      if (HasAll(machine, tags)) machines.push_back(std::move(machine));
    }
    return Status::Ok();
  };
  TRY(api_->DoList({.operation = "list_servers", .path = ListPath(tags)}, deadline, page)
          .Context("listing servers at cloudscale.ch"));
  return machines;
}

Result<std::optional<cloud::Machine>> CloudscaleCloud::FindByName(const cloud::MachineSpec& spec,
                                                                  Deadline deadline) {
  std::vector<cloud::Machine> found = TRY(List(spec.tags, deadline));
  std::erase_if(found, [&](const cloud::Machine& machine) { return machine.name != spec.name; });
  if (found.empty()) return std::optional<cloud::Machine>();
  if (found.size() > 1) {
    // Both are in the group by their tags, so neither is lost; the younger one is just one more
    // member.
    log_.Warning("several servers have the name of one order",
                 {{"name", spec.name}, {"servers", found.size()}});
  }
  return std::optional(*std::ranges::min_element(found, {}, &cloud::Machine::created_at));
}

Result<std::optional<cloud::Machine>> CloudscaleCloud::LookFor(const cloud::MachineSpec& spec,
                                                               TimePoint until, Deadline deadline) {
  while (true) {
    auto found = FindByName(spec, deadline);
    if (found.ok() && found->has_value()) return found;
    const TimePoint next = clock_.Now() + options_.look_interval;
    if (next > until) return found;
    if (next >= deadline.at) return DeadlineExceeded("no time left to look for the server");
    clock_.SleepUntil(next);
  }
}

std::optional<TimePoint> CloudscaleCloud::FirstSent(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto it = sent_.find(name);
  if (it == sent_.end() || it->second + kRememberSent < clock_.Now()) return std::nullopt;
  return it->second;
}

void CloudscaleCloud::RememberSent(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  std::erase_if(sent_, [now](const auto& entry) { return entry.second + kRememberSent < now; });
  sent_[name] = now;
}

Result<cloud::Machine> CloudscaleCloud::Create(const cloud::MachineSpec& spec, Deadline deadline) {
  const std::string where = fmt::format("creating server '{}' at cloudscale.ch", spec.name);
  const std::string body = TRY(CreateRequest(spec).Context(where));
  if (const auto sent = FirstSent(spec.name)) {
    const auto found = LookFor(spec, *sent + options_.settle_time, deadline);
    if (!found.ok())
      return Unknown(found.status()).Context(where + ": looking for the first attempt");
    if (found->has_value()) return **found;
  }
  RememberSent(spec.name);
  const Result<std::string> answer = api_->Do(
      {.operation = "create_server", .method = "POST", .path = "servers", .body = body}, deadline);
  Status failure = answer.status();
  if (answer.ok()) {
    Result<cloud::Machine> machine = ParseServer(*answer);
    if (machine.ok()) return machine;
    failure = machine.status();  // it was created, and the answer does not say which it is
  }
  if (!IsUnknownOutcome(failure.code())) return failure.Context(where);
  log_.Warning("unknown whether a server was created", {{"name", spec.name}, {"why", failure}});
  const auto found = LookFor(spec, clock_.Now() + options_.settle_time, deadline);
  if (found.ok() && found->has_value()) return **found;
  return Unknown(failure).Context(where);
}

Status CloudscaleCloud::Delete(const cloud::ProviderId& id, Deadline deadline) {
  const std::string uuid = TRY(UuidOf(id));
  return api_
      ->Do({.operation = "delete_server", .method = "DELETE", .path = "servers/" + uuid}, deadline)
      .status()
      .Context(fmt::format("deleting server {} at cloudscale.ch", id));
}

Result<std::vector<cloud::Flavor>> CloudscaleCloud::Flavors(Deadline deadline) {
  std::vector<cloud::Flavor> flavors;
  const auto page = [&](std::string_view body) -> Status {
    for (cloud::Flavor& flavor : TRY(ParseFlavors(body))) flavors.push_back(std::move(flavor));
    return Status::Ok();
  };
  TRY(api_->DoList({.operation = "list_flavors", .path = "flavors"}, deadline, page)
          .Context("listing flavors at cloudscale.ch"));
  return flavors;
}

bool CloudscaleCloud::OwnsId(const cloud::ProviderId& id) const { return UuidOf(id).ok(); }

Result<std::vector<std::string>> CloudscaleCloud::Validate(const cloud::GroupConfig& group,
                                                           Deadline deadline) {
  return CheckGroup(group, catalog_, deadline);
}

}  // namespace coppice::clouds::cloudscale
