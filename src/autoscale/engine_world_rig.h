// What a test of a whole engine begins with: groups that answer as they are told, nodes and pods of
// a world, and a writer that agrees. How the engine is put together is for the rigs that stand on
// it: plain_engine_rig.h (no plug-in at all), test/support/engine_rig.h (as the product does it).

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/fake_node_groups.h"
#include "cluster/world.h"
#include "report/pass_report.h"
#include "test/support/agreeing_writer.h"

namespace coppice::autoscale {

inline model::Node ANode(const std::string& name, const std::string& zone, TimePoint since) {
  model::Node node;
  node.metadata.name = name;
  node.metadata.creation_timestamp = model::Time{since};
  node.metadata.labels["topology.kubernetes.io/zone"] = zone;
  node.spec.provider_id = "fake://" + name;
  for (auto* resources : {&node.status.capacity, &node.status.allocatable}) {
    (*resources)["cpu"] = model::Quantity::FromUnits(4);
    (*resources)["memory"] = model::Quantity::FromUnits(int64_t{16} << 30);
    (*resources)["pods"] = model::Quantity::FromUnits(110);
  }
  model::NodeCondition ready;
  ready.type = "Ready";
  ready.status = "True";
  ready.last_transition_time = model::Time{since};
  node.status.conditions.push_back(ready);
  return node;
}

class EngineWorldRig : public testing::Test {
 protected:
  // Again: another engine, as after a restart. What the one before it had under way ends with it.
  virtual void Assemble(std::vector<std::string> args, Workers& workers,
                        cluster::Writer& writer) = 0;
  virtual std::shared_ptr<const report::PassReport> Pass() = 0;

  void AddGroup(const std::string& id, int max, int target = 0) {
    groups_.Add({.info = {.id = id, .min_size = 0, .max_size = max},
                 .target = target,
                 .node_template = std::make_shared<const model::Node>(
                     ANode("template-of-" + id, "zone-" + id, clock_.Now()))});
  }
  // A node of the group that has been ready for long.
  void AddNode(const std::string& name, const std::string& group) {
    groups_.Change(group, [&](cloud::FakeNodeGroups::Group& g) {
      g.instances.push_back({.id = "fake://" + name, .state = cloud::InstanceState::kRunning});
    });
    world_.UpsertNode(std::make_shared<const model::Node>(
        ANode(name, "zone-" + group, clock_.Now() - std::chrono::hours(1))));
  }
  // Pending, or of a ReplicaSet and running on `node`.
  void AddPod(const std::string& name, const std::string& resource, int64_t amount,
              const std::string& node = "") {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.uid = name;
    pod.metadata.creation_timestamp = model::Time{clock_.Now() - std::chrono::minutes(1)};
    model::Container container;
    container.resources.requests[resource] = model::Quantity::FromUnits(amount);
    pod.spec.containers.push_back(container);
    pod.spec.node_name = node;
    pod.status.phase = node.empty() ? "Pending" : "Running";
    if (!node.empty()) {
      model::ReplicaSet owner;
      owner.metadata.name = name;
      owner.metadata.namespace_ = "default";
      owner.spec.replicas = 1;
      world_.Upsert(std::make_shared<const model::ReplicaSet>(std::move(owner)));
      pod.metadata.owner_references.push_back({.api_version = "apps/v1",
                                               .kind = "ReplicaSet",
                                               .name = name,
                                               .uid = "of-" + name,
                                               .controller = true});
    }
    if (node.empty()) {
      pod.status.conditions.push_back(
          {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"});
    }
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }

  size_t CallsOf(const std::string& method) {
    const auto calls = groups_.calls();
    return static_cast<size_t>(
        std::ranges::count(calls, method, &cloud::FakeNodeGroups::Call::method));
  }
  // One empty node that nobody needs, to the point where its deletion has begun.
  void BeginDeletion(std::vector<std::string> args, cluster::Writer& writer) {
    AddGroup("web", 5, 1);
    AddNode("web-1", "web");
    args.insert(args.end(), {"--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s"});
    Assemble(std::move(args), inline_, writer);
    Pass();
    clock_.Set(clock_.Now() + std::chrono::seconds(20));
    ASSERT_EQ(Pass()->scale_down.result, report::ScaleDownResult::kNodeDeleteStarted);
  }

  FakeClock clock_;
  cluster::World world_;
  cloud::FakeNodeGroups groups_;
  SeededRng rng_{1};
  Metrics metrics_;
  Log log_ = Log::Null();
  InlineWorkers inline_;
  test::AgreeingWriter writer_;
  std::function<void()> wake_;          // of the engines that are assembled from then on
  std::function<Duration()> view_age_;  // to be set before Assemble
};

}  // namespace coppice::autoscale
