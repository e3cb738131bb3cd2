#include "drain/world_controllers.h"

namespace coppice::drain {

namespace {

// What the API defaults an absent number to.
int32_t ReplicasOf(const std::optional<int32_t>& replicas) { return replicas.value_or(1); }

}  // namespace

std::optional<Controllers::Found> WorldControllers::Find(std::string_view kind,
                                                         std::string_view namespace_,
                                                         std::string_view name) const {
  if (kind == "ReplicaSet") {
    if (const auto found = world_.objects<model::ReplicaSet>().Find(namespace_, name)) {
      return Found{ReplicasOf(found->spec.replicas)};
    }
  } else if (kind == "ReplicationController") {
    if (const auto found = world_.objects<model::ReplicationController>().Find(namespace_, name)) {
      return Found{ReplicasOf(found->spec.replicas)};
    }
  } else if (kind == "StatefulSet") {
    if (world_.objects<model::StatefulSet>().Find(namespace_, name)) return Found{};
  } else if (kind == "DaemonSet") {
    if (world_.objects<model::DaemonSet>().Find(namespace_, name)) return Found{};
  } else if (kind == "Job") {
    if (world_.objects<model::Job>().Find(namespace_, name)) return Found{};
  }
  return std::nullopt;
}

}  // namespace coppice::drain
