// What CombinedNodeGroups knows of its providers. Internal to it.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cloud/combined_node_groups.h"

namespace coppice::cloud {

// The last good answers of a provider for one group: what is said when it cannot say itself.
struct KeptGroup {
  GroupInfo info;
  int target = 0;
  std::vector<Instance> instances;
};
using KeptGroups = std::vector<std::shared_ptr<const KeptGroup>>;

struct CombinedNodeGroups::Provider {
  std::string name;
  std::unique_ptr<NodeGroups> groups;

  // Under the mutex of the whole.
  bool running = false;  // its Refresh is under way
  bool tried = false;
  Status failure = Unavailable("it has not been read yet");
  std::optional<TimePoint> answered;
  std::shared_ptr<const KeptGroups> kept = std::make_shared<const KeptGroups>();
};

struct CombinedNodeGroups::Routes {
  struct Machine {
    Provider* provider = nullptr;
    const KeptGroup* group = nullptr;
  };

  uint64_t version = 1;
  bool complete = false;  // made from at least one answer
  std::vector<GroupInfo> groups;
  std::map<std::string, Provider*, std::less<>> by_group;
  std::map<std::string, const KeptGroup*, std::less<>> kept;
  std::unordered_map<std::string_view, Machine> machines;  // views into `lists`
  std::vector<std::shared_ptr<const KeptGroups>> lists;    // keeps all of the above alive
  std::set<std::string> left_out;  // what was said of groups whose ids are taken: once is enough

  const KeptGroup* Kept(std::string_view group) const {
    const auto it = kept.find(group);
    return it == kept.end() ? nullptr : it->second;
  }
  const Machine* FindMachine(std::string_view id) const {
    const auto it = id.empty() ? machines.end() : machines.find(id);
    return it == machines.end() ? nullptr : &it->second;
  }
};

}  // namespace coppice::cloud
