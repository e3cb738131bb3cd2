// Is what we say true? Random clusters, random pods; every near miss that is reported is applied,
// and then the pod must get its node.

#include <gmock/gmock.h>

#include <algorithm>

#include "app/main.h"
#include "autoscale/pod_changes.h"
#include "base/rng.h"
#include "report/explain.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/whatif.h"

namespace coppice::autoscale {
namespace {

using report::Change;
using report::ChangeKind;
using whatif::DumpGroups;
using whatif::WhatIfPlan;

model::Node TemplateNode(const std::string& name, int64_t cpu_millis, int64_t mebi) {
  model::Node node;
  node.metadata.name = name;
  for (auto* list : {&node.status.allocatable, &node.status.capacity}) {
    (*list)["cpu"] = model::Quantity::FromMillis(cpu_millis);
    (*list)["memory"] = model::Quantity::FromUnits(mebi << 20, model::Quantity::Format::kBinarySI);
    (*list)["pods"] = model::Quantity::FromUnits(10);
  }
  node.status.conditions = {{.type = "Ready", .status = "True"}};
  return node;
}

model::Pod PendingPod(const std::string& name, int64_t cpu_millis, int64_t mebi) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = name;
  pod.metadata.creation_timestamp = model::Time{TimePoint(std::chrono::hours(490'000))};
  model::Container container;
  container.name = "main";
  container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
  container.resources.requests["memory"] =
      model::Quantity::FromUnits(mebi << 20, model::Quantity::Format::kBinarySI);
  pod.spec.containers.push_back(std::move(container));
  pod.status.phase = "Pending";
  pod.status.conditions = {{.type = "PodScheduled", .status = "False", .reason = "Unschedulable"}};
  return pod;
}

struct MissCase {
  FlagValues flags;
  std::vector<DumpGroups::Group> groups;
  std::vector<model::Node> nodes;
  std::vector<model::Pod> running;
  std::vector<model::Pod> pending;
};

WhatIfPlan PlanFor(const MissCase& c) {
  whatif::WhatIf what_if{.flags = c.flags};
  for (const auto& node : c.nodes)
    what_if.cluster.nodes.push_back(std::make_shared<const model::Node>(node));
  for (const auto* list : {&c.running, &c.pending}) {
    for (const auto& pod : *list)
      what_if.cluster.pods.push_back(std::make_shared<const model::Pod>(pod));
  }
  what_if.groups.groups = c.groups;
  what_if.now = TimePoint(std::chrono::hours(490'001));
  what_if.horizon = std::chrono::minutes(1);
  return MUST(whatif::RunWhatIf(std::move(what_if), test::ThePlugins(), Log::Null()));
}

bool GetsANode(const WhatIfPlan& plan, const std::string& pod) {
  const auto is = [&](const report::PodPtr& each) { return each->metadata.name == pod; };
  return std::ranges::any_of(plan.steps, [&](const whatif::WhatIfStep& step) {
    return std::ranges::any_of(step.report->scale_up.triggered, is);
  });
}

void Apply(const Change& change, const std::string& group, model::Pod& pod, MissCase& c) {
  const auto of = std::ranges::find(c.groups, group, &DumpGroups::Group::name);
  switch (change.kind) {
    case ChangeKind::kRaiseMaxSize:
      of->max = static_cast<int>(change.amount);
      return;
    case ChangeKind::kRaiseNodesTotal:
      c.flags.options.max_nodes_total = static_cast<int>(change.amount);
      return;
    case ChangeKind::kRaiseLimit:
      (change.subject == "cpu" ? c.flags.options.cores_total : c.flags.options.memory_total).max +=
          change.amount;
      return;
    default:
      EXPECT_TRUE(autoscale::Apply(change, pod)) << change.text;
  }
}

template <size_t N>
std::string OneOf(Rng& rng, const char* const (&values)[N]) {
  return values[rng.Below(N)];
}

MissCase RandomCase(uint64_t seed) {
  SeededRng rng(seed);
  MissCase c;
  const size_t groups = 1 + rng.Below(4);
  for (size_t g = 0; g < groups; ++g) {
    const std::string name = "group-" + std::to_string(g);
    model::Node node = TemplateNode(name, static_cast<int64_t>(1000 * (1 + rng.Below(8))),
                                    static_cast<int64_t>(1024 * (1 + rng.Below(16))));
    node.metadata.labels["topology.kubernetes.io/zone"] = OneOf(rng, {"a", "b", "c"});
    if (rng.Chance(0.5)) node.metadata.labels["disk"] = OneOf(rng, {"ssd", "hdd"});
    if (rng.Chance(0.4))
      node.spec.taints.push_back({"dedicated", OneOf(rng, {"ml", "db"}), "NoSchedule", {}});
    if (rng.Chance(0.2)) node.spec.taints.push_back({"spot", "", "NoExecute", {}});
    DumpGroups::Group group{.name = name, .max = 5};
    group.node_template = std::make_shared<const model::Node>(node);
    if (rng.Chance(0.3)) {  // at its maximum, and what it has is full
      const size_t count = 1 + rng.Below(2);
      for (size_t i = 0; i < count; ++i) {
        model::Node real = node;
        real.metadata.name = name + "-" + std::to_string(i);
        real.metadata.labels["kubernetes.io/hostname"] = real.metadata.name;
        real.spec.provider_id = "test://" + real.metadata.name;
        model::Pod filler = PendingPod("fills-" + real.metadata.name, 0, 0);
        filler.spec.containers[0].resources.requests = node.status.allocatable;
        filler.spec.containers[0].resources.requests.erase("pods");
        filler.spec.node_name = real.metadata.name;
        filler.status = {};
        filler.status.phase = "Running";
        c.running.push_back(std::move(filler));
        group.machines.push_back(real.spec.provider_id);
        c.nodes.push_back(std::move(real));
      }
      group.target = group.max = static_cast<int>(count);
    }
    c.groups.push_back(std::move(group));
  }
  if (rng.Chance(0.1)) c.flags.options.max_nodes_total = static_cast<int>(c.nodes.size());
  if (c.flags.options.max_nodes_total == 0 && rng.Chance(0.1)) c.flags.options.cores_total.max = 2;
  for (size_t p = 0; p < 3; ++p) {
    model::Pod pod =
        PendingPod("pod-" + std::to_string(p), static_cast<int64_t>(100 * (1 + rng.Below(120))),
                   static_cast<int64_t>(128 * (1 + rng.Below(160))));
    if (rng.Chance(0.4))
      pod.spec.node_selector["topology.kubernetes.io/zone"] = OneOf(rng, {"a", "b", "c"});
    if (rng.Chance(0.2)) pod.spec.node_selector["disk"] = OneOf(rng, {"ssd", "nvme"});
    if (rng.Chance(0.2)) {
      model::NodeSelectorTerm zone{.match_expressions = {{.key = "topology.kubernetes.io/zone",
                                                          .operator_ = OneOf(rng, {"In", "NotIn"}),
                                                          .values = {OneOf(rng, {"a", "b"})}}}};
      model::NodeSelectorTerm disk{
          .match_expressions = {
              {.key = "disk", .operator_ = OneOf(rng, {"Exists", "DoesNotExist"})}}};
      pod.spec.affinity.emplace();
      pod.spec.affinity->node_affinity.emplace();
      pod.spec.affinity->node_affinity->required.emplace();
      auto& terms = pod.spec.affinity->node_affinity->required->node_selector_terms;
      terms.push_back(zone);
      if (rng.Chance(0.5)) terms.push_back(disk);
    }
    if (rng.Chance(0.2))
      pod.spec.tolerations.push_back({.key = "dedicated", .operator_ = "Exists"});
    if (rng.Chance(0.15)) {
      pod.spec.containers[0].resources.requests["nvidia.com/gpu"] = model::Quantity::FromUnits(1);
      pod.spec.containers[0].resources.limits["nvidia.com/gpu"] = model::Quantity::FromUnits(1);
    }
    if (rng.Chance(0.2)) {  // what it asks for while it starts may be more
      model::Container init = pod.spec.containers[0];
      init.name = "init";
      init.resources.requests["cpu"] =
          model::Quantity::FromMillis(static_cast<int64_t>(100 * (1 + rng.Below(120))));
      pod.spec.init_containers.push_back(std::move(init));
    }
    c.pending.push_back(std::move(pod));
  }
  return c;
}

// The case with this group alone and this pod alone.
MissCase Only(const MissCase& c, const std::string& group, const model::Pod& pod) {
  MissCase only = c;
  std::erase_if(only.groups, [&](const auto& each) { return each.name != group; });
  only.pending = {pod};
  return only;
}

TEST(NearMissTest, EveryNearMissIsTrue) {
  int tried = 0;
  int lowered = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const MissCase c = RandomCase(seed);
    const WhatIfPlan plan = PlanFor(c);
    ASSERT_NE(plan.last, nullptr);
    for (const auto* list : {&plan.last->scale_up.unhelped, &plan.last->scale_up.unserved}) {
      for (const report::Unhelped& unhelped : *list) {
        for (const report::NearMiss& miss : unhelped.misses) {
          // Of a plan in several steps the last pass speaks: nodes that were bought count.
          if (!plan.steps.empty()) continue;
          model::Pod pod = *unhelped.pods.front();
          MissCase changed = Only(c, miss.group, pod);
          for (const Change& change : miss.changes) Apply(change, miss.group, pod, changed);
          changed.pending = {pod};
          EXPECT_TRUE(GetsANode(PlanFor(changed), pod.metadata.name))
              << "seed " << seed << ", pod " << pod.metadata.name << ": " << report::Sentence(miss);
          ++tried;
          if (miss.changes.size() != 1 || miss.changes[0].kind != ChangeKind::kLowerRequest)
            continue;
          Change less = miss.changes[0];
          if (--less.amount == 0) continue;
          model::Pod almost = *unhelped.pods.front();
          MissCase still = Only(c, miss.group, almost);
          Apply(less, miss.group, almost, still);
          still.pending = {almost};
          EXPECT_FALSE(GetsANode(PlanFor(still), almost.metadata.name))
              << "seed " << seed << ": less would do than " << report::Sentence(miss);
          ++lowered;
        }
      }
    }
  }
  EXPECT_GT(tried, 200);
  EXPECT_GT(lowered, 20);
}

MissCase OneGroup(model::Node node, model::Pod pod) {
  MissCase c;
  DumpGroups::Group group{.name = "pool", .max = 3};
  group.node_template = std::make_shared<const model::Node>(std::move(node));
  c.groups.push_back(std::move(group));
  c.pending.push_back(std::move(pod));
  return c;
}

std::string NearestOf(const MissCase& c) {
  const WhatIfPlan plan = PlanFor(c);
  const report::ScaleUp& up = plan.last->scale_up;
  if (up.unhelped.empty() || up.unhelped[0].misses.empty()) return "";
  return report::Sentence(up.unhelped[0].misses[0]);
}

TEST(NearMissTest, ARequestThatIsTooLargeIsSaidToTheThousandth) {
  EXPECT_EQ(NearestOf(OneGroup(TemplateNode("n", 4000, 8192), PendingPod("p", 4500, 1024))),
            "group pool would take it if its request of cpu were 500m smaller");
}

TEST(NearMissTest, ATaintIsNamedAsKubectlWritesIt) {
  model::Node node = TemplateNode("n", 4000, 8192);
  node.spec.taints.push_back({"dedicated", "ml", "NoSchedule", {}});
  EXPECT_EQ(NearestOf(OneGroup(node, PendingPod("p", 500, 1024))),
            "group pool would take it if it tolerated dedicated=ml:NoSchedule");
}

TEST(NearMissTest, AnotherZoneWouldDo) {
  model::Node node = TemplateNode("n", 4000, 8192);
  node.metadata.labels["topology.kubernetes.io/zone"] = "b";
  model::Pod pod = PendingPod("p", 500, 1024);
  pod.spec.node_selector["topology.kubernetes.io/zone"] = "a";
  EXPECT_EQ(NearestOf(OneGroup(node, pod)),
            "group pool would take it if topology.kubernetes.io/zone=b were allowed");
}

TEST(NearMissTest, TwoThingsAreTwoChanges) {
  model::Node node = TemplateNode("n", 4000, 8192);
  node.spec.taints.push_back({"spot", "", "NoSchedule", {}});
  EXPECT_EQ(NearestOf(OneGroup(node, PendingPod("p", 500, 10'240))),
            "group pool would take it if it tolerated spot:NoSchedule and its request of memory "
            "were 2Gi smaller");
}

TEST(NearMissTest, AFullGroupIsNearerThanOneThatIsTooSmall) {
  MissCase c = OneGroup(TemplateNode("n", 1000, 8192), PendingPod("p", 2000, 1024));
  DumpGroups::Group full{.name = "full", .max = 0};
  full.node_template = std::make_shared<const model::Node>(TemplateNode("f", 4000, 8192));
  c.groups.push_back(std::move(full));
  EXPECT_EQ(NearestOf(c), "group full would take it if its max size were 1");
}

TEST(NearMissTest, SpreadAndAntiAffinityAreNamedByTheirTopology) {
  model::Node node = TemplateNode("n", 4000, 8192);
  node.metadata.labels["topology.kubernetes.io/zone"] = "a";
  MissCase c = OneGroup(node, PendingPod("p", 500, 1024));
  model::Node there = TemplateNode("there", 1000, 1024);
  there.metadata.labels["topology.kubernetes.io/zone"] = "a";
  there.spec.provider_id = "test://there";
  c.nodes.push_back(there);
  model::Pod other = PendingPod("other", 100, 100);
  other.metadata.labels["app"] = "x";
  other.spec.node_name = "there";
  other.status = {};
  other.status.phase = "Running";
  c.running.push_back(other);
  model::Pod& pod = c.pending[0];
  pod.metadata.labels["app"] = "x";
  pod.spec.affinity.emplace();
  pod.spec.affinity->pod_anti_affinity.emplace();
  pod.spec.affinity->pod_anti_affinity->required.push_back(
      {.label_selector = model::LabelSelector{.match_labels = {{"app", "x"}}},
       .topology_key = "topology.kubernetes.io/zone"});
  EXPECT_EQ(NearestOf(c),
            "group pool would take it if it could bear the pods of its anti-affinity in the same "
            "topology.kubernetes.io/zone");
}

}  // namespace
}  // namespace coppice::autoscale
