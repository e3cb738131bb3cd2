#include "seats/open_node_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/strings.h"
#include "cloud/combined_node_groups.h"
#include "cloud/node_groups_context.h"
#include "provider/driven_cloud.h"

namespace coppice::seats {
namespace {

// What upstream's own builds accept. They are Go code, so we do not have them; each can be put
// behind an externalgrpc server.
constexpr std::array<std::string_view, 33> kUpstreamProviders = {
    "alicloud",      "aws",        "azure",       "baiducloud", "bizflycloud", "brightbox",
    "cherryservers", "civo",       "cluster-api", "clusterapi", "coreweave",   "digitalocean",
    "equinixmetal",  "exoscale",   "gce",         "hetzner",    "huaweicloud", "ionoscloud",
    "kamatera",      "kubemark",   "kwok",        "linode",     "magnum",      "oci",
    "oci-oke",       "ovhcloud",   "packet",      "rancher",    "scaleway",    "tencentcloud",
    "utho",          "volcengine", "vultr"};

std::string WhatThereIs(const Plugins& plugins) {
  std::vector<std::string> names = plugins.node_groups.names();
  std::ranges::copy(plugins.clouds.names(), std::back_inserter(names));
  std::ranges::sort(names);
  return names.empty() ? "this build has none" : "there are: " + Join(names, ", ");
}

Status Unknown(const std::string& name, const Plugins& plugins) {
  std::string text;
  if (name.empty()) {
    text = "it must name a provider; " + WhatThereIs(plugins);
  } else if (plugins.node_claims.Has(name)) {
    text = "'" + name + "' sells to node pools only: say --node-pools as well; for node groups " +
           WhatThereIs(plugins);
  } else if (std::ranges::find(kUpstreamProviders, name) != kUpstreamProviders.end()) {
    text = "'" + name +
           "' is a provider of upstream's own build; drive it through an externalgrpc provider "
           "(--cloud-provider=externalgrpc with its address in --cloud-config); " +
           WhatThereIs(plugins);
  } else {
    std::vector<std::string> names = plugins.node_groups.names();
    std::ranges::copy(plugins.clouds.names(), std::back_inserter(names));
    const std::string nearest = Nearest(name, names);
    text = "no provider '" + name + "' is registered; " + WhatThereIs(plugins) +
           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
  }
  return NotFound(std::move(text)).Context("--cloud-provider=" + name);
}

struct Opener {
  const autoscale::FlagValues& flags;
  const Plugins& plugins;
  const provider::OpenCloudContext& context;
  Workers* cloud_workers;

  Result<std::unique_ptr<cloud::NodeGroups>> OpenAll() const;
  Result<std::unique_ptr<cloud::NodeGroups>> Open(const std::string& name,
                                                  const std::string& config,
                                                  std::vector<std::string> limits,
                                                  const std::string& called = "") const {
    if (plugins.node_groups.Has(name)) {
      if (!limits.empty()) {
        context.log.Warning(
            "--nodes has no effect: this provider brings its groups and their limits",
            {{"provider", name}});
      }
      return plugins.node_groups
          .Make(name, cloud::NodeGroupsContext{.clock = context.clock,
                                               .log = context.log,
                                               .metrics = context.metrics,
                                               .cloud_config = config,
                                               .name = called,
                                               .group_defaults = flags.options.group_defaults})
          .Context("--cloud-provider=" + name);
    }
    if (!plugins.clouds.Has(name)) return Unknown(name, plugins);
    return provider::DriveCloud({.cloud = name,
                                 .config_path = config,
                                 .limits = std::move(limits),
                                 .workers = cloud_workers},
                                context)
        .Context("--cloud-provider=" + name);
  }
};

// NAME=FILE,NAME=FILE.
Result<std::map<std::string, std::string>> FilesByName(const std::string& text) {
  std::map<std::string, std::string> files;
  if (text.empty()) return files;
  for (const std::string& part : Split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("--cloud-config: with several providers '" + part +
                             "' has to be NAME=FILE");
    }
    if (!files.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      return InvalidArgument("--cloud-config names '" + part.substr(0, equals) + "' twice");
  }
  return files;
}

// Each part of --cloud-provider is PROVIDER, or NAME=PROVIDER where one is used twice.
Result<std::unique_ptr<cloud::NodeGroups>> Opener::OpenAll() const {
  if (!flags.nodes.empty()) {
    return InvalidArgument(
        "--nodes: with several providers the limits of a group belong into its provider's file");
  }
  auto files = TRY(FilesByName(flags.cloud_config));
  std::vector<cloud::CombinedNodeGroups::Member> members;
  for (const std::string& part : Split(flags.cloud_provider, ',')) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string provider = equals == std::string::npos ? part : part.substr(equals + 1);
    const auto file = files.extract(name);
    members.push_back({name, TRY(Open(provider, file.empty() ? "" : file.mapped(), {}, name))});
  }
  if (!files.empty()) {
    return InvalidArgument("--cloud-config: '" + files.begin()->first +
                           "' is no provider that --cloud-provider names");
  }
  auto combined = TRY(cloud::CombinedNodeGroups::Create(
      std::move(members),
      {.clock = context.clock, .log = context.log, .metrics = context.metrics}));
  return std::unique_ptr<cloud::NodeGroups>(std::move(combined));
}

}  // namespace

Status CheckPluginNames(const autoscale::FlagValues& flags, const Plugins& plugins) {
  TRY(KnownNames("--expander", flags.options.expander, plugins.expanders.names()));
  return autoscale::CheckProcessorNames(plugins.processors, flags.processors);
}

Status CheckProviderNames(const autoscale::FlagValues& flags, const Plugins& plugins) {
  for (const std::string& part : Split(flags.cloud_provider, ',')) {
    const size_t equals = part.find('=');
    const std::string provider = equals == std::string::npos ? part : part.substr(equals + 1);
    if (!plugins.node_groups.Has(provider) && !plugins.clouds.Has(provider))
      return Unknown(provider, plugins);
  }
  return Status::Ok();
}

Result<std::unique_ptr<cloud::NodeGroups>> OpenNodeGroups(const autoscale::FlagValues& flags,
                                                          const Plugins& plugins, Clock& clock,
                                                          Rng& rng, const Log& log,
                                                          Metrics& metrics,
                                                          Workers* cloud_workers) {
  TRY(plugins.clouds.Check());
  TRY(plugins.node_groups.Check());
  if (!flags.node_group_auto_discovery.empty()) {
    return InvalidArgument(
        "--node-group-auto-discovery: groups come from the provider; remove the flag");
  }
  const provider::OpenCloudContext context{
      .clouds = plugins.clouds, .clock = clock, .rng = rng, .log = log, .metrics = metrics};
  const Opener opener{flags, plugins, context, cloud_workers};
  if (flags.cloud_provider.find_first_of(",=") == std::string::npos)
    return opener.Open(flags.cloud_provider, flags.cloud_config, flags.nodes);
  return opener.OpenAll();
}

}  // namespace coppice::seats
