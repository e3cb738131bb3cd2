#include "plugins/batch/task_topology/buckets.h"

#include <algorithm>
#include <limits>

namespace coppice::batch::task_topology {
namespace {

// Who is more particular comes first.
constexpr int kInterAntiAffinity = 1;
constexpr int kSelfAffinity = 2;
constexpr int kInterAffinity = 3;
constexpr int kSelfAntiAffinity = 4;

// A thousandth of a cpu, a Mi of memory and a thousandth of anything else weigh the same.
double WeightOf(const Resource& request) {
  double weight = request.cpu + request.memory / 1024 / 1024;
  for (const auto& [key, value] : request.scalars()) weight += value;
  return weight;
}

Resource MostOf(const NodeInfo& node) {
  Resource most = node.idle;
  most.Add(node.releasing);
  return most;
}

}  // namespace

std::string RoleOf(const Task& task) {
  const std::string* role = task.pod->metadata.annotations.Find(kTaskSpecKey);
  return role ? *role : std::string();
}

void Buckets::Mark(const std::string& role, int priority) {
  priority_[role] = std::max(priority_[role], priority);
}

void Buckets::Apply(const Topology::Groups& groups, std::set<std::string>& self,
                    std::set<Pair>& inter, int self_priority, int inter_priority) {
  for (const auto& group : groups) {
    if (group.size() == 1) {
      self.insert(group[0]);
      Mark(group[0], self_priority);
      continue;
    }
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        inter.insert({group[i], group[j]});
        inter.insert({group[j], group[i]});
      }
      Mark(group[i], inter_priority);
    }
  }
}

Buckets::Buckets(const Job& job, const Topology& topology) {
  Apply(topology.affinity, self_affinity_, inter_affinity_, kSelfAffinity, kInterAffinity);
  Apply(topology.anti_affinity, self_anti_affinity_, inter_anti_affinity_, kSelfAntiAffinity,
        kInterAntiAffinity);
  for (size_t i = 0; i < topology.order.size(); ++i) {
    order_[topology.order[i]] = topology.order.size() - i;
  }
  const std::vector<const Task*> tasks = Sorted(job);
  buckets_.reserve(tasks.size());  // pointers to them stay right
  std::map<std::string_view, Bucket*> by_node;
  for (const Task* task : tasks) {
    const std::string role = RoleOf(*task);
    const bool placed = !task->node_name.empty();
    Bucket* bucket = placed ? by_node[task->node_name] : BestFor(role);
    if (!bucket) {
      bucket = &buckets_.emplace_back();
      bucket->index = buckets_.size() - 1;
      if (placed) by_node[task->node_name] = bucket;
    }
    Put(*bucket, role, *task);
  }
}

// Those with a wish: placed ones by node, then by their roles' order, then by name.
std::vector<const Task*> Buckets::Sorted(const Job& job) const {
  std::vector<const Task*> tasks;
  for (const Task* task : job.tasks) {
    if (const std::string role = RoleOf(*task); !role.empty() && priority_.contains(role)) {
      tasks.push_back(task);
    }
  }
  std::ranges::stable_sort(tasks, [&](const Task* l, const Task* r) {
    if (l->node_name.empty() != r->node_name.empty()) return r->node_name.empty();
    if (!l->node_name.empty()) return l->node_name < r->node_name;
    if (const int order = CompareRoles(*l, *r)) return order > 0;
    return l->name < r->name;
  });
  return tasks;
}

// The one that it likes best, of equals the lightest; none if it likes none.
Bucket* Buckets::BestFor(const std::string& role) {
  Bucket* best = nullptr;
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (Bucket& bucket : buckets_) {
    const int32_t affinity = Affinity(role, bucket.roles, false);
    if (affinity > highest) {
      highest = affinity;
      best = &bucket;
    } else if (affinity == highest && best && bucket.weight < best->weight) {
      best = &bucket;
    }
  }
  return highest < 0 ? nullptr : best;
}

