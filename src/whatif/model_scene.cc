#include "whatif/model_scene.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "provider/open_cloud.h"

namespace coppice::whatif {

Result<provider::ProviderConfig> SimulatedConfig(const std::string& file,
                                                 const std::string& standard,
                                                 const std::string& who, provider::Groups groups) {
  yaml::Problems problems;
  const auto getenv = [](const char* name) -> const char* { return std::getenv(name); };
  const auto no_files = [](const std::string& path) -> Result<std::string> {
    return NotFound(path);
  };
  const cloud::CloudRegistry none("cloud");  // a simulated machine boots from nothing
  const provider::ConfigRules rules{none, getenv, groups};
  auto config = file.empty() ? provider::ParseProviderConfig(standard, "the model's configuration",
                                                             rules, no_files, problems)
                             : provider::LoadProviderConfig(file, rules, problems);
  if (!config.ok()) return config.status();
  if (config->cloud_kind != "simulated") {
    return InvalidArgument(who + " runs on the simulated cloud only, and " + file +
                           " says kind: " + config->cloud_kind);
  }
  return config;
}

ModelScene::ModelScene(Parts parts, fit::Chain chain)
    : clock(parts.start),
      rng(parts.seed),
      log(parts.verbose ? Log::ToStderr(clock, LogLevel::kInfo) : Log::Null()),
      config(std::move(parts.config)),
      filters(std::move(chain)) {}

Result<std::unique_ptr<ModelScene>> ModelScene::Create(Parts parts) {
  const cloud::CloudRegistry& clouds = parts.clouds;
  fit::Chain filters = TRY(fit::Chain::Create(parts.plugins.filters, {}));
  std::unique_ptr<ModelScene> scene(new ModelScene(std::move(parts), std::move(filters)));
  auto cloud = TRY(provider::OpenCloud(
      scene->config, {clouds, scene->clock, scene->rng, scene->log, scene->metrics}));
  scene->model = TRY(sim::Model::Create({.clock = scene->clock,
                                         .filters = scene->filters,
                                         .cloud = std::move(cloud),
                                         .groups = scene->config.groups}));
  return scene;
}

Status ModelScene::AddFirstNodes() {
  for (const cloud::GroupConfig& group : config.groups) {
    for (int i = 0; i < group.min_size; ++i)
      TRY(model->AddNode(group.name, fmt::format("{}-{}", group.name, i + 1), clock.Now()));
  }
  return Status::Ok();
}

}  // namespace coppice::whatif
