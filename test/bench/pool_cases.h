// Node pools at rest, for engine_bench and the speed guard: machines that are full and of the cheapest
// type that holds their pods, so that nothing can go, on the rig of the engine's own tests.

#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/check.h"
#include "cloud/node_claims.h"
#include "provision/engine_rig.h"

namespace coppice::bench {

// Does work at once, and tells what was not work: the pieces in which the deciding thread was busy.
class LoopWatch final : public Workers {
 public:
  Status Submit(std::function<void()> work) override {
    EndPiece();
    const double began = Now();
    work();
    worked_ += Now() - began;
    piece_began_ = Now();
    return Status::Ok();
  }
  template <class Run>
  void Watch(Run run) {
    decided_ = longest_ = worked_ = 0;
    piece_began_ = Now();
    run();
    EndPiece();
  }
  double decided() const { return decided_; }  // seconds of processor time, all pieces
  double longest() const { return longest_; }  // the longest piece: so long nobody else had a turn
  double worked() const { return worked_; }

 private:
  static double Now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  void EndPiece() {
    const double piece = Now() - piece_began_;
    decided_ += piece;
    longest_ = std::max(longest_, piece);
  }
  double decided_ = 0;
  double longest_ = 0;
  double worked_ = 0;
  double piece_began_ = 0;
};

class PoolsAtRest {
 public:
  explicit PoolsAtRest(int nodes, int pods_per_node = 20) {
    rig.kubelets = false;
    rig.schedules = false;
    rig.workers = &watch;
    rig.Kill();
    rig.AddPool("default", [](model::NodePool& pool) {
      pool.spec.template_.spec.requirements = {
          {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}},
          {std::string(model::kInstanceTypeLabel), "In", {"large"}, {}}};
    });
    const model::NodePool pool = rig.Pool("default");
    for (int i = 0; i < nodes; ++i) AddMachine(pool, i);
    rig.Start();
    for (int i = 0; i < nodes; ++i) {
      for (int p = 0; p < pods_per_node; ++p) AddBound(i, p, 7'800 / pods_per_node);
    }
    rig.RunFor(std::chrono::minutes(1));
  }

  // One pass so much later, and what follows from it at once.
  void PassAfter(Duration time) {
    rig.clock.Advance(time);
    watch.Watch([this] {
      rig.last_report = rig.executor().BlockOn(rig.engine().Pass(rig.clock.Now()));
      rig.executor().RunUntilIdle();
    });
  }

  LoopWatch watch;
  provision::EngineRig rig;

 private:
  template <class T>
  static T Value(Result<T> result) {
    CHECK(result.ok());
    return *std::move(result);
  }

  model::NodeClaim Launched(const model::NodePool& pool, int i) {
    model::NodeClaim claim;
    claim.metadata.name = "default-" + std::to_string(i);
    claim.metadata.labels[model::kNodePoolLabel] = "default";
    claim.metadata.labels["test.coppice.dev/fakenodeclass"] = provision::EngineRig::kClass;
    claim.metadata.annotations[model::karpenter::kHashAnnotation] = model::HashOf(pool);
    claim.metadata.annotations[model::karpenter::kHashVersionAnnotation] =
        model::kNodePoolHashVersion;
    claim.metadata.finalizers = {model::karpenter::kFinalizer};
    claim.spec.node_class_ref = pool.spec.template_.spec.node_class_ref;
    claim.spec.requirements = pool.spec.template_.spec.requirements;
    const cluster::ObjectName name{"karpenter.sh/v1", "nodeclaims", "", claim.metadata.name};
    claim =
        Value(wire::FromJson<model::NodeClaim>(Value(rig.objects.Put(name, wire::ToJson(claim)))));
    const auto machine = Value(rig.cloud.Create(claim, Deadline::Never()));
    CHECK(cloud::TakeOver(machine, claim).ok());
    claim.status.node_name = "node-" + std::to_string(i);
    const model::Time at{rig.clock.Now()};
    for (const char* type :
         {model::karpenter::kLaunched, model::karpenter::kRegistered,
          model::karpenter::kInitialized, model::karpenter::kConsolidatable, "Ready"})
      claim.status.conditions.push_back(
          {.type = type, .status = "True", .last_transition_time = at, .reason = type});
    Value(rig.objects.Put(name, wire::ToJson(claim)));
    return claim;
  }

  void AddMachine(const model::NodePool& pool, int i) {
    const model::NodeClaim claim = Launched(pool, i);
    model::Node node;
    node.metadata.name = claim.status.node_name;
    node.metadata.labels = claim.metadata.labels;
    node.metadata.labels[model::kHostnameLabel] = node.metadata.name;
    node.metadata.labels[model::kRegisteredLabel] = "true";
    node.metadata.labels[model::kInitializedLabel] = "true";
    node.metadata.finalizers = {model::karpenter::kFinalizer};
    node.spec.provider_id = claim.status.provider_id;
    node.status.capacity = claim.status.capacity;
    node.status.allocatable = claim.status.allocatable;
    node.status.conditions = {
        {.type = "Ready", .status = "True", .last_transition_time = model::Time{rig.clock.Now()}}};
    Value(rig.objects.Put({"v1", "nodes", "", node.metadata.name}, wire::ToJson(node)));
  }

  void AddBound(int node, int number, int64_t cpu_millis) {
    rig.AddPod("pod-" + std::to_string(node) + "-" + std::to_string(number), cpu_millis,
               [&](model::Pod& pod) {
                 pod.metadata.labels["app"] = "app-" + std::to_string(node % 50);
                 pod.spec.node_name = "node-" + std::to_string(node);
                 pod.status.phase = "Running";
                 pod.status.start_time = model::Time{rig.clock.Now()};
                 pod.status.conditions = {{.type = "PodScheduled", .status = "True"},
                                          {.type = "Ready", .status = "True"}};
               });
  }
};

}  // namespace coppice::bench
