// Clusters of the benchmarks of sessions: equal nodes that are empty, gangs that wait, one queue. What
// test/oracle/session puts before the peer.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "batch/session.h"
#include "model/batch.h"

namespace coppice::bench {

// What the peer's benchmark runs.
inline constexpr std::string_view kPeersConf = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
)";

inline model::Quantity Parsed(const std::string& text) {
  return model::Quantity::Parse(text).value();
}

struct SessionCase {
  cluster::Facts facts;
  cluster::Snapshot snapshot{facts};
  batch::SessionInput input;
};

inline void AddNodes(SessionCase& world, int64_t nodes) {
  for (int64_t i = 0; i < nodes; ++i) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "node-" + std::to_string(100'000 + i);
    node->metadata.labels["kubernetes.io/hostname"] = node->metadata.name;
    node->status.allocatable["cpu"] = Parsed("32");
    node->status.allocatable["memory"] = Parsed("256Gi");
    node->status.allocatable["pods"] = Parsed("110");
    node->status.capacity = node->status.allocatable;
    const auto index = world.snapshot.AddNode(*node).value();
    world.input.nodes.push_back({.object = std::move(node), .index = index});
  }
}

inline void AddGang(SessionCase& world, int64_t number, int64_t size) {
  model::PodGroup group;
  group.metadata.name = "gang-" + std::to_string(10'000 + number);
  group.metadata.namespace_ = "bench";
  group.metadata.creation_timestamp = model::Time{TimePoint(std::chrono::seconds(number))};
  group.spec.min_member = static_cast<int32_t>(size);
  group.spec.queue = "default";
  group.spec.min_resources.emplace()["cpu"] = model::Quantity::FromUnits(size);
  (*group.spec.min_resources)["memory"] = model::Quantity::FromUnits(size << 30);
  group.status.phase = "Pending";
  for (int64_t i = 0; i < size; ++i) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = group.metadata.name + "-w-" + std::to_string(i);
    pod->metadata.namespace_ = "bench";
    pod->metadata.uid = pod->metadata.name;
    pod->metadata.creation_timestamp = group.metadata.creation_timestamp;
    pod->metadata.annotations["scheduling.k8s.io/group-name"] = group.metadata.name;
    pod->metadata.annotations["volcano.sh/task-spec"] = "w";
    pod->spec.scheduler_name = "volcano";
    model::Container container{.name = "c", .image = "img"};
    container.resources.requests["cpu"] = Parsed("1");
    container.resources.requests["memory"] = Parsed("1Gi");
    pod->spec.containers.push_back(std::move(container));
    pod->status.phase = "Pending";
    const auto index =
        world.snapshot.AddPod(std::shared_ptr<const model::Pod>(pod), cluster::kNone);
    world.input.pods.push_back({.object = std::move(pod), .index = index});
  }
  world.input.groups.push_back(std::move(group));
}

inline void AddQueues(SessionCase& world) {
  for (const char* name : {"root", "default"}) {
    model::Queue queue;
    queue.metadata.name = name;
    queue.spec.weight = 1;
    queue.status.state = "Open";
    world.input.queues.push_back(std::move(queue));
  }
}

}  // namespace coppice::bench
