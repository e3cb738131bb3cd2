#include "sim/model.h"

#include <algorithm>

namespace coppice::sim {

Model::Model(Parts parts)
    : agenda(parts.clock),
      cluster(agenda),
      cloud(std::move(parts.cloud)),
      scheduler(cluster, parts.filters),
      controllers(cluster),
      machines(cluster, cloud, parts.times),
      api(cluster),
      groups_(std::move(parts.groups)) {
  cloud.hooks.changed = [this] { machines.Look(); };
  cluster.OnSettle([this] { return controllers.Reconcile(); });
  cluster.OnSettle([this] { return scheduler.Round(); });
  cluster.OnSettle([this] { return controllers.UpdateBudgets(); });
}

Result<std::unique_ptr<Model>> Model::Create(Parts parts) {
  std::unique_ptr<Model> model(new Model(std::move(parts)));
  TRY(model->machines.SetGroups(model->groups_));
  return model;
}

Status Model::AddNode(const std::string& group, const std::string& name, TimePoint since) {
  const auto config = std::ranges::find(groups_, group, &cloud::GroupConfig::name);
  if (config == groups_.end()) return NotFound("there is no group '" + group + "'");
  cloud::MachineSpec spec{.name = name,
                          .flavor = config->flavor,
                          .zone = config->zone,
                          .image = config->image,
                          .tags = config->tags,
                          .extra = cloud.Extra(*config)};
  spec.tags[cloud::kGroupTag] = group;
  spec.tags[cloud::kClusterTag] = kClusterName;
  // Not machines.Look(): it is to have a Node at once.
  auto look = std::exchange(cloud.hooks.changed, nullptr);
  const auto machine = cloud.Plant(spec);
  cloud.hooks.changed = std::move(look);
  if (!machine.ok()) return machine.status();
  return machines.JoinNow(*machine, since);
}

int Model::MachinesIn(const std::string& group) const {
  const auto all = cloud.Truth();
  return static_cast<int>(std::ranges::count_if(all, [&](const cloud::Machine& machine) {
    const auto tag = machine.tags.find(cloud::kGroupTag);
    return tag != machine.tags.end() && tag->second == group &&
           machine.state != cloud::MachineState::kDeleting &&
           machine.state != cloud::MachineState::kFailed;
  }));
}

std::vector<PodPtr> Model::Pending() const {
  std::vector<PodPtr> pods;
  for (const auto* entry : cluster.objects().Unbound()) {
    if (!entry->pod->metadata.deletion_timestamp) pods.push_back(entry->pod);
  }
  return pods;
}

}  // namespace coppice::sim
