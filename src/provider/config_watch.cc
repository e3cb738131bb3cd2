#include "provider/config_watch.h"

#include <algorithm>
#include <utility>

#include "base/file_signature.h"

namespace coppice::provider {

ConfigWatch::ConfigWatch(std::string path, ConfigRules rules, const Log& log)
    : path_(std::move(path)), rules_(std::move(rules)), log_(log), files_({path_}) {}

Result<ProviderConfig> ConfigWatch::Load() {
  yaml::Problems problems;
  auto config = LoadProviderConfig(path_, rules_, problems);
  for (const yaml::Problem& problem : problems.all()) {
    if (problem.severity == yaml::Severity::kWarning) log_.Warning(problem.ToString());
  }
  if (config.ok()) files_ = config->files;
  return config;
}

Result<ProviderConfig> ConfigWatch::LoadFirst() {
  auto config = Load();
  seen_ = FileSignature(files_);
  return config;
}

std::optional<ProviderConfig> ConfigWatch::LoadIfChanged() {
  std::string signature = FileSignature(files_);
  if (signature == seen_) return std::nullopt;
  seen_ = std::move(signature);
  auto config = Load();
  if (!config.ok()) {
    log_.Error("the new configuration is refused, the old one stays in use",
               {{"file", path_}, {"error", config.status().message()}});
    return std::nullopt;
  }
  seen_ = FileSignature(files_);  // it may name other files now
  return std::move(config).value();
}

bool SameYaml(const yaml::Node& a, const yaml::Node& b) {
  if (a.kind() != b.kind() || a.scalar() != b.scalar()) return false;
  const auto same = [](const auto& x, const auto& y) { return SameYaml(x, y); };
  if (!std::ranges::equal(a.items(), b.items(), same)) return false;
  return std::ranges::equal(a.entries(), b.entries(), [](const auto& x, const auto& y) {
    return x.first == y.first && SameYaml(x.second, y.second);
  });
}

}  // namespace coppice::provider
