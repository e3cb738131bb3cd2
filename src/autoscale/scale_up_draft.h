// What one run of the scale-up planner works on, for its own files.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/scale_up.h"

namespace coppice::autoscale {

struct ScaleUpPlanner::Draft {
  ScaleUpPlan plan;
  std::vector<cloud::GroupInfo> groups;       // provider order
  std::optional<TemplatesByGroup> templates;  // of a processor; absent: the engine's
  std::set<std::string, std::less<>> absent;  // would have to be made first
  std::map<std::string, int> targets;
  std::vector<std::string> valid;  // may grow
  std::map<std::string, std::vector<const pack::PodKind*>>
      takers;  // by group: the kinds it could take
  std::vector<expand::Option> options;
  std::optional<Quotas> quotas;
  size_t node_count = 0;
  size_t pod_count = 0;
  bool ended = false;  // nothing is to be chosen: the plan is final

  const cloud::GroupInfo& info(std::string_view id) const {
    return *std::ranges::find(groups, id, &cloud::GroupInfo::id);
  }
};

}  // namespace coppice::autoscale
