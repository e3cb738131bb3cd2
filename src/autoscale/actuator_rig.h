// What the tests of the actuator have in common: a world, a cloud, an API server that does what it
// is told, and an actuator on them.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autoscale/actuator.h"
#include "autoscale/taints.h"
#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "cluster/fake_writer.h"
#include "test/support/must.h"

namespace coppice::autoscale {

class ActuatorRig : public testing::Test {
 protected:
  ActuatorRig() {
    groups.Add({.info = {.id = "g", .min_size = 0, .max_size = 10}, .target = 0});
    // What is written is in the view at once.
    writer.on_change = [this](const std::string& name) -> Status {
      if (refuse.contains(name)) return Unavailable("refused");
      if (world.FindNode(name) == nullptr) return NotFound("no such node");
      model::Node node = *world.FindNode(name);
      const cluster::NodeChange& change = writer.changes.back().second;
      for (const auto& taint : change.add_taints) node.spec.taints.push_back(taint);
      for (const auto& key : change.remove_taints)
        std::erase_if(node.spec.taints, [&](const auto& t) { return t.key == key; });
      if (change.unschedulable) node.spec.unschedulable = *change.unschedulable;
      world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
      return Status::Ok();
    };
    writer.on_evict = [this](const std::string& pod) -> Status {
      world.DeletePod("default", pod);
      return Status::Ok();
    };
  }

  // `uid` and a machine of its own: another one under the same name is another node.
  void AddNode(const std::string& name, const std::string& uid = "") {
    model::Node node;
    node.metadata.name = name;
    node.metadata.uid = uid;
    node.spec.provider_id = "fake://" + name;
    world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
    groups.Change("g", [&](auto& group) {
      ++group.target;
      group.instances.push_back({"fake://" + name, cloud::InstanceState::kRunning, {}});
    });
  }
  void AddPod(const std::string& name, const std::string& node) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.owner_references = {
        {.api_version = "v1", .kind = "ReplicationController", .name = "rc", .controller = true}};
    pod.spec.node_name = node;
    world.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
    model::ReplicationController controller;
    controller.metadata.name = "rc";
    controller.metadata.namespace_ = "default";
    world.Upsert(std::make_shared<const model::ReplicationController>(std::move(controller)));
    writer.where[name] = node;
  }
  DeletionBatch Batch(std::vector<std::string> names, int whole = 0) {
    DeletionBatch batch{"g", {}, whole};
    for (const std::string& name : names) {
      const cluster::NodePtr node = world.FindNode(name);
      batch.nodes.push_back({.node = name,
                             .group = "g",
                             .uid = node->metadata.uid,
                             .provider_id = node->spec.provider_id});
    }
    return batch;
  }
  // The API server says what the view says.
  void AskTheWorld() {
    writer.node_now = [this](const std::string& name) -> Result<cluster::LiveNode> {
      const cluster::NodePtr node = world.FindNode(name);
      if (node == nullptr) return NotFound("no such node");
      return node;
    };
    writer.pods_on = [this](const std::string& name) -> Result<std::vector<cluster::LivePod>> {
      std::vector<cluster::LivePod> pods;
      for (const auto* entry : world.BoundTo(name)) pods.push_back(entry->pod);
      return pods;
    };
  }
  Actuator& Make() {
    calls = std::make_unique<CloudCalls>(groups, workers, executor);
    actuator = std::make_unique<Actuator>(Actuator::Parts{
        .options = options,
        .drain = options,
        .pods = options,
        .deviations = options.deviations,
        .cloud = *calls,
        .writer = writer,
        .executor = executor,
        .world = world,
        .options_of = [this](std::string_view) { return options.group_defaults; },
        .counts = [](const model::Pod&) { return true; },
        .status_event = [](std::string_view, std::string_view, std::string) {},
        .removed = [this](std::string_view, std::string_view, TimePoint) { ++removed; },
        .failed = [this](std::string_view, TimePoint) { ++failed; },
        .may_delete = [this](const cloud::NodeRef&, std::string_view) { return forbidden; }});
    return *actuator;
  }
  Actuator::Started Start(CroppedDeletions deletions) {
    Make();
    return StartAgain(std::move(deletions));
  }
  Actuator::Started StartAgain(CroppedDeletions deletions) {
    return executor.BlockOn(
        actuator->Start(std::move(deletions), [](const RemovableNode& node, bool) {
          return report::RemovedNode{.node = node.node, .group = node.group};
        }));
  }
  std::vector<std::string> Machines() {
    std::vector<std::string> ids;
    for (const auto& instance : MUST(groups.Instances("g"))) ids.push_back(instance.id);
    return ids;
  }
  bool Marked(const std::string& name) { return HasToBeDeletedTaint(*world.FindNode(name)); }
  std::map<std::string, std::string> Outcomes() {
    std::map<std::string, std::string> all;
    for (const auto& outcome : actuator->TakeOutcomes()) {
      all[outcome.node] = outcome.result;
      errors[outcome.node] = outcome.error;
    }
    return all;
  }

  FakeClock clock;
  Executor executor{clock};
  cluster::FakeWriter writer{clock};
  InlineWorkers workers;
  cloud::FakeNodeGroups groups;
  cluster::World world;
  Options options;
  std::unique_ptr<CloudCalls> calls;
  std::unique_ptr<Actuator> actuator;
  std::set<std::string> refuse;
  std::map<std::string, std::string> errors;  // of the outcomes that were taken
  std::string forbidden;
  int removed = 0;
  int failed = 0;
};

}  // namespace coppice::autoscale
