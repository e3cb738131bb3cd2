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
// A price that is not known yet may be soon; a cloud that has none is not asked for it at each look.
constexpr Duration kNoPriceHolds = std::chrono::seconds(30);

constexpr Duration kLookWatched = std::chrono::milliseconds(250);
constexpr Duration kLookAlone = std::chrono::seconds(2);
// Of the cluster's time: what the history is to have at least, on a model that is faster than life.
constexpr Duration kLookForHistory = std::chrono::seconds(60);
constexpr Duration kLeastPause = std::chrono::milliseconds(20);

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

bool Looker::IsDue(TimePoint wall, TimePoint now, bool watched) {
  if (looked_ && wall >= *looked_) {
    const Duration since = wall - *looked_;
    if (since < kLeastPause) return false;
    const bool for_history = now - looked_for_ >= kLookForHistory;
    if (!for_history && since < (watched ? kLookWatched : kLookAlone)) return false;
  }
  looked_ = wall;
  looked_for_ = now;
  return true;
}

double Looker::PriceOf(const std::string& kind, const cluster::NodePtr& node,
                       cloud::NodeGroups& groups, TimePoint now) {
  const auto [known, first] = prices_.try_emplace(kind);
  Price& price = known->second;
  if (!first && price.per_hour != 0) return price.per_hour;
  if (!first && now >= price.asked && now - price.asked < kNoPriceHolds) return 0;
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : node->metadata.labels) labels.emplace(key, value);
  const cloud::NodeRef ref{node->spec.provider_id, node->metadata.name, {}, node};
  const auto answer = groups.NodePrice(ref, labels, now, now + std::chrono::hours(1));
  price.per_hour = answer.ok() ? *answer : 0;
  price.asked = now;
  return price.per_hour;
}

void Looker::LookAtGroups(cloud::NodeGroups& groups, TimePoint now, Seen& seen) {
  std::set<std::string_view> with_node;  // provider ids
  for (SeenNode& one : seen.nodes) {
    const model::Node& node = *one.node;
    const auto row = groups.GroupOf({node.spec.provider_id, node.metadata.name, {}, one.node});
    if (row.ok() && row->has_value()) one.row = **row;
    const std::string* type = LabelOf(node, "node.kubernetes.io/instance-type");
    one.price = PriceOf(one.row + "\n" + (type ? *type : ""), one.node, groups, now);
    with_node.insert(node.spec.provider_id);
  }
  for (const cloud::GroupInfo& group : groups.Groups()) {
    SeenRow& row = seen.rows.emplace_back();
    row.name = group.id;
    row.min = group.min_size;
    row.max = group.max_size;
    if (const auto target = groups.TargetSize(group.id); target.ok()) row.target = *target;
    if (const auto example = groups.Template(group.id); example.ok()) row.example = *example;
    if (row.example) row.price = PriceOf(group.id + "\n(new)", row.example, groups, now);
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
  if (now < prices_since_ || now - prices_since_ > kPricesHold) {
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
