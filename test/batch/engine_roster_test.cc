// A roster that is kept says what one made from scratch says, whatever happens to the cluster.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "batch/ended_pod.h"
#include "batch/session.h"
#include "test/batch/batch_cluster.h"

namespace coppice {
namespace {

constexpr std::string_view kEverything = R"(actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
)";

class RosterWorld {
 public:
  explicit RosterWorld(uint64_t seed) : rng_(seed) {
    other_.Follow(world_);
    kept_ = std::make_unique<batch::Roster>(world_, std::vector<std::string>{"volcano"});
    fresh_ = std::make_unique<batch::Roster>(other_, std::vector<std::string>{"volcano"});
    for (const char* name : {"default", "a", "b"}) {
      auto queue = std::make_shared<model::Queue>();
      queue->metadata.name = name;
      queue->spec.weight = 1;
      queue->status.state = "Open";
      world_.Upsert<model::Queue>(queue);
    }
  }

  void Step() {
    switch (rng_.Below(8)) {
      case 0:
        return PutNode();
      case 1:
        if (rng_.Chance(0.3)) world_.DeleteNode(NodeName());
        return;
      case 2:
      case 3:
        return PutGroup();
      case 4:
        return EndPod();
      case 5:
        if (rng_.Chance(0.5)) world_.DeletePod("ns", AnyPod());
        return;
      default:
        return PutPod();
    }
  }

  // What both say; what the session binds happens.
  void Compare(int step) {
    fresh_->ForgetAll();
    kept_->Refresh(nullptr);
    fresh_->Refresh(nullptr);
    ASSERT_EQ(Text(*kept_), Text(*fresh_)) << "step " << step;
    const batch::Outcome kept = Run(world_, *kept_, step);
    const batch::Outcome fresh = Run(other_, *fresh_, step);
    EXPECT_EQ(Text(kept), Text(fresh)) << "step " << step;
    for (const batch::Outcome::Bind& bind : kept.binds) {
      auto pod = std::make_shared<model::Pod>(*world_.FindPod(bind.pod.namespace_, bind.pod.name));
      pod->spec.node_name = bind.node;
      if (rng_.Chance(0.7)) pod->status.phase = "Running";
      world_.UpsertPod(pod);
    }
    for (const batch::Outcome::Eviction& eviction : kept.evictions)
      world_.DeletePod(eviction.pod.namespace_, eviction.pod.name);
    for (const batch::Outcome::GroupStatus& status : kept.groups) {
      if (!status.changed) continue;
      auto group = std::make_shared<model::PodGroup>(
          *world_.objects<model::PodGroup>().Find(status.namespace_, status.name));
      group->status = status.status;
      world_.Upsert<model::PodGroup>(group);
    }
  }

 private:
  std::string NodeName() { return "node-" + std::to_string(rng_.Below(6)); }
  std::string GroupName() { return "group-" + std::to_string(rng_.Below(8)); }
  std::string AnyPod() { return GroupName() + "-w-" + std::to_string(rng_.Below(6)); }
  void PutNode() {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = NodeName();
    node->metadata.labels["kubernetes.io/hostname"] = node->metadata.name;
    node->status.allocatable["cpu"] = model::Quantity::FromUnits(2 + int64_t(rng_.Below(6)));
    node->status.allocatable["memory"] = model::Quantity::FromUnits(int64_t{64} << 30);
    node->status.allocatable["pods"] = model::Quantity::FromUnits(20);
    world_.UpsertNode(node);
  }
  void PutGroup() {
    auto group = std::make_shared<model::PodGroup>();
    group->metadata.namespace_ = "ns";
    group->metadata.name = GroupName();
    const auto* before = world_.objects<model::PodGroup>().Find("ns", group->metadata.name);
    if (before != nullptr) *group = *before;
    if (rng_.Chance(0.1)) return world_.Erase<model::PodGroup>("ns", group->metadata.name);
    group->spec.min_member = static_cast<int32_t>(rng_.Below(5));
    // A queue that does not exist now and then.
    const char* const queues[] = {"a", "b", "a", "b", "nobody"};
    group->spec.queue = queues[rng_.Below(5)];
    if (group->status.phase.empty()) group->status.phase = "Pending";
    world_.Upsert<model::PodGroup>(group);
  }
  void PutPod() {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = AnyPod();
    const cluster::PodPtr before = world_.FindPod("ns", pod->metadata.name);
    if (before != nullptr) {
      *pod = *before;
      pod->metadata.labels["version"] = std::to_string(++version_);
      if (!pod->spec.node_name.empty()) pod->status.phase = "Running";
      if (rng_.Chance(0.1)) pod->metadata.deletion_timestamp = model::Time{};
      return world_.UpsertPod(pod);
    }
    pod->metadata.namespace_ = "ns";
    pod->metadata.uid = "uid-" + std::to_string(++version_) + pod->metadata.name;
    const std::string group = pod->metadata.name.substr(0, pod->metadata.name.find("-w-"));
    if (rng_.Chance(0.9)) pod->metadata.annotations["scheduling.k8s.io/group-name"] = group;
    pod->metadata.annotations["volcano.sh/task-spec"] = "w";
    pod->spec.scheduler_name = rng_.Chance(0.9) ? "volcano" : "other";
    pod->spec.priority = static_cast<int32_t>(rng_.Below(3));
    model::Container container{.name = "c", .image = "img"};
    if (rng_.Chance(0.9))
      container.resources.requests["cpu"] = model::Quantity::FromUnits(1 + int64_t(rng_.Below(2)));
    pod->spec.containers.push_back(std::move(container));
    pod->status.phase = "Pending";
    world_.UpsertPod(pod);
  }
  void EndPod() {
    const std::string name = AnyPod();
    const cluster::PodPtr pod = world_.FindPod("ns", name);
    if (pod == nullptr || pod->spec.node_name.empty()) {
      world_.Erase<batch::EndedPod>("ns", name);
      return;
    }
    auto ended = std::make_shared<batch::EndedPod>();
    static_cast<model::Pod&>(*ended) = *pod;
    ended->status.phase = rng_.Chance(0.5) ? "Succeeded" : "Failed";
    world_.DeletePod("ns", name);
    world_.Upsert<batch::EndedPod>(ended);
  }

