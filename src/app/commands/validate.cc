#include <cstdio>
#include <cstdlib>
#include <string>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "base/rng.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/offline_flavors.h"
#include "grpc/server.h"
#include "net/url.h"
#include "provider/open_cloud.h"
#include "provider/provider_config.h"
#include "provider/tls_check.h"

namespace coppice::app {
namespace {

constexpr Duration kAskTimeout = std::chrono::seconds(5);
constexpr std::string_view kValidateAbout =
    "coppice validate FILE...: checks configuration files without touching anything, and says "
    "what\n"
    "is wrong with file, line and column; an unknown key is an error here\n";

// Reads the file as the provider would, and whatever needs no network: the cloud's own part by
// making the cloud, which checks its configuration and connects to nothing.
Status Judge(const std::string& file, const Plugins& plugins, yaml::Problems& problems) {
  const auto config = TRY(provider::LoadProviderConfig(
      file, {plugins.clouds, [](const char* name) { return std::getenv(name); }}, problems));
  if (!config.tls && config.listen == provider::ProviderConfig{}.listen) {
    // Complete for `coppice run --cloud-config`, which listens nowhere.
    std::fprintf(stderr,
                 "%s: note: `coppice provider` needs a tls block, or listen on a Unix socket or, "
                 "with --insecure, on loopback\n",
                 file.c_str());
  } else {
    // Plaintext on loopback needs a flag, which is not in the file.
    TRY(grpc::CheckListen(config.listen, config.tls.has_value(), /*insecure=*/true));
  }
  provider::CheckTlsFiles(config, SystemClock().Now(), problems);
  if (config.metrics_listen && !config.metrics_listen->empty())
    TRY(net::ParseHostPort(*config.metrics_listen).status().Context("metricsListen"));
  TRY(cloud::CheckGroups(config.groups, config.cluster_tag));
  SystemClock clock;
  const Log log = Log::Null();
  SeededRng rng(1);
  Metrics metrics;
  const auto made =
      plugins.clouds.Make(config.cloud_kind, cloud::CloudContext{.clock = clock,
                                                                 .rng = rng,
                                                                 .log = log,
                                                                 .metrics = metrics,
                                                                 .config = config.cloud,
                                                                 .problems = problems});
  // A token that is missing here, where nothing runs, is no mistake of the file's.
  if (made.code() == Code::kFailedPrecondition) {
    std::fprintf(stderr, "%s: note: %s\n", file.c_str(), made.status().message().c_str());
    return Status::Ok();
  }
  TRY(made.status());
  if (dynamic_cast<const cloud::OfflineFlavors*>(made->get()) == nullptr) return Status::Ok();
  return provider::CheckAgainstCloud(**made, config.groups, file, kAskTimeout, clock, log);
}

// An unknown key is a slip of the pen, which starting forgives and checking does not. Other
// warnings are advice.
bool IsError(const yaml::Problem& problem) {
  return problem.severity == yaml::Severity::kError || problem.text.rfind("unknown key", 0) == 0;
}

bool Validate(const std::string& file, const Plugins& plugins) {
  yaml::Problems problems;
  const Status status = Judge(file, plugins, problems);
  bool good = status.ok();
  for (yaml::Problem problem : problems.all()) {
    if (IsError(problem)) {
      problem.severity = yaml::Severity::kError;
      good = false;
    }
    std::fprintf(stderr, "%s\n", problem.ToString().c_str());
  }
  // What is not tied to a place in the file.
  if (!status.ok() && !problems.has_errors()) {
    const bool says_where =
        status.message().starts_with(file + ":") || status.message().starts_with(file + " ");
    const std::string where = says_where ? "" : file + ": error: ";
    std::fprintf(stderr, "%s%s\n", where.c_str(), status.message().c_str());
  }
  std::printf("%s: %s\n", file.c_str(), good ? "good" : "not usable");
  return good;
}

}  // namespace

int RunValidate(const std::vector<std::string>& args, Plugins& plugins) {
  std::vector<std::string> files;
  FlagSet flags;
  flags.AddWords("FILE...", files, true, "Configuration files of `coppice provider`.");
  if (const auto code =
          ReadCommandLine({"validate", kValidateAbout, seats::LinkedIn(plugins)}, flags, args))
    return *code;
  bool all_good = true;
  for (const std::string& file : files) all_good = Validate(file, plugins) && all_good;
  return all_good ? 0 : 1;
}

}  // namespace coppice::app
