#include "app/cluster_dump.h"

#include "wire/wire.h"

namespace coppice::app {
namespace {

class Items {
 public:
  template <class T>
  void Add(const T& object) {
    if (!first_) text += ",\n";
    first_ = false;
    text += wire::ToJson(object);
  }
  template <class T>
  void AddAll(const cluster::OrderedObjects<T>& objects) {
    objects.ForEach([this](const auto& object) { this->Add(*object); });
  }
  template <class T>
  void AddAll(const cluster::ObjectTable<T>& table) {
    table.ForEach([this](const T& object) { this->Add(object); });
  }
  std::string text;

 private:
  bool first_ = true;
};

}  // namespace

std::string DumpCluster(const cluster::World& world) {
  Items items;
  for (const cluster::NodePtr& node : world.Nodes()) items.Add(*node);
  for (const auto* entry : world.Pods()) items.Add(*entry->pod);
  items.AddAll(world.budgets);
  items.AddAll(world.daemon_sets);
  items.AddAll(world.replica_sets);
  items.AddAll(world.replication_controllers);
  items.AddAll(world.stateful_sets);
  items.AddAll(world.jobs);
  const cluster::Facts& facts = world.snapshot().facts();
  items.AddAll(facts.namespaces);
  items.AddAll(facts.services);
  items.AddAll(facts.claims);
  items.AddAll(facts.volumes);
  items.AddAll(facts.storage_classes);
  items.AddAll(facts.csi_nodes);
  items.AddAll(facts.csi_drivers);
  items.AddAll(facts.storage_capacities);
  items.AddAll(facts.volume_attachments);
  return R"({"apiVersion":"v1","kind":"List","items":[)" + items.text + "]}\n";
}

}  // namespace coppice::app