  static std::string Text(const batch::Roster& roster) {
    std::string text;
    for (const batch::NodeInfo* node : roster.nodes()) {
      text += fmt::format("{}: idle {} {} used {} releasing {} unbound {} scoring {} {}, {} tasks:",
                          node->name, node->idle.cpu, node->idle.Get(batch::kPodsScalar),
                          node->used.cpu, node->releasing.cpu, node->unbound_idle.cpu,
                          node->scoring.cpu_millis, node->scoring.memory_bytes, node->tasks.size());
      for (const batch::Task* task : node->SortedTasks()) text += " " + std::string(task->name);
      text += "\n";
    }
    for (const auto& [id, job] : roster.jobs()) {
      text += fmt::format("{}: {} allocated {} ready {}:", id, job->min_available,
                          job->allocated.cpu, job->counts.Ready());
      for (const batch::Task* task : job->tasks)
        text += fmt::format(" {}={}@{}", task->name, ToString(task->status), task->node_name);
      text += "\n";
    }
    return text;
  }

  batch::Outcome Run(cluster::World& world, batch::Roster& roster, int step) {
    roster.Refresh(nullptr);
    batch::SessionInput input;
    input.uid = "session-" + std::to_string(step);
    input.now = TimePoint(std::chrono::hours(step));
    for (const batch::NodeInfo* node : roster.nodes())
      input.nodes.push_back({.object = node->object, .index = node->snapshot_index});
    world.objects<model::Queue>().ForEach(
        [&](const auto& queue) { input.queues.push_back(*queue); });
    auto session = batch::Session::Open(conf_, {}, test::TheBatchPlugins().batch,
                                        test::TheBatchPlugins().filters, world.snapshot(),
                                        std::move(input), roster);
    CHECK(session.ok());
    (*session)->Run();
    return (*session)->Close();
  }
  static std::string Text(const batch::Outcome& outcome) {
    std::string text;
    for (const auto& bind : outcome.binds) text += bind.pod.key() + " -> " + bind.node + "\n";
    for (const auto& eviction : outcome.evictions)
      text += "- " + eviction.pod.key() + " " + eviction.reason + "\n";
    for (const auto& group : outcome.groups) {
      text += group.name + " " + group.status.phase + " " + std::to_string(group.status.running) +
              "/" + std::to_string(group.status.succeeded) + "/" +
              std::to_string(group.status.failed) + (group.changed ? " changed" : "");
      for (const auto& condition : group.status.conditions)
        text += " " + condition.type + "=" + condition.status + " " + condition.message;
      text += "\n";
    }
    for (const auto& queue : outcome.queues) {
      text += queue.queue;
      for (const auto& [name, amount] : queue.allocated) text += " " + name + amount.ToString();
      text += "\n";
    }
    for (const auto& condition : outcome.conditions)
      text += condition.pod.key() + " " + condition.reason + " " + condition.message + "\n";
    return text;
  }

  SeededRng rng_;
  cluster::World world_;
  cluster::World other_;
  std::unique_ptr<batch::Roster> kept_;
  std::unique_ptr<batch::Roster> fresh_;
  const batch::Conf conf_ = batch::ParseConf(kEverything).value();
  int version_ = 0;
};

TEST(BatchRoster, KeptOrMadeAnewItSaysTheSame) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    RosterWorld world(seed);
    for (int step = 0; step < 120 && !testing::Test::HasFailure(); ++step) {
      world.Step();
      world.Step();
      world.Compare(step);
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace coppice
