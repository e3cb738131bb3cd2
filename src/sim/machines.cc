#include "sim/machines.h"

#include <algorithm>
#include <utility>

#include "cloud/template.h"
#include "model/node_claim.h"

namespace coppice::sim {

namespace {

constexpr Duration kLook = std::chrono::seconds(5);
constexpr char kNotReady[] = "node.kubernetes.io/not-ready";

void SetCondition(model::Node& node, bool ready, TimePoint now) {
  std::erase_if(node.status.conditions, [](const auto& c) { return c.type == "Ready"; });
  node.status.conditions.push_back({.type = "Ready",
                                    .status = ready ? "True" : "False",
                                    .last_transition_time = model::Time{now},
                                    .reason = ready ? "KubeletReady" : "KubeletNotReady"});
  std::erase_if(node.spec.taints, [](const auto& t) { return t.key == kNotReady; });
  if (!ready) {
    node.spec.taints.push_back(
        {.key = kNotReady, .effect = "NoSchedule", .time_added = model::Time{now}});
  }
}

bool IsForNodes(const cloud::Machine& machine) {
  return machine.tags.contains(cloud::kGroupTag) || machine.tags.contains(cloud::kPoolTag);
}

// On its way here or away; or spot, which its cloud may take back at any time, without anybody
// having asked for it.
bool IsRestless(const cloud::Machine& machine) {
  return machine.state == cloud::MachineState::kCreating ||
         machine.state == cloud::MachineState::kDeleting ||
         machine.capacity_type == cloud::kSpotCapacity;
}

}  // namespace

Machines::Machines(Cluster& cluster, WatchedCloud& cloud, MachineTimes times)
    : cluster_(cluster), cloud_(cloud), times_(times) {}

Status Machines::SetGroups(const std::vector<cloud::GroupConfig>& groups) {
  const auto flavors = TRY(cloud_.Flavors(Deadline::Never()));
  for (const cloud::GroupConfig& group : groups) {
    const auto flavor = std::ranges::find(flavors, group.flavor, &cloud::Flavor::name);
    if (flavor == flavors.end()) return NotFound("there is no flavor '" + group.flavor + "'");
    templates_[group.name] = TRY(cloud::MakeTemplate(group, *flavor, cloud_.GpuLabel()));
  }
  return Status::Ok();
}

void Machines::LookIn(Duration wait) {
  const TimePoint when = cluster_.Now() + wait;
  if (next_look_ && *next_look_ <= when) return;
  next_look_ = when;
  cluster_.agenda().At(when, [this, when] {
    if (next_look_ != when) return;  // an earlier one has been
    next_look_.reset();
    Look();
  });
}

void Machines::Note() {
  for (cloud::MachineChange& change : cloud_.TakeChanges()) {
    const auto before = known_.find(change.id);
    if (before != known_.end() && IsRestless(before->second)) --restless_;
    if (change.now) {
      if (IsRestless(*change.now)) ++restless_;
      known_.insert_or_assign(change.id, *std::move(change.now));
    } else if (before != known_.end()) {
      known_.erase(before);
    }
    changed_.insert(std::move(change.id));
  }
}

bool Machines::IsAlive(const cloud::ProviderId& id) const {
  const auto machine = known_.find(id);
  return machine != known_.end() && machine->second.state != cloud::MachineState::kDeleting;
}

void Machines::Joins(const cloud::Machine& machine) {
  if (machine.state != cloud::MachineState::kRunning || nodes_.contains(machine.id) ||
      !IsForNodes(machine) || !joining_.insert(machine.id).second) {
    return;
  }
  const std::optional<Duration> wait =
      joins_after ? joins_after(machine) : std::optional<Duration>(times_.joins_after);
  if (!wait) return;
  cluster_.agenda().In(*wait, [this, machine] {
    Note();
    const auto now = known_.find(machine.id);
    // Deleted before it could say hello.
    if (now == known_.end() || now->second.state != cloud::MachineState::kRunning) return;
    const Status joined = Join(machine, false, cluster_.Now());
    CHECK(joined.ok());
    const std::optional<Duration> ready =
        ready_after ? ready_after(machine) : std::optional<Duration>(times_.ready_after);
    if (ready) cluster_.agenda().In(*ready, [this, machine] { SetReady(machine.name, true); });
  });
}

void Machines::Leaves(const cloud::ProviderId& id) {
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) {
    joining_.erase(id);
    return;
  }
  if (!leaving_.insert(id).second) return;
  SetReady(node->second, false);
  cluster_.agenda().In(times_.gone_after, [this, id, name = node->second] {
    nodes_.erase(id);
    leaving_.erase(id);
    joining_.erase(id);
    cluster_.DeleteNode(name);
  });
}

