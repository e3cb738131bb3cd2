#include "rehearse/people.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace coppice::rehearse {
namespace {

constexpr int64_t kGraceSeconds = 30;

std::pair<std::string, std::string> Split(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return {"default", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::string Uid(const PodShape& shape) {
  return "recorded-" + shape.owner_kind + "-" + shape.pod.metadata.namespace_ + "-" +
         shape.owner_name;
}

}  // namespace

People::People(sim::Model& model, const Demand& demand, Outcome& outcome)
    : model_(model),
      demand_(demand),
      outcome_(outcome),
      budgets_(model, demand),
      runs_(demand.pods.size(), false),
      over_(demand.pods.size(), false) {
  auto leaves = std::move(model_.cluster.pod_leaves);
  model_.cluster.pod_leaves = [this, leaves](const model::Pod& pod) {
    if (leaves) leaves(pod);
    Left(pod);
  };
  auto bound = std::move(model_.cluster.pod_bound);
  model_.cluster.pod_bound = [this, bound](const model::Pod& pod) {
    if (bound) bound(pod);
    Bound(pod);
  };
}

void People::Start() {
  for (const PodShape& shape : demand_.shapes) AddOwner(shape);
  CreateDue();
}

void People::AddOwner(const PodShape& shape) {
  if (shape.owner_kind.empty()) return;
  const std::string& ns = shape.pod.metadata.namespace_;
  if (!owners_.insert(shape.owner_kind + "/" + ns + "/" + shape.owner_name).second) return;
  if (shape.owner_kind == "DaemonSet") {
    sim::WorkloadSpec spec{
        .name = shape.owner_name, .namespace_ = ns, .kind = "DaemonSet", .pod = shape.pod};
    spec.pod.metadata.owner_references.clear();
    spec.pod.spec.affinity = {};  // names one node in each of its pods
    model_.controllers.Add(std::move(spec));
    return;
  }
  model::ObjectMeta meta;
  meta.name = shape.owner_name;
  meta.namespace_ = ns;
  meta.uid = Uid(shape);
  const auto publish = [&](auto set) {
    set.metadata = meta;
    set.spec.replicas = 1'000'000;  // as many as there may be: nobody is one too many
    model_.cluster.Upsert(std::move(set));
  };
  if (shape.owner_kind == "ReplicaSet") publish(model::ReplicaSet());
  if (shape.owner_kind == "StatefulSet") publish(model::StatefulSet());
  if (shape.owner_kind == "ReplicationController") publish(model::ReplicationController());
  if (shape.owner_kind == "Job") {
    model::Job job;
    job.metadata = meta;
    job.spec.parallelism = 1'000'000;
    model_.cluster.Upsert(std::move(job));
  }
}

bool People::Played(const PodLife& life) const {
  const std::string& kind = demand_.shapes[life.shape].owner_kind;
  if (kind == "DaemonSet" || kind == "Node") return false;
  // On a node of no group or pool it takes nothing from those.
  const auto node = demand_.start_nodes.find(life.node);
  return life.node.empty() || node == demand_.start_nodes.end() || !node->second.owner().empty();
}

void People::CreateDue() {
  const TimePoint now = model_.agenda.Now();
  for (; next_ < demand_.pods.size() && demand_.pods[next_].created <= now; ++next_) {
    const PodLife& life = demand_.pods[next_];
    if (!Played(life)) continue;
    // Whoever stood on a node when the log begins stands there again, if the node does.
    const bool there =
        demand_.Stood(life) && model_.cluster.objects().FindNode(life.node) != nullptr;
    budgets_.Wanted(life.shape, 1);
    Create(next_, life.name, there ? life.node : "");
    if (life.done && (!life.bound || !demand_.shapes[life.shape].finite())) {
      model_.agenda.At(std::max(now, *life.done), [this, i = next_] { End(i); });
    }
  }
  if (next_ < demand_.pods.size()) {
    model_.agenda.At(demand_.pods[next_].created, [this] { CreateDue(); });
  }
}

void People::Create(size_t i, const std::string& name, const std::string& node) {
  const PodShape& shape = demand_.shapes[demand_.pods[i].shape];
  model::Pod pod = shape.pod;
  std::tie(pod.metadata.namespace_, pod.metadata.name) = Split(name);
  if (!shape.owner_kind.empty()) {
    for (model::OwnerReference& owner : pod.metadata.owner_references) owner.uid = Uid(shape);
  }
  pod.spec.node_name = node;
  lives_[name] = i;
  names_[i] = name;
  model_.cluster.CreatePod(std::move(pod));
  if (!node.empty()) {
    const auto [ns, own] = Split(name);
    Bound(*model_.cluster.objects().FindPod(ns, own));
  }
}

// What the log says has come to its end, under whatever name it runs by now.
void People::End(size_t i) {
  const auto name = names_.find(i);
  if (name == names_.end()) {  // it moves just now, or is gone already
    over_[i] = true;
    return;
  }
  const auto [ns, pod] = Split(name->second);
  lives_.erase(name->second);
  names_.erase(name);
  budgets_.Wanted(demand_.pods[i].shape, -1);
  if (runs_[i]) budgets_.Running(demand_.pods[i].shape, -1);
  runs_[i] = false;
  model_.cluster.EndPod(ns, pod, kGraceSeconds);
}

void People::Bound(const model::Pod& pod) {
  const auto life = lives_.find(pod.metadata.namespace_ + "/" + pod.metadata.name);
  if (life == lives_.end()) return;
  const PodLife& recorded = demand_.pods[life->second];
  ++outcome_.started;
  runs_[life->second] = true;
  budgets_.Running(recorded.shape, 1);
  const Duration wait = model_.agenda.Now() - pod.metadata.creation_timestamp->at;
  // Where the machines that it stood on are not played it has to wait for others: that is how this
  // begins, and says nothing of how one fares with it.
  if (!demand_.Stood(recorded) || life->first != recorded.name) {
    waits_.push_back(wait);
    if (wait > Duration::zero()) KeepLongest({wait, life->first}, outcome_.longest_waits);
  }
  if (!demand_.shapes[recorded.shape].finite() || !recorded.bound || !recorded.done) return;
  model_.agenda.In(*recorded.done - *recorded.bound, [this, i = life->second, name = life->first] {
    const auto now = names_.find(i);
    if (now != names_.end() && now->second == name) End(i);
  });
}

void People::Left(const model::Pod& pod) {
  const auto life = lives_.find(pod.metadata.namespace_ + "/" + pod.metadata.name);
  if (life == lives_.end()) return;
  const size_t i = life->second;
  const uint32_t shape = demand_.pods[i].shape;
  ++outcome_.evictions;
  if (runs_[i]) budgets_.Running(shape, -1);
  runs_[i] = false;
  names_.erase(i);
  lives_.erase(life);
  if (demand_.shapes[shape].owner_kind.empty()) {  // of nobody
    budgets_.Wanted(shape, -1);
    return;
  }
  std::string again = demand_.pods[i].name + "-" + std::to_string(++moved_);
  model_.agenda.In(Duration::zero(), [this, i, shape, again = std::move(again)] {
    if (over_[i]) {
      budgets_.Wanted(shape, -1);
    } else {
      Create(i, again, "");
    }
  });
}

void People::SumUp() {
  if (waits_.empty()) return;
  std::ranges::sort(waits_);
  outcome_.median_wait = waits_[waits_.size() / 2];
  outcome_.long_wait = waits_[std::min(waits_.size() - 1, waits_.size() * 99 / 100)];
}

}  // namespace coppice::rehearse
