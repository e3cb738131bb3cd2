#include "rehearse/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "base/fake_clock.h"
#include "provider/open_cloud.h"
#include "sim/model.h"
#include "whatif/model_host.h"
#include "whatif/model_loop.h"

namespace coppice::rehearse {
namespace {

constexpr Duration kSampleEvery = std::chrono::minutes(5);
constexpr int64_t kGraceSeconds = 30;

std::pair<std::string, std::string> Split(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return {"default", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// People: creates and ends pods as the log says, and brings back what was moved.
class People {
 public:
  People(sim::Model& model, const Demand& demand, Outcome& outcome)
      : model_(model), demand_(demand), outcome_(outcome) {
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

  void Start() {
    for (const PodShape& shape : demand_.shapes) AddOwner(shape);
    CreateDue();
  }

  int wanted() const { return static_cast<int>(lives_.size()); }
  std::vector<Duration>& waits() { return waits_; }

 private:
  static std::string Uid(const PodShape& shape) {
    return "recorded-" + shape.owner_kind + "-" + shape.owner_name;
  }

  void AddOwner(const PodShape& shape) {
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

  bool Played(const PodLife& life) const {
    const std::string& kind = demand_.shapes[life.shape].owner_kind;
    if (kind == "DaemonSet" || kind == "Node") return false;
    // On a node of no group it takes nothing from the groups.
    const auto node = demand_.start_nodes.find(life.node);
    return life.node.empty() || node == demand_.start_nodes.end() || !node->second.empty();
  }

  void CreateDue() {
    const TimePoint now = model_.agenda.Now();
    for (; next_ < demand_.pods.size() && demand_.pods[next_].created <= now; ++next_) {
      const PodLife& life = demand_.pods[next_];
      if (!Played(life)) continue;
      // Whoever stood on a node when the log begins stands there again, if the node does.
      const bool there = life.created == demand_.start && life.bound &&
                         model_.cluster.objects().FindNode(life.node) != nullptr;
      Create(next_, life.name, there ? life.node : "");
      if (life.done && (!life.bound || !demand_.shapes[life.shape].finite())) {
        model_.agenda.At(std::max(now, *life.done), [this, i = next_] { End(i); });
      }
    }
    if (next_ < demand_.pods.size()) {
      model_.agenda.At(demand_.pods[next_].created, [this] { CreateDue(); });
    }
  }

  void Create(size_t i, const std::string& name, const std::string& node) {
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
      Bound(*model_.cluster.objects().FindPod(Split(name).first, Split(name).second));
    }
  }

  // What the log says has come to its end, under whatever name it runs by now.
  void End(size_t i) {
    const auto name = names_.find(i);
    if (name == names_.end()) return;
    const auto [ns, pod] = Split(name->second);
    lives_.erase(name->second);
    names_.erase(name);
    model_.cluster.EndPod(ns, pod, kGraceSeconds);
  }

  void Bound(const model::Pod& pod) {
    const auto life = lives_.find(pod.metadata.namespace_ + "/" + pod.metadata.name);
    if (life == lives_.end()) return;
    ++outcome_.started;
    const Duration wait = model_.agenda.Now() - pod.metadata.creation_timestamp->at;
    waits_.push_back(wait);
    if (wait > outcome_.longest_wait) {
      outcome_.longest_wait = wait;
      outcome_.longest_waiter = life->first;
    }
    const PodLife& recorded = demand_.pods[life->second];
    if (!demand_.shapes[recorded.shape].finite() || !recorded.bound || !recorded.done) return;
    model_.agenda.In(*recorded.done - *recorded.bound,
                     [this, i = life->second, name = life->first] {
                       const auto now = names_.find(i);
                       if (now != names_.end() && now->second == name) End(i);
                     });
  }

  void Left(const model::Pod& pod) {
    const auto life = lives_.find(pod.metadata.namespace_ + "/" + pod.metadata.name);
    if (life == lives_.end()) return;
    const size_t i = life->second;
    const std::string again = demand_.pods[i].name + "-" + std::to_string(++moved_);
    ++outcome_.evictions;
    names_.erase(i);
    lives_.erase(life);
    if (demand_.shapes[demand_.pods[i].shape].owner_kind.empty()) return;  // of nobody
    model_.agenda.In(Duration::zero(), [this, i, again] { Create(i, again, ""); });
  }

  sim::Model& model_;
  const Demand& demand_;
  Outcome& outcome_;
  size_t next_ = 0;
  uint64_t moved_ = 0;
  std::set<std::string> owners_;
  std::unordered_map<std::string, size_t> lives_;  // pods that are wanted, by name
  std::unordered_map<size_t, std::string> names_;
  std::vector<Duration> waits_;
};

// Machines and money, told by the cloud as they come and go.
class Purse {
 public:
  Purse(sim::Model& model, Outcome& outcome) : model_(model), outcome_(outcome) {
    const auto flavors = model.cloud.Flavors(Deadline::Never());
    for (const cloud::GroupConfig& group : model.groups()) {
      price_[group.name] = group.price_per_hour.value_or(0);
      if (group.price_per_hour || !flavors.ok()) continue;
      const auto flavor = std::ranges::find(*flavors, group.flavor, &cloud::Flavor::name);
      if (flavor != flavors->end()) price_[group.name] = flavor->price_per_hour.value_or(0);
    }
    last_ = model.agenda.Now();
    for (const cloud::Machine& machine : model.cloud.Truth()) Came(machine);
    outcome_.bought = 0;
    model.cloud.hooks.created = [this](const cloud::Machine& machine) { Came(machine); };
    model.cloud.hooks.deleted = [this](const cloud::ProviderId& id) { Went(id); };
  }

  void Charge() {
    const double hours =
        std::chrono::duration<double, std::ratio<3600>>(model_.agenda.Now() - last_).count();
    last_ = model_.agenda.Now();
    outcome_.cost += rate_ * hours;
    outcome_.machine_hours += static_cast<double>(groups_.size()) * hours;
  }
  double rate() const { return rate_; }
  int machines() const { return static_cast<int>(groups_.size()); }

 private:
  void Came(const cloud::Machine& machine) {
    Charge();
    const auto tag = machine.tags.find(cloud::kGroupTag);
    const std::string group = tag == machine.tags.end() ? "" : tag->second;
    if (!groups_.emplace(machine.id, group).second) return;
    rate_ += price_[group];
    ++outcome_.bought;
    outcome_.peak_machines = std::max(outcome_.peak_machines, machines());
  }
  void Went(const cloud::ProviderId& id) {
    Charge();
    const auto found = groups_.find(id);
    if (found == groups_.end()) return;
    rate_ -= price_[found->second];
    ++outcome_.removed;
    groups_.erase(found);
  }

  sim::Model& model_;
  Outcome& outcome_;
  std::map<std::string, double> price_;
  std::unordered_map<std::string, std::string> groups_;  // of machines
  double rate_ = 0;
  TimePoint last_;
};

void TellDecisions(const report::PassReport& pass, Outcome& outcome) {
  const auto scale_up = [&](const report::ScaleUp& up) {
    if (up.result != report::ScaleUpResult::kSuccessful) return;
    for (const report::GroupResize& resize : up.resizes) {
      outcome.decisions.push_back(
          {pass.at, fmt::format("+{} {}", resize.to - resize.from, resize.group),
           fmt::format("for {} pods{}", up.triggered.size(),
                       up.options.size() > 1 ? fmt::format(", best of {} groups", up.options.size())
                                             : "")});
    }
  };
  for (const report::ScaleUp& round : pass.earlier_rounds) scale_up(round);
  scale_up(pass.scale_up);
  std::map<std::string, std::pair<int, size_t>> removed;
  for (const report::RemovedNode& node : pass.scale_down.removed) {
    auto& [count, pods] = removed[node.group];
    ++count;
    pods += node.evicted.size();
  }
  for (const auto& [group, what] : removed) {
    outcome.decisions.push_back(
        {pass.at, fmt::format("-{} {}", what.first, group),
         what.second == 0 ? "empty" : fmt::format("{} pods fit elsewhere", what.second)});
  }
}

void SumUp(std::vector<Duration>& waits, Outcome& outcome) {
  if (waits.empty()) return;
  std::ranges::sort(waits);
  outcome.median_wait = waits[waits.size() / 2];
  outcome.long_wait = waits[std::min(waits.size() - 1, waits.size() * 99 / 100)];
}

}  // namespace

Result<Outcome> PlayDemand(const PlayParts& parts) {
  const auto began = std::chrono::steady_clock::now();
  const Demand& demand = parts.demand;
  FakeClock clock{demand.start};
  SeededRng rng(parts.seed);
  Metrics metrics;
  const Log log = Log::Null();
  Outcome outcome{.name = parts.name, .start = demand.start, .end = demand.end};
  auto filters = TRY(fit::Chain::Create(parts.plugins.filters, {}));
  auto model = TRY(sim::Model::Create(
      {.clock = clock,
       .filters = filters,
       .cloud = TRY(provider::OpenCloud(parts.config, {parts.clouds, clock, rng, log, metrics})),
       .groups = parts.config.groups}));
  // A node that the log had at the start, if there still is such a group.
  for (const auto& [node, group] : demand.start_nodes) {
    const auto known = std::ranges::find(parts.config.groups, group, &cloud::GroupConfig::name);
    if (known != parts.config.groups.end()) TRY(model->AddNode(group, node, demand.start));
  }
  Purse purse(*model, outcome);
  People people(*model, demand, outcome);
  people.Start();
  const auto host = TRY(whatif::ModelHost::Create({.model = *model,
                                                   .clock = clock,
                                                   .plugins = parts.plugins,
                                                   .flags = parts.flags,
                                                   .seed = parts.seed,
                                                   .log = log,
                                                   .metrics = metrics}));
  host->AdvanceTo(demand.start);
  whatif::ModelLoop loop(*host, *model, clock, parts.flags);
  TimePoint sample = demand.start;
  const auto take_sample = [&] {
    outcome.samples.push_back({.at = clock.Now(),
                               .machines = purse.machines(),
                               .pending = static_cast<int>(model->Pending().size()),
                               .pods = people.wanted(),
                               .rate = purse.rate()});
  };
  while (const auto pass = loop.Next(demand.end)) {
    ++outcome.passes;
    TellDecisions(*pass, outcome);
    if (clock.Now() < sample) continue;
    take_sample();
    sample += kSampleEvery;
  }
  purse.Charge();
  take_sample();
  outcome.waiting = model->Pending().size();
  SumUp(people.waits(), outcome);
  outcome.real_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return outcome;
}

}  // namespace coppice::rehearse