void Machines::Look() {
  Note();
  const std::set<cloud::ProviderId> changed = std::exchange(changed_, {});
  for (const cloud::ProviderId& id : changed) {
    if (IsAlive(id)) Joins(known_.at(id));
  }
  for (const cloud::ProviderId& id : changed) {
    if (!IsAlive(id)) Leaves(id);
  }
  if (restless_ > 0) LookIn(kLook);
}

Result<model::Node> Machines::TemplateOf(const cloud::Machine& machine) {
  if (const auto group = machine.tags.find(cloud::kGroupTag); group != machine.tags.end()) {
    const auto found = templates_.find(group->second);
    if (found == templates_.end()) return NotFound("machine " + machine.name + " is of no group");
    return found->second;
  }
  auto flavor = std::ranges::find(flavors_, machine.flavor, &cloud::Flavor::name);
  if (flavor == flavors_.end()) {
    flavors_ = TRY(cloud_.Flavors(Deadline::Never()));
    flavor = std::ranges::find(flavors_, machine.flavor, &cloud::Flavor::name);
  }
  if (flavor == flavors_.end()) return NotFound("there is no flavor '" + machine.flavor + "'");
  cloud::GroupConfig group;
  group.flavor = machine.flavor;
  group.zone = machine.zone;
  model::Node node = TRY(cloud::MakeTemplate(group, *flavor, cloud_.GpuLabel()));
  node.spec.taints.push_back({.key = model::karpenter::kUnregisteredTaint, .effect = "NoExecute"});
  return node;
}

Status Machines::Join(const cloud::Machine& machine, bool ready, TimePoint since) {
  // Made by the engine, whose class says that nobody else does.
  if (machine.tags.contains(cloud::kPoolTag) &&
      cluster_.objects().FindNode(machine.name) != nullptr) {
    nodes_[machine.id] = machine.name;
    return Status::Ok();
  }
  model::Node node = TRY(TemplateOf(machine));
  node.metadata.name = machine.name;
  node.metadata.uid.clear();
  node.metadata.creation_timestamp = model::Time{since};
  node.metadata.labels["kubernetes.io/hostname"] = machine.name;
  node.spec.provider_id = machine.id;
  SetCondition(node, ready, since);
  if (dress) dress(node);
  nodes_[machine.id] = machine.name;
  ++joined_;
  cluster_.UpsertNode(std::move(node));
  return Status::Ok();
}

Status Machines::JoinNow(const cloud::Machine& machine, TimePoint since) {
  joining_.insert(machine.id);
  Note();  // what was never told of cannot be told to be gone
  return Join(machine, true, since);
}

void Machines::SetReady(const std::string& name, bool ready) {
  const NodePtr found = cluster_.objects().FindNode(name);
  if (found == nullptr || IsReady(*found) == ready) return;
  if (ready && leaving_.contains(found->spec.provider_id)) return;
  model::Node node = *found;
  SetCondition(node, ready, cluster_.Now());
  cluster_.UpsertNode(std::move(node));
  if (ready) return;
  // The taint manager: pods tolerate five minutes of it.
  cluster_.agenda().In(times_.moves_after, [this, name, since = cluster_.Now()] {
    const NodePtr still = cluster_.objects().FindNode(name);
    if (still == nullptr || IsReady(*still)) return;
    const auto ready_condition =
        std::ranges::find(still->status.conditions, "Ready", &model::NodeCondition::type);
    if (ready_condition->last_transition_time->at != since) return;
    std::vector<PodPtr> pods;
    for (const auto* entry : cluster_.objects().BoundTo(name)) pods.push_back(entry->pod);
    for (const PodPtr& pod : pods) {
      const model::OwnerReference* owner = model::ControllerOf(pod->metadata);
      if (owner != nullptr && owner->kind == "DaemonSet") continue;
      cluster_.EndPod(pod->metadata.namespace_, pod->metadata.name, 30);
    }
  });
}

}  // namespace coppice::sim
