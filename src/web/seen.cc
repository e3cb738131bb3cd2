#include "web/seen.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/gpu.h"

namespace coppice::web {
namespace {

// Of more nobody wants a list; they are counted.
constexpr size_t kMostPending = 50'000;
constexpr Duration kPricesHold = std::chrono::minutes(10);

int16_t Thousandths(int64_t free, int64_t allocatable) {
  if (allocatable <= 0) return 0;
  const double used = static_cast<double>(allocatable - free) / static_cast<double>(allocatable);
  return static_cast<int16_t>(std::clamp(used * 1000, 0.0, 9999.0));
}

const std::string* LabelOf(const model::Node& node, const char* key) {
  const auto found = node.metadata.labels.find(key);
  return found == node.metadata.labels.end() ? nullptr : &found->second;
}

// Which columns are GPUs, so that names are compared once per look.
std::vector<cluster::ResourceId> GpuColumns(const cluster::ResourceColumns& columns) {
  std::vector<cluster::ResourceId> gpus;
  for (cluster::ResourceId id = 0; id < columns.count(); ++id) {
    if (std::ranges::find(model::kGpuVendorResources, columns.name(id)) !=
        model::kGpuVendorResources.end())
      gpus.push_back(id);
  }
  return gpus;
}

void ReadUse(const cluster::Snapshot& snapshot, const std::vector<cluster::ResourceId>& gpus,
             SeenNode& seen) {
  const cluster::NodeIndex index = snapshot.FindNode(seen.node->metadata.name);
  if (index == cluster::kNone) return;
  const cluster::ResourceColumns& columns = snapshot.resources();
  const auto use = [&](cluster::ResourceId id) {
    return Thousandths(columns.free(id)[index], columns.allocatable(id)[index]);
  };
  seen.cpu = use(cluster::kCpuColumn);
  seen.memory = use(cluster::kMemoryColumn);
  for (const cluster::ResourceId id : gpus) {
    if (columns.allocatable(id)[index] > 0) seen.gpu = use(id);
  }
  seen.pods = static_cast<uint32_t>(snapshot.pods_on(index).size());
}

}  // namespace

double Looker::PriceOf(const cluster::NodePtr& node, cloud::NodeGroups& groups, TimePoint now) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : node->metadata.labels) labels.emplace(key, value);
  const cloud::NodeRef ref{node->spec.provider_id, node->metadata.name, {}, node};
  const auto price = groups.NodePrice(ref, labels, now, now + std::chrono::hours(1));
  return price.ok() ? *price : 0;
}

void Looker::LookAtGroups(cloud::NodeGroups& groups, TimePoint now, Seen& seen) {
  std::set<std::string_view> with_node;  // provider ids
  for (SeenNode& one : seen.nodes) {
    const model::Node& node = *one.node;
    const auto row = groups.GroupOf({node.spec.provider_id, node.metadata.name, {}, one.node});
    if (row.ok() && row->has_value()) one.row = **row;
    const std::string* type = LabelOf(node, "node.kubernetes.io/instance-type");
    const auto [price, first] = prices_.try_emplace(one.row + "\n" + (type ? *type : ""), 0.0);
    // What is not known yet may be at the next look.
    if (first || price->second == 0) price->second = PriceOf(one.node, groups, now);
    one.price = price->second;
    with_node.insert(node.spec.provider_id);
  }
  for (const cloud::GroupInfo& group : groups.Groups()) {
    SeenRow& row = seen.rows.emplace_back();
    row.name = group.id;
    row.min = group.min_size;
    row.max = group.max_size;
    if (const auto target = groups.TargetSize(group.id); target.ok()) row.target = *target;
    if (const auto example = groups.Template(group.id); example.ok()) row.example = *example;
    if (row.example) {
      const auto [price, first] = prices_.try_emplace(group.id + "\n(new)", 0.0);
      if (first || price->second == 0) price->second = PriceOf(row.example, groups, now);
      row.price = price->second;
    }
    const auto instances = groups.Instances(group.id);
    if (!instances.ok()) continue;
    for (const cloud::Instance& instance : *instances) {
      if (with_node.contains(instance.id)) continue;
      seen.machines.push_back({group.id, instance.id, instance.state,
                               instance.error ? instance.error->message : std::string()});
    }
  }
}

std::shared_ptr<const Seen> Looker::Look(const cluster::World& world, cloud::NodeGroups* groups,
                                         TimePoint now) {
  if (now - prices_since_ > kPricesHold) {
    prices_.clear();
    prices_since_ = now;
  }
  auto seen = std::make_shared<Seen>();
  seen->at = now;
  seen->nodes.reserve(world.node_count());
  const std::vector<cluster::ResourceId> gpus = GpuColumns(world.snapshot().resources());
  world.ForEachNode([&](const cluster::NodePtr& node) {
    SeenNode& one = seen->nodes.emplace_back();
    one.node = node;
    one.taken_by = world.held_nodes().HolderOf(node->metadata.name, node->metadata.uid);
    ReadUse(world.snapshot(), gpus, one);
  });
  if (groups != nullptr) LookAtGroups(*groups, now, *seen);
  const auto unbound = world.Unbound();
  for (const cluster::World::PodEntry* entry : unbound) {
    const model::Pod& pod = *entry->pod;
    if (entry->index == cluster::kNone || pod.metadata.deletion_timestamp) continue;
    if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") continue;
    if (seen->pending.size() < kMostPending) {
      seen->pending.push_back(entry->pod);
    } else {
      ++seen->more_pending;
    }
  }
  seen->running = world.pod_count() - unbound.size();
  return seen;
}

}  // namespace coppice::web
