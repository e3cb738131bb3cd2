#include "model/declared_features.h"

#include <algorithm>

namespace coppice::model {
namespace {

bool RestartsAllContainers(const std::vector<Container>& containers) {
  return std::ranges::any_of(containers, [](const Container& container) {
    return std::ranges::find(container.restart_policy_rules, "RestartAllContainers",
                             &ContainerRestartRule::action) != container.restart_policy_rules.end();
  });
}

}  // namespace

// The features that v1.36 knows and that are not listed here matter to updates of pods only.
std::vector<std::string> NeededFeatures(const PodSpec& spec) {
  std::vector<std::string> needed;
  if (RestartsAllContainers(spec.containers) || RestartsAllContainers(spec.init_containers)) {
    needed.emplace_back("RestartAllContainersOnContainerExits");
  }
  // A user namespace of its own inside the host's network namespace.
  if (spec.host_network && spec.host_users.has_value() && !*spec.host_users) {
    needed.emplace_back("UserNamespacesHostNetworkSupport");
  }
  return needed;
}

}  // namespace coppice::model
