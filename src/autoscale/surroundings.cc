#include "autoscale/surroundings.h"

#include <string>
#include <utility>

namespace coppice::autoscale {

expand::Surroundings SurroundingsOf(const StageParts& shared, const Templates& templates) {
  expand::Surroundings around;
  around.cluster_nodes = shared.world.node_count();
  around.config_map = [&shared](std::string_view name,
                                std::string_view key) -> Result<std::string> {
    const auto map =
        shared.world.objects<model::ConfigMap>().Find(shared.options.status.namespace_, name);
    if (map == nullptr) return NotFound("there is no ConfigMap " + std::string(name));
    const std::string* text = map->data.Find(key);
    if (text == nullptr)
      return FailedPrecondition("ConfigMap " + std::string(name) + " has no key " +
                                std::string(key));
    return *text;
  };
  around.warn = [&shared](std::string_view reason, std::string text) {
    shared.tell.Priorities(reason, std::move(text));
  };
  for (const cloud::GroupInfo& group : shared.groups.Groups()) {
    if (const TemplatePtr found = templates.Find(group.id))
      around.templates.emplace_back(group.id, &found->node);
  }
  return around;
}

}  // namespace coppice::autoscale
