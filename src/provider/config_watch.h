// The configuration file of the provider over time: read at the start, and again when it or a file
// that it names changes. A bad file is reported once and changes nothing.

#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "provider/provider_config.h"

namespace coppice::provider {

class ConfigWatch {
 public:
  ConfigWatch(std::string path, ConfigRules rules, const Log& log);

  // With the warnings logged.
  Result<ProviderConfig> LoadFirst();
  // The new configuration if the files have changed and it is good.
  std::optional<ProviderConfig> LoadIfChanged();
  // The files count as changed.
  void Forget() { seen_.clear(); }

 private:
  Result<ProviderConfig> Load();

  const std::string path_;
  const ConfigRules rules_;
  const Log& log_;
  std::vector<std::string> files_;
  std::string seen_;
};

// Whether two parts of configuration files say the same, wherever they stand.
bool SameYaml(const yaml::Node& a, const yaml::Node& b);

}  // namespace coppice::provider