int32_t Buckets::Affinity(const std::string& role, const std::map<std::string, int32_t>& among,
                          bool only_anti) const {
  int32_t sum = 0;
  for (const auto& [other, count] : among) {
    const bool same = other == role;
    const bool likes =
        same ? self_affinity_.contains(role) : inter_affinity_.contains({role, other});
    const bool dislikes =
        same ? self_anti_affinity_.contains(role) : inter_anti_affinity_.contains({role, other});
    if (likes && !only_anti) sum += count;
    if (dislikes) sum -= count;
  }
  return sum;
}

void Buckets::Put(Bucket& bucket, const std::string& role, const Task& task) {
  bucket_of_[task.uid] = bucket.index;
  ++bucket.roles[role];
  if (task.node_name.empty()) {
    bucket.waiting[task.uid] = &task;
    bucket.weight += WeightOf(task.req());
    bucket.request.Add(task.req());
  } else {
    ++bucket.nodes[task.node_name];
    ++bucket.placed;
  }
  largest_ = std::max(largest_, bucket.waiting.size() + static_cast<size_t>(bucket.placed));
}

Bucket* Buckets::Find(const Task& task) {
  const auto found = bucket_of_.find(task.uid);
  return found == bucket_of_.end() ? nullptr : &buckets_[found->second];
}

const Bucket* Buckets::Of(const Task& task) const {
  const auto found = bucket_of_.find(task.uid);
  return found == bucket_of_.end() ? nullptr : &buckets_[found->second];
}

int Buckets::CompareRoles(const Task& l, const Task& r) const {
  // A role without a wish counts as none at all.
  const auto role = [&](const Task& task) {
    std::string name = RoleOf(task);
    return priority_.contains(name) ? name : std::string();
  };
  const std::string left = role(l);
  const std::string right = role(r);
  if (left == right) return 0;
  const auto compare = [&](const auto& values) {
    const auto of = [&](const std::string& name) {
      const auto found = values.find(name);
      return found == values.end() ? 0 : static_cast<int>(found->second);
    };
    const int a = of(left);
    const int b = of(right);
    return a == b ? 0 : (a > b ? 1 : -1);
  };
  const int order = compare(order_);
  return order != 0 ? order : compare(priority_);
}

int32_t Buckets::ScoreOf(const Task& task, const NodeInfo& node) const {
  const Resource most = MostOf(node);
  if (most.LessPartly(task.req(), Missing::kZero)) return 0;  // would never fit
  const Bucket* bucket = Of(task);
  if (!bucket) return 0;
  const auto there = bucket->nodes.find(node.name);
  int32_t score = there == bucket->nodes.end() ? 0 : there->second;
  if (const auto roles = on_node_.find(node.name); roles != on_node_.end()) {
    score += std::min(Affinity(RoleOf(task), roles->second, true), 0);
  }
  score += static_cast<int32_t>(bucket->waiting.size());
  Resource rest = bucket->request;
  for (const auto& [uid, other] : bucket->waiting) {
    if (rest.LessEqual(most, Missing::kZero)) break;
    if (uid == task.uid) continue;
    (void)rest.Sub(other->req());
    --score;
  }
  return score;
}

bool Buckets::IsWaiting(const Task& task) const {
  const Bucket* bucket = Of(task);
  return bucket && bucket->waiting.contains(task.uid);
}

bool Buckets::Placed(const Task& task) {
  if (const std::string role = RoleOf(task); !role.empty()) ++on_node_[task.node_name][role];
  Bucket* bucket = Find(task);
  if (!bucket) return true;
  ++bucket->nodes[task.node_name];
  ++bucket->placed;
  bucket->waiting.erase(task.uid);
  bucket->weight -= WeightOf(task.req());
  return bucket->request.Sub(task.req());
}

void Buckets::Undone(const Task& task) {
  if (const std::string role = RoleOf(task); !role.empty()) --on_node_[task.node_name][role];
  Bucket* bucket = Find(task);
  if (!bucket) return;
  --bucket->nodes[task.node_name];
  --bucket->placed;
  bucket->waiting[task.uid] = &task;
  bucket->weight += WeightOf(task.req());
  bucket->request.Add(task.req());
}

}  // namespace coppice::batch::task_topology
