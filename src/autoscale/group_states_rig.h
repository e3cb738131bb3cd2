// GroupStatesRig: one group "g", machines and nodes of it, and the books about them.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/group_states.h"
#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/must.h"

namespace coppice::autoscale {

class GroupStatesRig : public testing::Test {
 protected:
  GroupStatesRig() { groups.Add({.info = {.id = "g", .min_size = 0, .max_size = 10}}); }

  void SetTarget(int target) {
    groups.Change("g", [&](auto& group) { group.target = target; });
  }
  void AddMachine(const std::string& id, cloud::InstanceState is = cloud::InstanceState::kRunning,
                  std::optional<cloud::MachineError> error = {}) {
    groups.Change("g", [&](auto& group) { group.instances.push_back({id, is, error}); });
  }
  void AddNode(const std::string& id, bool ready, Duration age = std::chrono::hours(1)) {
    model::Node node;
    node.metadata.name = id;
    node.metadata.creation_timestamp = model::Time{now - age};
    node.spec.provider_id = id;
    node.status.conditions = {{.type = "Ready",
                               .status = ready ? "True" : "False",
                               .last_transition_time = model::Time{now - age}}};
    nodes.push_back({std::make_shared<const model::Node>(std::move(node)), "g"});
  }
  // A machine and its node.
  void AddBoth(const std::string& id, bool ready, Duration age = std::chrono::hours(1)) {
    AddMachine(id);
    AddNode(id, ready, age);
  }
  StateFindings Update(Duration later = {}) {
    now += later;
    return MUST(state.Update(nodes, now));
  }
  int Upcoming() const {
    int count = 0;
    for (const auto& upcoming : state.UpcomingNodes(now)) count += upcoming.count;
    return count;
  }

  TimePoint now = FakeClock().Now();
  Options options;
  cloud::FakeNodeGroups groups;
  std::vector<ListedNode> nodes;
  GroupStates state{options, options.deviations, groups,
                    [this](std::string_view) { return options.group_defaults; },
                    [](std::string_view) { return true; }};
};

}  // namespace coppice::autoscale
