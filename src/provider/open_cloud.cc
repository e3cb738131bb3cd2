#include "provider/open_cloud.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cloud/template.h"
#include "model/resources.h"

namespace coppice::provider {
namespace {

// "" unless what the group reserves leaves pods nothing of a resource that every pod needs.
std::string NothingLeft(const cloud::GroupConfig& group,
                        const std::vector<cloud::Flavor>& flavors) {
  const auto flavor = std::ranges::find(flavors, group.flavor, &cloud::Flavor::name);
  if (flavor == flavors.end()) return "";  // that is said already
  const auto node = cloud::MakeTemplate(group, *flavor, "");
  if (!node.ok()) return node.status().message();
  for (const std::string_view resource : {model::kCpu, model::kMemory}) {
    const auto capacity = node->status.capacity.find(resource);
    const auto left = node->status.allocatable.find(resource);
    if (capacity == node->status.capacity.end() || capacity->second.Sign() <= 0) continue;
    if (left != node->status.allocatable.end() && left->second.Sign() > 0) continue;
    return "kubeReserved, systemReserved and evictionHard leave nothing of the " +
           std::string(resource) + " of flavor '" + group.flavor + "' (" +
           capacity->second.ToString() + ") for pods";
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<cloud::Cloud>> OpenCloud(const ProviderConfig& config,
                                                const OpenCloudContext& context) {
  if (context.clouds.names().empty()) {
    return FailedPrecondition(
        "this program was built without any cloud; build it with one (docs/extending/cloud.md) or "
        "use a build that has the built-in ones");
  }
  yaml::Problems problems;
  auto cloud =
      context.clouds.Make(config.cloud_kind, cloud::CloudContext{.clock = context.clock,
                                                                 .rng = context.rng,
                                                                 .log = context.log,
                                                                 .metrics = context.metrics,
                                                                 .config = config.cloud,
                                                                 .problems = problems});
  for (const yaml::Problem& problem : problems.all()) {
    if (problem.severity == yaml::Severity::kWarning) context.log.Warning(problem.ToString());
  }
  return std::move(cloud).Context("cloud '" + config.cloud_kind + "'");
}

Status CheckAgainstCloud(cloud::Cloud& cloud, const std::vector<cloud::GroupConfig>& groups,
                         const std::string& config_path, Duration timeout, Clock& clock,
                         const Log& log) {
  std::string mistakes;
  std::optional<std::vector<cloud::Flavor>> flavors;
  for (const cloud::GroupConfig& group : groups) {
    const auto found = cloud.Validate(group, Deadline::In(clock, timeout));
    if (!found.ok()) {
      if (found.code() == Code::kUnauthenticated || found.code() == Code::kPermissionDenied)
        return found.status();
      // The cloud is away. We start nevertheless, not ready, and get ready when it is back.
      log.Warning("configuration could not be checked against the cloud",
                  {{"group", group.name}, {"error", found.status()}});
      return Status::Ok();
    }
    for (const std::string& mistake : *found)
      mistakes += "\nnode group '" + group.name + "': " + mistake;
    if (!found->empty()) continue;
    // Asked after the first good group: a cloud that is away has been told of by then.
    if (!flavors) {
      auto listed = cloud.Flavors(Deadline::In(clock, timeout));
      flavors = listed.ok() ? std::move(*listed) : std::vector<cloud::Flavor>{};
    }
    if (const std::string nothing = NothingLeft(group, *flavors); !nothing.empty())
      mistakes += "\nnode group '" + group.name + "': " + nothing;
  }
  if (mistakes.empty()) return Status::Ok();
  return InvalidArgument(config_path + " does not fit the cloud:" + mistakes);
}

}  // namespace coppice::provider
