#include "seats/open_node_claims.h"

#include <cstdlib>
#include <utility>

#include "cloud/cloud_node_claims.h"
#include "provider/open_cloud.h"

namespace coppice::seats {
namespace {

constexpr size_t kClaimCalls = 10;
constexpr size_t kClaimOrders = 100'000;
constexpr Duration kDrainClaims = std::chrono::seconds(15);

class CloudClaims final : public OpenedClaims {
 public:
  CloudClaims(provider::ProviderConfig config, std::unique_ptr<cloud::Cloud> cloud,
              const std::string& name, const provider::OpenCloudContext& context, cloud::Gate gate,
              Workers* workers)
      : config_(std::move(config)), clock_(context.clock), cloud_(std::move(cloud)) {
    if (workers == nullptr) own_workers_ = std::make_unique<Pool>(kClaimCalls, kClaimOrders);
    claims_ = cloud::CloudNodeClaims::Create({.cloud = *cloud_,
                                              .workers = workers ? *workers : *own_workers_,
                                              .clock = context.clock,
                                              .rng = context.rng,
                                              .log = context.log,
                                              .metrics = context.metrics},
                                             {.name = name,
                                              .cluster = config_.cluster_tag,
                                              .max_parallel = kClaimCalls,
                                              .gate = std::move(gate)});
  }
  ~CloudClaims() override {
    // What is not over by then is left to the process's end: the machines are found by their names.
    (void)claims_->Drain(Deadline::In(clock_, kDrainClaims));
  }
  cloud::NodeClaims& claims() override { return *claims_; }

 private:
  const provider::ProviderConfig config_;  // the cloud's own part is read from it
  Clock& clock_;
  std::unique_ptr<cloud::Cloud> cloud_;
  std::unique_ptr<Pool> own_workers_;
  std::unique_ptr<cloud::CloudNodeClaims> claims_;
};

// A provider that was registered under its own name (plugins/node_claims).
class RegisteredClaims final : public OpenedClaims {
 public:
  explicit RegisteredClaims(std::unique_ptr<cloud::NodeClaims> claims)
      : claims_(std::move(claims)) {}
  cloud::NodeClaims& claims() override { return *claims_; }

 private:
  std::unique_ptr<cloud::NodeClaims> claims_;
};

Result<provider::ProviderConfig> LoadForPools(const std::string& path, const Plugins& plugins,
                                              const Log* log) {
  yaml::Problems problems;
  auto config = provider::LoadProviderConfig(
      path,
      {plugins.clouds, [](const char* name) -> const char* { return std::getenv(name); },
       provider::Groups::kOptional},
      problems);
  if (config.ok() && log != nullptr) {
    for (const yaml::Problem& problem : problems.all()) log->Warning(problem.ToString());
  }
  return config;
}

}  // namespace

Result<std::unique_ptr<OpenedClaims>> OpenNodeClaims(const autoscale::FlagValues& flags,
                                                     const Plugins& plugins, Clock& clock, Rng& rng,
                                                     const Log& log, Metrics& metrics,
                                                     cloud::Gate gate, Workers* workers) {
  TRY(plugins.clouds.Check());
  const std::string& name = flags.cloud_provider;
  const std::string about = "--node-pools with --cloud-provider=" + name;
  if (name.find_first_of(",=") != std::string::npos) {
    return Unimplemented(about +
                         ": node pools take their machines from one cloud; name that one alone");
  }
  if (plugins.node_claims.Has(name)) {
    provider::ProviderConfig file;  // none is needed: its `cloud:` part reads as empty then
    if (!flags.cloud_config.empty()) file = TRY(LoadForPools(flags.cloud_config, plugins, &log));
    yaml::Problems problems;
    auto made = TRY(plugins.node_claims
                        .Make(name, cloud::NodeClaimsContext{.clock = clock,
                                                             .rng = rng,
                                                             .log = log,
                                                             .metrics = metrics,
                                                             .config = file.cloud,
                                                             .problems = problems})
                        .Context(about));
    return std::unique_ptr<OpenedClaims>(std::make_unique<RegisteredClaims>(std::move(made)));
  }
  if (!plugins.clouds.Has(name)) {
    std::vector<std::string> names = plugins.clouds.names();
    return NotFound(about + ": node pools need a cloud of the four verbs, such as " +
                    Join(names, ", ") +
                    (plugins.node_groups.Has(name)
                         ? "; " + name + " sells by the group, so leave --node-pools out"
                         : ""));
  }
  if (flags.cloud_config.empty())
    return InvalidArgument(about + ": --cloud-config has to name the cloud's file");
  provider::ProviderConfig config = TRY(LoadForPools(flags.cloud_config, plugins, &log));
  if (config.cloud_kind != name) {
    return InvalidArgument(about + ", but " + flags.cloud_config + " is for the cloud '" +
                           config.cloud_kind + "': set cloud.kind there, or the flag");
  }
  const provider::OpenCloudContext context{
      .clouds = plugins.clouds, .clock = clock, .rng = rng, .log = log, .metrics = metrics};
  auto cloud = TRY(provider::OpenCloud(config, context));
  return std::unique_ptr<OpenedClaims>(std::make_unique<CloudClaims>(
      std::move(config), std::move(cloud), name, context, std::move(gate), workers));
}

Result<bool> HasNodeGroups(const autoscale::FlagValues& flags, const Plugins& plugins) {
  if (flags.cloud_provider.empty() || plugins.node_claims.Has(flags.cloud_provider)) return false;
  if (!plugins.clouds.Has(flags.cloud_provider) || flags.cloud_config.empty()) return true;
  return !TRY(LoadForPools(flags.cloud_config, plugins, nullptr)).groups.empty();
}

}  // namespace coppice::seats
