#include "whatif/doubles.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "model/kinds.h"

namespace coppice::whatif {
namespace {

constexpr size_t kNamed = 3;

template <class T>
std::string NameOfObject(const T& object) {
  const auto& metadata = object.metadata;
  return metadata.namespace_.empty() ? metadata.name : metadata.namespace_ + "/" + metadata.name;
}

// "Pod a/b, Node c and 17 more"
class NamedFew {
 public:
  void Add(std::string_view kind, const std::string& name) {
    if (++count_ <= kNamed) first_.push_back(std::string(kind) + " " + name);
  }
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  std::string ToString() const {
    return Join(first_, ", ") +
           (count_ > kNamed ? " and " + std::to_string(count_ - kNamed) + " more" : "");
  }

 private:
  size_t count_ = 0;
  std::vector<std::string> first_;
};

// Calls visit(list of a, the same list of b) for every kind.
template <class A, class B, class Visit>
void ForEachKind(A& a, B& b, Visit visit) {
  visit(a.nodes, b.nodes);
  visit(a.pods, b.pods);
  visit(a.budgets, b.budgets);
  visit(a.daemon_sets, b.daemon_sets);
  visit(a.deployments, b.deployments);
  visit(a.replica_sets, b.replica_sets);
  visit(a.replication_controllers, b.replication_controllers);
  visit(a.stateful_sets, b.stateful_sets);
  visit(a.jobs, b.jobs);
  visit(a.cron_jobs, b.cron_jobs);
  visit(a.config_maps, b.config_maps);
  visit(a.namespaces, b.namespaces);
  visit(a.services, b.services);
  visit(a.priority_classes, b.priority_classes);
  visit(a.volumes, b.volumes);
  visit(a.claims, b.claims);
  visit(a.storage_classes, b.storage_classes);
  visit(a.csi_nodes, b.csi_nodes);
  visit(a.csi_drivers, b.csi_drivers);
  visit(a.storage_capacities, b.storage_capacities);
  visit(a.volume_attachments, b.volume_attachments);
  visit(a.node_pools, b.node_pools);
  visit(a.node_claims, b.node_claims);
  visit(a.node_classes, b.node_classes);
  visit(a.pod_groups, b.pod_groups);
  visit(a.queues, b.queues);
  visit(a.hyper_nodes, b.hyper_nodes);
  visit(a.quotas, b.quotas);
}

template <class T>
void DropDoublesOf(Listed<T>& list, NamedFew& doubles) {
  std::unordered_map<std::string, size_t> last;
  last.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) last[NameOfObject(*list[i])] = i;
  if (last.size() == list.size()) return;
  Listed<T> kept;
  kept.reserve(last.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string name = NameOfObject(*list[i]);
    if (last[name] == i) {
      kept.push_back(std::move(list[i]));
    } else {
      doubles.Add(model::kKind<T>.kind, name);
    }
  }
  list = std::move(kept);
}

template <class T>
void FindReplaced(const Listed<T>& there, const Listed<T>& added, NamedFew& replaced) {
  if (added.empty()) return;
  std::unordered_map<std::string, const T*> names;
  for (const auto& object : there) names.emplace(NameOfObject(*object), object.get());
  for (const auto& object : added) {
    const std::string name = NameOfObject(*object);
    if (names.contains(name)) replaced.Add(model::kKind<T>.kind, name);
  }
}

}  // namespace

void DropDoubles(ClusterObjects& objects, std::vector<std::string>& notes) {
  NamedFew doubles;
  ForEachKind(objects, objects, [&](auto& list, auto&) { DropDoublesOf(list, doubles); });
  if (doubles.empty()) return;
  notes.push_back(std::to_string(doubles.count()) +
                  (doubles.count() == 1 ? " object is" : " objects are") +
                  " there twice, and the last one counts: " + doubles.ToString());
}

void NoteIgnored(const ClusterObjects& cluster, std::vector<std::string>& notes) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : cluster.ignored)
    parts.push_back(std::to_string(count) + " " + kind);
  if (!parts.empty())
    notes.push_back("left out, for no decision looks at them: " + Join(parts, ", "));
}

void NoteReplaced(const ClusterObjects& cluster, const ClusterObjects& added,
                  std::vector<std::string>& notes) {
  NamedFew replaced;
  ForEachKind(cluster, added, [&](const auto& there, const auto& new_ones) {
    FindReplaced(there, new_ones, replaced);
  });
  if (replaced.empty()) return;
  notes.push_back("what is added takes the place of " + std::to_string(replaced.count()) +
                  (replaced.count() == 1 ? " object" : " objects") +
                  " of the dump: " + replaced.ToString());
}

}  // namespace coppice::whatif
