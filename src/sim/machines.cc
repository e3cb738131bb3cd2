#include "sim/machines.h"

#include <algorithm>

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

bool Joins(const cloud::Machine& machine) {
  return machine.tags.contains(cloud::kGroupTag) || machine.tags.contains(cloud::kPoolTag);
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

void Machines::Look() {
  std::set<cloud::ProviderId> alive;
  bool on_its_way = false;
  for (const cloud::Machine& machine : cloud_.Truth()) {
    if (machine.state == cloud::MachineState::kDeleting) {
      on_its_way = true;
      continue;
    }
    alive.insert(machine.id);
    if (machine.state == cloud::MachineState::kCreating) on_its_way = true;
    // It may be taken back by its cloud at any time, without anybody having asked for it.
    on_its_way = on_its_way || machine.capacity_type == cloud::kSpotCapacity;
    if (machine.state != cloud::MachineState::kRunning || nodes_.contains(machine.id) ||
        !Joins(machine) || !joining_.insert(machine.id).second) {
      continue;
    }
    const std::optional<Duration> wait =
        joins_after ? joins_after(machine) : std::optional<Duration>(times_.joins_after);
    if (!wait) continue;
    cluster_.agenda().In(*wait, [this, machine] {
      // Deleted before it could say hello.
      const auto all = cloud_.Truth();
      const auto it = std::ranges::find(all, machine.id, &cloud::Machine::id);
      if (it == all.end() || it->state != cloud::MachineState::kRunning) return;
      const Status joined = Join(machine, false, cluster_.Now());
      CHECK(joined.ok());
      const std::optional<Duration> ready =
          ready_after ? ready_after(machine) : std::optional<Duration>(times_.ready_after);
      if (ready) cluster_.agenda().In(*ready, [this, machine] { SetReady(machine.name, true); });
    });
  }
  for (const auto& [id, node] : nodes_) {
    if (alive.contains(id) || !leaving_.insert(id).second) continue;
    SetReady(node, false);
    cluster_.agenda().In(times_.gone_after, [this, gone = id, name = node] {
      nodes_.erase(gone);
      leaving_.erase(gone);
      joining_.erase(gone);
      cluster_.DeleteNode(name);
    });
  }
  std::erase_if(joining_,
                [&](const auto& id) { return !alive.contains(id) && !nodes_.contains(id); });
  if (on_its_way) LookIn(kLook);
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
