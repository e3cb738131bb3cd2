// What the autoscaler's benchmarks share: the objects of upstream's own benchmarks, and a whole
// engine with a provider that answers from hash tables and a writer that only counts.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autoscale/engine.h"
#include "autoscale/flags.h"
#include "autoscale/view.h"
#include "base/check.h"
#include "base/fake_clock.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "expand/chain.h"
#include "test/support/discovered_plugins.h"

namespace coppice::bench {

using test::TheFilters;
using test::ThePlugins;

// A pod with one container and nothing else, as upstream's benchmarks build it.
inline model::Pod TestPod(const std::string& name, int64_t cpu_millis, int64_t memory_bytes) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = name;
  pod.metadata.namespace_ = "default";
  model::Container& container = pod.spec.containers.emplace_back();
  container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
  container.resources.requests["memory"] = model::Quantity::FromUnits(memory_bytes);
  return pod;
}

inline model::Pod Unschedulable(model::Pod pod) {
  pod.status.conditions.push_back(
      {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"});
  return pod;
}

// A ready node without labels whose name is its provider id.
inline model::Node TestNode(const std::string& name, int64_t cpu_millis, int64_t memory_bytes,
                            TimePoint ready_since, int64_t pods = 100) {
  model::Node node;
  node.metadata.name = name;
  node.spec.provider_id = name;
  node.status.capacity["cpu"] = model::Quantity::FromMillis(cpu_millis);
  node.status.capacity["memory"] = model::Quantity::FromUnits(memory_bytes);
  node.status.capacity["pods"] = model::Quantity::FromUnits(pods);
  node.status.allocatable = node.status.capacity;
  node.status.conditions.push_back(
      {.type = "Ready", .status = "True", .last_transition_time = model::Time{.at = ready_since}});
  return node;
}

inline cluster::PodPtr Shared(model::Pod pod) {
  return std::make_shared<const model::Pod>(std::move(pod));
}
inline cluster::NodePtr Shared(model::Node node) {
  return std::make_shared<const model::Node>(std::move(node));
}

// A provider's books, as one keeps them that answers every look-up from a hash table.
class BenchGroups final : public cloud::NodeGroups {
 public:
  void Add(cloud::GroupInfo info, std::shared_ptr<const model::Node> node_template) {
    groups_.push_back({std::move(info), 0, {}, std::move(node_template)});
  }
  void AddInstance(size_t group, const std::string& id) {
    groups_[group].instances.push_back({.id = id, .state = cloud::InstanceState::kRunning});
    ++groups_[group].target;
    ++version_;
    member_.emplace(id, group);
  }

  void RemoveInstance(const std::string& id) {
    const auto it = member_.find(id);
    if (it == member_.end()) return;
    Group& group = groups_[it->second];
    std::erase_if(group.instances, [&](const cloud::Instance& i) { return i.id == id; });
    --group.target;
    ++version_;
    member_.erase(it);
  }

  uint64_t Version() const override { return version_; }
  std::vector<cloud::GroupInfo> Groups() override {
    std::vector<cloud::GroupInfo> all;
    for (const Group& group : groups_) all.push_back(group.info);
    return all;
  }
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef& node) override {
    const auto it = member_.find(node.provider_id);
    if (it == member_.end()) return std::optional<std::string>();
    return std::optional<std::string>(groups_[it->second].info.id);
  }
  Result<bool> HasInstance(const cloud::NodeRef& node) override {
    return member_.contains(node.provider_id);
  }
  Result<int> TargetSize(std::string_view group) override { return Find(group).target; }
  Result<std::vector<cloud::Instance>> Instances(std::string_view group) override {
    return Find(group).instances;
  }
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override {
    return Find(group).node_template;
  }
  Result<std::optional<cloud::ScalingOptions>> Options(std::string_view,
                                                       const cloud::ScalingOptions&) override {
    return std::optional<cloud::ScalingOptions>();
  }
  Status Increase(std::string_view group, int delta, Deadline) override {
    Find(group).target += delta;
    ++version_;
    return Status::Ok();
  }
  Status IncreaseAtomically(std::string_view, int, Deadline) override {
    return Unimplemented("use Increase");
  }
  Status Delete(std::string_view, const std::vector<cloud::NodeRef>&, Deadline) override {
    return Status::Ok();
  }
  Status DecreaseTarget(std::string_view, int, Deadline) override { return Status::Ok(); }
  Status Refresh(Deadline) override { return Status::Ok(); }
  Status Cleanup() override { return Status::Ok(); }
  std::string GpuLabel() override { return "cloud.google.com/gke-accelerator"; }
  std::vector<std::string> GpuTypes() override { return {}; }
  Result<double> NodePrice(const cloud::NodeRef&, const std::map<std::string, std::string>&,
                           TimePoint, TimePoint) override {
    return Unimplemented("no price is known");
  }
  Result<double> PodPrice(const model::Pod&, TimePoint, TimePoint) override {
    return Unimplemented("no price is known");
  }

 private:
  struct Group {
    cloud::GroupInfo info;
    int target = 0;
    std::vector<cloud::Instance> instances;
    std::shared_ptr<const model::Node> node_template;
  };
  Group& Find(std::string_view id) {
    for (Group& group : groups_) {
      if (group.info.id == id) return group;
    }
    CHECK(false);
    return groups_.front();
  }

  uint64_t version_ = 1;
  std::vector<Group> groups_;
  std::unordered_map<std::string, size_t> member_;
};

// Everything succeeds at once; what was asked for is counted.
class NullWriter final : public cluster::Writer {
 public:
  Task<Status> ChangeNode(std::string, cluster::NodeChange change) override {
    for (const model::Taint& taint : change.add_taints) {
      if (taint.key == "ToBeDeletedByClusterAutoscaler") ++tainted;
    }
    co_return Status::Ok();
  }
  Task<Status> Evict(cluster::PodName, int64_t) override { co_return Status::Ok(); }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    Result<std::optional<std::string>> gone{std::optional<std::string>()};
    co_return gone;
  }
  void Emit(cluster::Event) override { ++events; }
  // As the real one: taken over here, looked at after the pass.
  void EmitAboutPods(std::vector<cluster::LivePod> pods, cluster::Event) override {
    events += pods.size();
    about_pods = std::move(pods);
  }

  size_t tainted = 0;
  size_t events = 0;
  std::vector<cluster::LivePod> about_pods;
};

