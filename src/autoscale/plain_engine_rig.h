// A whole engine without any plug-in, one pass at a time: one filter (is there room?), an expander
// that leaves the choice open, groups that answer as they are told. The one that the product
// assembles is in test/support/engine_rig.h.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/engine.h"
#include "autoscale/flags.h"
#include "base/fake_clock.h"
#include "base/metrics.h"
#include "cloud/fake_node_groups.h"
#include "fit/fake_filters.h"
#include "test/support/agreeing_writer.h"
#include "test/support/must.h"

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

// Enough of everything that the pod asks for.
inline fit::Chain RoomFilter() {
  fit::FilterRegistry registry("filter");
  fit::AddFake<fit::FakeStateFilter>(
      registry, "Room", [](const cluster::PodView& pod, const cluster::Snapshot& snapshot) {
        return fit::Preparation::Ask(std::make_unique<fit::FakeNodeCheck>(
            [spec = pod.spec_id, &snapshot](cluster::NodeIndex node) {
              const cluster::ResourceColumns& columns = snapshot.resources();
              for (const auto& [resource, amount] : columns.asked(spec).of) {
                if (amount > columns.free(resource)[node])
                  return model::Verdict::No("Room", model::VerdictCode::kUnschedulable, "no room");
              }
              return model::Verdict::Yes();
            }));
      });
  return MUST(fit::Chain::Create(registry, {.chain = {{.name = "Room"}}}));
}

// Keeps all options; one that blocks is asked on a worker.
class OpenExpander final : public expand::Expander {
 public:
  OpenExpander(bool blocks, int& asked) : blocks_(blocks), asked_(asked) {}
  expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
    ++asked_;
    return options;
  }
  bool Blocks() const override { return blocks_; }

 private:
  bool blocks_;
  int& asked_;
};

class PlainEngineRig : public testing::Test {
 protected:
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

  // Again: another engine, as after a restart. What the one before it had under way ends with it.
  void Assemble(const std::vector<std::string>& args, Workers& workers, cluster::Writer& writer) {
    std::destroy_at(&executor_);  // its tasks work on the engine: they go first
    std::construct_at(&executor_, clock_);
    engine_.reset();
    options_ = MUST(ParseFlags(args)).options;
    expand::ExpanderRegistry registry("expander");
    for (const bool blocks : {false, true}) {
      registry.Add(blocks ? "asks" : "least-waste", [this, blocks](const expand::ExpanderContext&) {
        return Result<std::unique_ptr<expand::Expander>>(
            std::make_unique<OpenExpander>(blocks, expander_asked_));
      });
    }
    expanders_.emplace(MUST(expand::Chain::Create(options_.expander, registry,
                                                  {clock_, rng_, log_, metrics_, &groups_})));
    cloud_.emplace(groups_, workers, executor_);
    engine_ = std::make_unique<Engine>(Engine::Parts{.options = options_,
                                                     .world = world_,
                                                     .groups = groups_,
                                                     .cloud = *cloud_,
                                                     .writer = writer,
                                                     .executor = executor_,
                                                     .rng = rng_,
                                                     .filters = filters_,
                                                     .expanders = *expanders_,
                                                     .log = log_,
                                                     .view_age = view_age_,
                                                     .oldest_kind = [] { return "Pod"; },
                                                     .first_of_tie = true,
                                                     .processors = &processors_,
                                                     .wake = wake_});
  }
  std::shared_ptr<const report::PassReport> Pass() {
    return executor_.BlockOn(engine_->Pass(clock_.Now()));
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
    Assemble(args, inline_, writer);
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
  Processors processors_;
  const fit::Chain filters_ = RoomFilter();
  int expander_asked_ = 0;
  std::function<void()> wake_;          // of the engines that are assembled from then on
  std::function<Duration()> view_age_;  // to be set before Assemble
  Options options_;
  std::optional<expand::Chain> expanders_;
  std::optional<CloudCalls> cloud_;
  std::unique_ptr<Engine> engine_;
  Executor executor_{clock_};
};

}  // namespace coppice::autoscale
