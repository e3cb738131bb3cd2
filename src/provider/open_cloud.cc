#include "provider/open_cloud.h"

#include <utility>

namespace coppice::provider {

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
  }
  if (mistakes.empty()) return Status::Ok();
  return InvalidArgument(config_path + " does not fit the cloud:" + mistakes);
}

}  // namespace coppice::provider
