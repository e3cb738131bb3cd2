#include "autoscale/group_states.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "autoscale/taints.h"
#include "base/strings.h"
#include "cluster/canonical.h"
#include "cluster/id_table.h"

namespace coppice::autoscale {

namespace {

bool IsSuspended(const model::Node& node) {
  for (const auto& condition : node.status.conditions) {
    if (condition.type == "Suspended") return condition.status == "True";
  }
  return false;
}

// A machine that is going, or that will never come, is not expected to register.
bool ExpectedToRegister(const cloud::Instance& instance) {
  return instance.state != cloud::InstanceState::kDeleting && !instance.error;
}

std::shared_ptr<const std::vector<cloud::Instance>> Share(std::vector<cloud::Instance> instances) {
  return std::make_shared<const std::vector<cloud::Instance>>(std::move(instances));
}

// Beyond what any cluster holds, so that sums of targets stay numbers whatever a provider says.
constexpr int kLargestTarget = 1'000'000;

TimePoint CreatedAt(const model::Node& node) {
  return node.metadata.creation_timestamp ? node.metadata.creation_timestamp->at : TimePoint();
}

// The distinct messages of a batch of failures, as the event and the status map show them.
std::string JoinMessages(const std::vector<std::string>& messages) {
  constexpr size_t kEllipsisAbove =
      3;  // upstream prints all of them and then, above three, dots as well
  std::string text = Join(messages, ", ");
  if (messages.size() > kEllipsisAbove) text += ", ...";
  return text;
}

}  // namespace

GroupStates::GroupStates(const GroupStateOptions& options, const Deviations& deviations,
                         cloud::NodeGroups& groups, OptionsOf options_of, HasTemplate has_template)
    : options_(options),
      deviations_(deviations),
      groups_(groups),
      options_of_(std::move(options_of)),
      has_template_(std::move(has_template)),
      backoff_(options.initial_node_group_backoff_duration, options.max_node_group_backoff_duration,
               options.node_group_backoff_reset_timeout) {}

Result<StateFindings> GroupStates::Update(const std::vector<ListedNode>& nodes, TimePoint now) {
  std::vector<std::string> ids;
  std::map<std::string, int> targets;
  for (const auto& group : groups_.Groups()) {
    const int target =
        TRY(groups_.TargetSize(group.id).Context("target size of group " + group.id));
    targets[group.id] = std::clamp(target, 0, kLargestTarget);
    ids.push_back(group.id);
  }
  // A growing group's machines change from pass to pass: look again.
  for (const std::string& id : ids) {
    if (deviations_.fresh_instances || GroupScalingUp(id)) InvalidateInstances(id);
  }
  std::map<std::string, Instances, std::less<>> instances;
  for (const std::string& id : ids) {
    auto cached = instances_cache_.find(id);
    if (cached == instances_cache_.end()) {
      auto fresh = TRY(groups_.Instances(id).Context("instances of group " + id));
      cached = instances_cache_.emplace(id, Share(std::move(fresh))).first;
    }
    instances[id] = cached->second;
  }

  group_ids_ = std::move(ids);
  node_count_ = nodes.size();
  last_update_ = now;
  previous_instances_ = std::move(instances_);
  instances_ = std::move(instances);

  FindUnregistered(nodes, now);
  Classify(nodes, now);

  StateFindings findings;
  UpdateRanges(targets);
  UpdateRequests(now, findings);
  FindFailedCreations(now, findings);
  UpdateRanges(targets);
  UpdateWrongSizes(now);
  return findings;
}

bool GroupStates::MachineExists(const model::Node& node) const {
  const auto exists = groups_.HasInstance({node.spec.provider_id, node.metadata.name});
  if (exists.ok()) return *exists;
  return !HasToBeDeletedTaint(
      node);  // the provider cannot say: what we mean to delete counts as gone
}

void GroupStates::FindUnregistered(const std::vector<ListedNode>& nodes, TimePoint now) {
  cluster::IdTable registered;  // by provider id, to places in `nodes`
  const auto is_registered = [&](const std::string& id) {
    return registered.Find(cluster::HashBytes(id), [&](uint32_t i) {
      return nodes[i].node->spec.provider_id == id;
    }) != cluster::IdTable::kAbsent;
  };
  for (uint32_t i = 0; i < nodes.size(); ++i)
    registered.Insert(cluster::HashBytes(nodes[i].node->spec.provider_id), i);

  std::map<std::string, TimePoint> seen_before;
  for (const auto& [group, machines] : unregistered_) {
    for (const auto& machine : machines) seen_before.emplace(machine.id, machine.since);
  }
  unregistered_.clear();
  for (const std::string& id : group_ids_) {
    for (const auto& instance : *instances_[id]) {
      if (!ExpectedToRegister(instance) || is_registered(instance.id)) continue;
      // Upstream asks the provider again whose machine this is; a machine that has left its group
      // is nobody's.
      const auto owner = groups_.GroupOf({instance.id, instance.id});
      if (!owner.ok() || !owner->has_value()) continue;
      const auto before = seen_before.find(instance.id);
      unregistered_[**owner].push_back(
          {instance.id, before == seen_before.end() ? now : before->second});
    }
  }
}

void GroupStates::Classify(const std::vector<ListedNode>& nodes, TimePoint now) {
  const uint64_t version = groups_.Version();
  const bool same_machines = version != 0 && version == asked_version_;
  asked_version_ = version;
  struct OfGroup {
    ReadinessClasses* classes;
    Duration startup_time;
  };
  std::unordered_map<std::string_view, OfGroup> groups;
  const auto find_group = [&](const std::string& group) -> const OfGroup& {
    const auto known = groups.find(group);
    if (known != groups.end()) return known->second;
    const OfGroup of{&classes_[group], options_of_(group).max_node_startup_time};
    return groups.emplace(group, of).first->second;
  };
  classes_.clear();
  total_ = {};
  next_unready_ = TimePoint::max();
  facts_.Begin(nodes.size());
  // Upstream's quirk, kept: the start-up time of the last grouped node is also used for ungrouped
  // ones.
  Duration startup_time = std::chrono::minutes(15);
  for (const ListedNode& of : nodes) {
    const model::Node& node = *of.node;
    bool asked = false;
    NodeFacts& facts = facts_.Next(of.node, [&] {
      asked = true;
      return NodeFacts{ReadinessOf(node), IsSuspended(node), CreatedAt(node), MachineExists(node)};
    });
    if (!same_machines && !asked) facts.machine_exists = MachineExists(node);
    const OfGroup* group = of.group.empty() ? nullptr : &find_group(of.group);
    if (group != nullptr) startup_time = group->startup_time;
    const std::string_view name = node.metadata.name;
    const auto add = [&](ReadinessClasses& to) {
      to.registered.push_back(name);
      if (!facts.machine_exists) {
        to.deleted.push_back(name);
      } else if (facts.suspended) {
        to.suspended.push_back(name);
      } else if (facts.readiness.ready) {
        to.ready.push_back(name);
      } else if (facts.created + startup_time > now) {
        to.not_started.push_back(name);
      } else {
        to.unready.push_back(name);
        if (facts.readiness.reason == kResourceNotReady) to.resource_unready.push_back(name);
      }
    };
    if (group != nullptr) add(*group->classes);
    add(total_);
    if (!total_.not_started.empty() && total_.not_started.back().data() == name.data())
      next_unready_ = std::min(next_unready_, facts.created + startup_time);
  }
  for (const auto& [group, machines] : unregistered_) {
    const Duration provision_time = options_of_(group).max_node_provision_time;
    ReadinessClasses& of_group = classes_[group];
    for (const auto& machine : machines) {
      const bool too_long = machine.since + provision_time < now;
      (too_long ? of_group.long_unregistered : of_group.unregistered).push_back(machine.id);
      (too_long ? total_.long_unregistered : total_.unregistered).push_back(machine.id);
    }
  }
}

void GroupStates::UpdateRanges(const std::map<std::string, int>& targets) {
  ranges_.clear();
  for (const std::string& id : group_ids_) {
    const auto target = targets.find(id);
    const int size = target == targets.end() ? 0 : target->second;
    ranges_[id] = {size - static_cast<int>(of(id).long_unregistered.size()), size, size};
  }
  for (const auto& [group, request] : requests_) ranges_[group].min_nodes -= request.increase;
  for (const auto& request : scale_down_requests_) ranges_[request.group].max_nodes += 1;
}

void GroupStates::RecalculateRanges() {
  std::map<std::string, int> targets;
  for (const auto& group : groups_.Groups()) {
    const auto target = groups_.TargetSize(group.id);
    if (!target.ok()) {  // upstream then goes on with no targets at all
      targets.clear();
      break;
    }
    targets[group.id] = std::clamp(*target, 0, kLargestTarget);
  }
  UpdateRanges(targets);
}

void GroupStates::UpdateRequests(TimePoint now, StateFindings& findings) {
  backoff_.ForgetStale(now);
  for (auto it = requests_.begin(); it != requests_.end();) {
    const auto& [group, request] = *it;
    if (UpcomingIn(group).value_or(0) <= 0) {
      it = requests_.erase(it);  // every node came
    } else if (request.deadline < now) {
      findings.timed_out.push_back({group, request.increase, now - request.time});
      it = requests_.erase(it);
    } else {
      ++it;
    }
  }
  std::erase_if(scale_down_requests_, [now](const auto& r) { return r.expected_gone <= now; });
}

void GroupStates::FindFailedCreations(TimePoint now, StateFindings& findings) {
  for (const std::string& id : group_ids_) {
    std::set<std::string_view> known;
    const auto previous = previous_instances_.find(id);
    static const std::vector<cloud::Instance> kNone;
    for (const auto& instance : previous == previous_instances_.end() ? kNone : *previous->second) {
      if (FailedToCreate(instance)) known.insert(instance.id);
    }
    // By class and code, in the order in which they are met.
    struct Batch {
      cloud::ErrorClass error_class;
      std::string code;
      std::vector<std::string> messages;
      int unseen = 0;
    };
    std::vector<Batch> batches;
    for (const auto& instance : *instances_[id]) {
      if (!FailedToCreate(instance)) continue;
      const cloud::MachineError& error = *instance.error;
      auto batch = std::ranges::find_if(batches, [&](const Batch& b) {
        return b.error_class == error.error_class && b.code == error.code;
      });
      if (batch == batches.end()) {
        batch = batches.insert(batches.end(), Batch{error.error_class, error.code, {}});
      }
      if (std::ranges::find(batch->messages, error.message) == batch->messages.end()) {
        batch->messages.push_back(error.message);
      }
      if (!known.contains(instance.id)) ++batch->unseen;
    }
    for (const Batch& batch : batches) {
      if (batch.unseen == 0 || !GroupScalingUp(id)) continue;
      RegisterScaleUp(id, -batch.unseen, now);
      findings.failed_creations.push_back(
          {id, batch.unseen, {batch.error_class, batch.code, JoinMessages(batch.messages)}});
    }
  }
}

void GroupStates::UpdateWrongSizes(TimePoint now) {
  std::map<std::string, WrongSize, std::less<>> found;
  for (const std::string& id : group_ids_) {
    const auto classes = classes_.find(id);
    if (classes == classes_.end()) continue;
    const int registered = static_cast<int>(classes->second.registered.size());
    const int unregistered = static_cast<int>(classes->second.unregistered.size() +
                                              classes->second.long_unregistered.size());
    const int target = ranges_[id].target;
    if (registered <= target && registered >= target - unregistered) continue;
    WrongSize wrong{target, registered, now};
    const auto before = wrong_sizes_.find(id);
    if (before != wrong_sizes_.end() && before->second.expected == wrong.expected &&
        before->second.current == wrong.current) {
      wrong = before->second;
    }
    found[id] = wrong;
  }
  wrong_sizes_ = std::move(found);
}

void GroupStates::RegisterScaleUp(std::string_view group, int delta, TimePoint now) {
  const TimePoint deadline = now + options_of_(group).max_node_provision_time;
  const auto it = requests_.find(group);
  if (it == requests_.end()) {
    if (delta > 0) requests_.emplace(std::string(group), ScaleUpRequest{delta, now, deadline});
    return;
  }
  if (it->second.increase + delta <= 0) {
    requests_.erase(it);
    return;
  }
  it->second.increase += delta;
  if (delta > 0) {
    it->second.time = now;
    it->second.deadline = deadline;
  }
}

void GroupStates::RegisterScaleDown(std::string_view group, TimePoint expected_gone) {
  scale_down_requests_.push_back({std::string(group), expected_gone});
}

void GroupStates::RegisterFailure(std::string_view group, cloud::MachineError why, TimePoint now) {
  if (has_template_(group)) backoff_.Failed(group, std::move(why), now);
}

void GroupStates::RefreshInstances() {
  instances_cache_.clear();
  for (const auto& group : groups_.Groups()) {
    auto instances = groups_.Instances(group.id);
    // A failure counts as no machines, as upstream has it; but before the first pass the cloud has
    // not been asked yet.
    if (!instances.ok() && group_ids_.empty()) continue;
    instances_cache_[group.id] =
        Share(instances.ok() ? std::move(*instances) : std::vector<cloud::Instance>());
  }
}

}  // namespace coppice::autoscale
