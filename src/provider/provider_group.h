// One element of nodeGroups in the provider's configuration file.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/yaml.h"
#include "cloud/group_config.h"

namespace coppice::provider {

struct GroupContext {
  std::string cluster_tag;
  std::vector<std::string> required;  // by this kind of cloud (CloudFactory)
  // userData as written to the bytes that it means.
  std::function<Result<std::string>(const std::string& text)> user_data;
};

// What could be read; complaints are in `problems`.
cloud::GroupConfig ReadGroup(const yaml::Node& item, const GroupContext& context,
                             yaml::Problems& problems);

}  // namespace coppice::provider