// A whole engine on a clock that stands still while a pass runs.
class Rig {
 public:
  explicit Rig(const std::vector<std::string>& flags, FakeClock& clock, BenchGroups& groups)
      : clock_(clock),
        executor_(clock),
        options_(OptionsFrom(flags)),
        world_(autoscale::ViewOf(options_)),
        cloud_(groups, workers_, executor_),
        expanders_(Expanders(groups)),
        engine_({.options = options_,
                 .world = world_,
                 .groups = groups,
                 .cloud = cloud_,
                 .writer = writer,
                 .executor = executor_,
                 .rng = rng_,
                 .filters = TheFilters(),
                 .expanders = expanders_,
                 .log = log_}) {}

  cluster::World& world() { return world_; }
  autoscale::Engine& engine() { return engine_; }
  std::shared_ptr<const report::PassReport> Pass() {
    return executor_.BlockOn(engine_.Pass(clock_.Now()));
  }

  NullWriter writer;

 private:
  static autoscale::Options OptionsFrom(const std::vector<std::string>& flags) {
    auto parsed = autoscale::ParseFlags(flags);
    CHECK(parsed.ok());
    return parsed->options;
  }
  expand::Chain Expanders(BenchGroups& groups) {
    auto chain = expand::Chain::Create(options_.expander, ThePlugins().expanders,
                                       {clock_, rng_, log_, metrics_, &groups});
    CHECK(chain.ok());
    return std::move(chain).value();
  }

  FakeClock& clock_;
  Executor executor_;
  SeededRng rng_{1};
  Metrics metrics_;
  const Log log_ = Log::Null();
  InlineWorkers workers_;
  const autoscale::Options options_;
  cluster::World world_;
  autoscale::CloudCalls cloud_;
  expand::Chain expanders_;
  autoscale::Engine engine_;
};

}  // namespace coppice::bench
