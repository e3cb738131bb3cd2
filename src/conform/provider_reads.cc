// What exists: groups, sizes, machines, and whose a node is.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "conform/provider_probe.h"

namespace coppice::conform {
namespace {

constexpr size_t kMachinesAsked = 50;  // of each group, so that a thousand do not take minutes

std::vector<std::string> IdsOf(const std::vector<pb::NodeGroup>& groups) {
  std::vector<std::string> ids;
  for (const pb::NodeGroup& group : groups) ids.push_back(group.id());
  return ids;
}

Outcome NoGroups() { return NotApplicable("no group is listed"); }

// Each listed machine of each group with the group that NodeGroupForNode answers.
Outcome ForListedMachines(ProviderProbe& probe,
                          const std::function<std::optional<std::string>(
                              const pb::NodeGroup& group, const std::string& id,
                              const Result<pb::NodeGroup>& answer)>& judge) {
  size_t asked = 0;
  for (const pb::NodeGroup& group : probe.groups) {
    const auto& machines = probe.instances[group.id()];
    for (size_t i = 0; i < machines.size() && i < kMachinesAsked; ++i) {
      if (machines[i].id().empty()) continue;
      ++asked;
      if (auto wrong = judge(group, machines[i].id(), probe.GroupOf(machines[i].id()))) {
        return Failed(*wrong);
      }
    }
  }
  return asked == 0 ? NotApplicable("no machine is listed") : Passed();
}

}  // namespace

Outcome GroupsBeforeRefresh(ProviderProbe& probe) {
  const auto groups = probe.ListGroups();
  if (!groups.ok()) {
    return Failed(groups.status().ToString() +
                  "; Cluster Autoscaler asks for the groups and their machines before its first "
                  "Refresh");
  }
  return Passed(fmt::format("{} groups", groups->size()));
}

Outcome RefreshTwice(ProviderProbe& probe) {
  for (const char* time : {"first", "second"}) {
    if (const Status refreshed = probe.Refresh(); !refreshed.ok()) {
      return Failed(fmt::format("the {} Refresh: {}; a pass in which that happens scales nothing",
                                time, refreshed.ToString()));
    }
  }
  probe.refreshes = true;
  return Passed();
}

Outcome GroupIds(ProviderProbe& probe) {
  const auto groups = probe.ListGroups();
  if (!groups.ok()) return NotApplicable("NodeGroups fails: " + groups.status().ToString());
  std::set<std::string> seen;
  Outcome outcome = groups->empty() ? NoGroups() : Passed();
  for (const pb::NodeGroup& group : *groups) {
    if (group.id().empty()) {
      outcome = Failed("a group has no id; an empty id means 'no group'");
    } else if (!seen.insert(group.id()).second) {
      outcome = Failed("two groups have the id '" + group.id() + "'");
    } else {
      probe.groups.push_back(group);
    }
  }
  return outcome;
}

Outcome GroupLimits(ProviderProbe& probe) {
  for (const pb::NodeGroup& group : probe.groups) {
    if (group.minsize() < 0 || group.minsize() > group.maxsize()) {
      return Failed(fmt::format("group '{}' has minSize {} and maxSize {}", group.id(),
                                group.minsize(), group.maxsize()));
    }
  }
  return probe.groups.empty() ? NoGroups() : Passed();
}

Outcome GroupsStable(ProviderProbe& probe) {
  const auto first = probe.ListGroups();
  if (!first.ok() || first->empty()) return NoGroups();
  for (int round = 0; round < 4; ++round) {
    if (probe.refreshes && round % 2 == 1) (void)probe.Refresh();
    const auto again = probe.ListGroups();
    if (!again.ok()) return Failed("NodeGroups fails now and then: " + again.status().ToString());
    if (IdsOf(*again) != IdsOf(*first)) {
      return Failed(
          "the list of groups is another one from call to call; back-offs and ties go by id and "
          "order");
    }
  }
  return Passed();
}

Outcome TargetSizes(ProviderProbe& probe) {
  if (probe.groups.empty()) return NoGroups();
  Outcome outcome = Passed();
  for (const pb::NodeGroup& group : probe.groups) {
    const auto target = probe.TargetSize(group.id());
    if (!target.ok()) {
      outcome = Failed("group '" + group.id() + "': " + target.status().ToString());
    } else if (*target < 0) {
      outcome = Failed(fmt::format("group '{}' has the target {}", group.id(), *target));
    } else {
      probe.targets[group.id()] = *target;
    }
  }
  return outcome;
}

Outcome MachineIds(ProviderProbe& probe) {
  if (probe.groups.empty()) return NoGroups();
  std::map<std::string, std::string> owner;
  Outcome outcome = Passed();
  size_t count = 0;
  for (const pb::NodeGroup& group : probe.groups) {
    const auto machines = probe.Instances(group.id());
    if (!machines.ok()) {
      outcome = Failed("NodeGroupNodes of '" + group.id() + "': " + machines.status().ToString());
      continue;
    }
    for (const pb::Instance& machine : *machines) {
      ++count;
      if (machine.id().empty()) {
        outcome = Failed("a machine of '" + group.id() +
                         "' has no id; the id has to equal its node's spec.providerID");
        continue;
      }
      const auto [other, fresh] = owner.emplace(machine.id(), group.id());
      if (!fresh) {
        outcome = Failed(fmt::format("machine '{}' is listed in '{}' and again in '{}'",
                                     machine.id(), other->second, group.id()));
        continue;
      }
      probe.instances[group.id()].push_back(machine);
    }
  }
  if (outcome.verdict == Verdict::kPassed) outcome.reason = fmt::format("{} machines", count);
  return outcome;
}

Outcome MachineStates(ProviderProbe& probe) {
  size_t count = 0;
  for (const auto& [group, machines] : probe.instances) {
    for (const pb::Instance& machine : machines) {
      ++count;
      const auto state = machine.status().instancestate();
      if (state < pb::InstanceStatus::instanceRunning ||
          state > pb::InstanceStatus::instanceDeleting) {
        return Failed(
            fmt::format("machine '{}' of '{}' has state {}; then its error is not read "
                        "either",
                        machine.id(), group, static_cast<int>(state)));
      }
      if (!machine.status().errorinfo().errorcode().empty() &&
          state != pb::InstanceStatus::instanceCreating) {
        return Failed(
            fmt::format("machine '{}' of '{}' has the error '{}' and is not creating: "
                        "only errors of creating machines back a group off",
                        machine.id(), group, machine.status().errorinfo().errorcode()));
      }
    }
  }
  return count == 0 ? NotApplicable("no machine is listed") : Passed();
}

Outcome TargetCountsMachines(ProviderProbe& probe) {
  size_t looked = 0;
  for (const auto& [group, target] : probe.targets) {
    const auto there = std::ranges::count_if(probe.instances[group], [](const pb::Instance& one) {
      return !Going(one) && one.status().errorinfo().errorcode().empty() &&
             one.status().instancestate() != pb::InstanceStatus::unspecified;
    });
    looked += static_cast<size_t>(there);
    if (target < there) {
      return Failed(
          fmt::format("group '{}' lists {} machines that are not going and has the "
                      "target {}",
                      group, there, target));
    }
  }
  return looked == 0 ? NotApplicable("no machine is listed") : Passed();
}

Outcome GroupOfMachine(ProviderProbe& probe) {
  return ForListedMachines(probe,
                           [](const pb::NodeGroup& group, const std::string& id,
                              const Result<pb::NodeGroup>& answer) -> std::optional<std::string> {
                             if (!answer.ok())
                               return "machine '" + id + "': " + answer.status().ToString();
                             if (answer->id() == group.id()) return std::nullopt;
                             return fmt::format(
                                 "machine '{}' is listed in '{}' and is said to be in '{}'", id,
                                 group.id(), answer->id());
                           });
}

Outcome GroupOfMachineAsListed(ProviderProbe& probe) {
  return ForListedMachines(
      probe,
      [](const pb::NodeGroup& group, const std::string& id,
         const Result<pb::NodeGroup>& answer) -> std::optional<std::string> {
        if (!answer.ok() || answer->id() != group.id()) return std::nullopt;  // group-of-machine
        if (answer->minsize() == group.minsize() && answer->maxsize() == group.maxsize()) {
          return std::nullopt;
        }
        return fmt::format("of machine '{}' the group '{}' has {} to {}, in the list {} to {}", id,
                           group.id(), answer->minsize(), answer->maxsize(), group.minsize(),
                           group.maxsize());
      });
}

Outcome GroupOfStranger(ProviderProbe& probe) {
  for (const char* id :
       {kStranger, "", "aws:///eu-west-1a/i-0123456789abcdef0", "kind://docker/kind/worker"}) {
    pb::NodeGroupForNodeRequest request;
    request.mutable_node()->set_providerid(id);
    request.mutable_node()->set_name("control-plane-1");
    (*request.mutable_node()->mutable_labels())["node-role.kubernetes.io/control-plane"] = "";
    const auto answer = probe.calls.Ask<pb::NodeGroupForNodeResponse>("NodeGroupForNode", request);
    if (!answer.ok()) {
      return Failed(
          fmt::format("provider id '{}': {}; one such error keeps the autoscaler from "
                      "scaling in that loop",
                      id, answer.status().ToString()));
    }
    if (!answer->nodegroup().id().empty()) {
      return Failed(
          fmt::format("provider id '{}' is said to be in '{}'", id, answer->nodegroup().id()));
    }
  }
  return Passed();
}

Outcome UnknownGroup(ProviderProbe& probe) {
  if (probe.TargetSize(kNoGroup).ok()) {
    return Failed("NodeGroupTargetSize answers a group that does not exist");
  }
  if (probe.Instances(kNoGroup).ok()) {
    return Failed("NodeGroupNodes answers a group that does not exist");
  }
  pb::NodeGroupTemplateNodeInfoRequest request;
  request.set_id(kNoGroup);
  if (probe.calls.Ask<pb::NodeGroupTemplateNodeInfoResponse>("NodeGroupTemplateNodeInfo", request)
          .ok()) {
    return Failed("NodeGroupTemplateNodeInfo answers a group that does not exist");
  }
  return Passed();
}

}  // namespace coppice::conform
