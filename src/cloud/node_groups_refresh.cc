// How CloudNodeGroups is told what there should be, and learns what there is.

#include <algorithm>

#include "base/strings.h"
#include "cloud/node_groups_core.h"
#include "cloud/template.h"

namespace coppice::cloud {

namespace {

// A list of everything takes seconds on a slow API; the client's deadline usually ends it sooner.
constexpr Duration kListTimeout = std::chrono::minutes(1);

std::string DebugLine(const GroupConfig& group) {
  return group.name + ": flavor " + group.flavor + ", zone " + group.zone + ", " +
         std::to_string(group.min_size) + " to " + std::to_string(group.max_size);
}

}  // namespace

Status CloudNodeGroups::Core::Configure(std::vector<GroupConfig> groups) {
  TRY(CheckGroups(groups, options_.cluster));
  const Lock lock(mutex_);
  for (const Configured& old : groups_) {
    const bool stays = std::ranges::any_of(
        groups, [&](const GroupConfig& group) { return group.name == old.config->name; });
    if (stays) continue;
    metrics_.Forget(old.config->name);
    // What the cloud has not heard of is given up with the group; what it has will be an orphan.
    Book& book = ledger_.At(old.config->name);
    std::vector<std::string> queued;
    for (const auto& [name, order] : book.orders) {
      if (order.state == OrderState::kQueued || order.state == OrderState::kFailed) {
        queued.push_back(name);
      }
    }
    for (const std::string& name : queued) Cancel(book, name);
  }
  groups_.clear();
  group_index_.clear();
  for (GroupConfig& config : groups) {
    Configured group{.cluster = options_.cluster};
    const auto own = config.tags.find(kClusterTag);
    if (own != config.tags.end()) group.cluster = own->second;
    group.info = {config.name, config.min_size, config.max_size, DebugLine(config)};
    group.config = std::make_shared<const GroupConfig>(std::move(config));
    MakeTemplate(group);
    group_index_[group.config->name] = groups_.size();
    groups_.push_back(std::move(group));
  }
  PublishAll();
  return Status::Ok();
}

void CloudNodeGroups::Core::MakeTemplate(Configured& group) const {
  const GroupConfig& config = *group.config;
  group.node_template = nullptr;
  group.price_per_hour = config.price_per_hour;
  if (flavors_ == nullptr) {
    group.template_status = Unavailable("group '" + config.name +
                                        "': the cloud has not told its flavors yet; refresh first");
    return;
  }
  const auto flavor = flavors_->find(config.flavor);
  if (flavor == flavors_->end()) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : *flavors_) names.push_back(name);
    const std::string nearest = Nearest(config.flavor, names);
    group.template_status = FailedPrecondition(
        "group '" + config.name + "': the cloud has no flavor '" + config.flavor + "'; " +
        (nearest.empty() ? "correct it in the configuration" : "did you mean '" + nearest + "'?"));
    return;
  }
  if (!group.price_per_hour) group.price_per_hour = flavor->second.price_per_hour;
  auto node = cloud::MakeTemplate(config, flavor->second, cloud_.GpuLabel());
  group.template_status = node.status();
  if (node.ok()) group.node_template = std::make_shared<const model::Node>(*std::move(node));
}

Status CloudNodeGroups::Core::Refresh(Deadline deadline) {
  Lock lock(mutex_);
  if (refreshing_) {
    const uint64_t mine = refreshes_;
    if (!clock_.WaitUntil(lock, refreshed_, deadline.at, [&] { return refreshes_ != mine; })) {
      return DeadlineExceeded("another refresh is under way and has not ended in time");
    }
    return refresh_status_;
  }
  refreshing_ = true;
  lock.unlock();
  const Status status = ListAndMerge(deadline);
  lock.lock();
  refreshing_ = false;
  ++refreshes_;
  refresh_status_ = status;
  refreshed_.notify_all();
  return status;
}

Status CloudNodeGroups::Core::ListAndMerge(Deadline deadline) {
  Tags tags;
  if (!options_.cluster.empty()) tags[kClusterTag] = options_.cluster;
  const TimePoint asked_at = clock_.Now();
  auto listed = cloud_.List(tags, deadline.Earlier(Deadline::In(clock_, kListTimeout)));
  if (!listed.ok()) return listed.status().Context("listing machines");
  ReadFlavors(deadline);

  Ledger::Merged merged;
  {
    const Lock lock(mutex_);
    merged = ledger_.Merge(*std::move(listed), asked_at, clock_.Now(),
                           [this](const Machine& machine) { return GroupOfMachine(machine); });
    listed_ = true;
    listed_at_ = asked_at;
    PublishAll();
    TellOrphans();
  }
  Tell(merged);
  const auto weak = weak_from_this();
  for (const Ledger::Where& order : merged.repeat) {
    fan_out_.Run([weak, order] {
      if (const auto self = weak.lock()) self->Send(order.first, order.second);
    });
  }
  for (const auto& [group, id] : merged.remove) StartRemoving(group, id);
  return Status::Ok();
}

// A failure leaves the flavors as they were: hardware on sale changes rarely, and a list that was
// read must not be thrown away for it.
void CloudNodeGroups::Core::ReadFlavors(Deadline deadline) {
  {
    const Lock lock(mutex_);
    if (flavors_ != nullptr && clock_.Now() < flavors_at_ + options_.flavor_ttl) return;
  }
  auto flavors = cloud_.Flavors(deadline.Earlier(Deadline::In(clock_, kListTimeout)));
  if (!flavors.ok()) {
    log_.Warning("flavors could not be read; templates stay as they are",
                 {{"error", flavors.status()}});
    return;
  }
  auto by_name = std::make_shared<std::map<std::string, Flavor>>();
  for (Flavor& flavor : *flavors) by_name->insert_or_assign(flavor.name, std::move(flavor));
  const Lock lock(mutex_);
  flavors_at_ = clock_.Now();
  if (flavors_ != nullptr && *flavors_ == *by_name) return;
  flavors_ = std::move(by_name);
  for (Configured& group : groups_) {
    const auto before = group.node_template;
    MakeTemplate(group);
    if (before != nullptr && group.node_template != nullptr && *before == *group.node_template) {
      group.node_template = before;
    }
  }
}

std::optional<std::string> CloudNodeGroups::Core::GroupOfMachine(const Machine& machine) const {
  const auto group = machine.tags.find(kGroupTag);
  if (group == machine.tags.end()) return std::nullopt;
  const auto index = group_index_.find(group->second);
  const std::string& cluster =
      index == group_index_.end() ? options_.cluster : groups_[index->second].cluster;
  const auto tag = machine.tags.find(kClusterTag);
  // Checked here although the list was filtered: a cloud that ignores a filter must not hand us
  // somebody else's machines.
  if ((tag == machine.tags.end() ? std::string_view() : std::string_view(tag->second)) != cluster) {
    return std::nullopt;
  }
  return group->second;
}

void CloudNodeGroups::Core::Tell(const Ledger::Merged& merged) const {
  for (const auto& [group, id] : merged.vanished) {
    log_.Info("a machine is gone without our doing", {{"group", group}, {"id", id}});
  }
  for (const auto& [group, id] : merged.undead) {
    log_.Warning("the cloud agreed to delete a machine and still lists it; it counts again",
                 {{"group", group}, {"id", id}});
  }
  for (const auto& [group, name] : merged.repeat) {
    log_.Info("no machine came of an order whose answer was lost; ordering it again",
              {{"group", group}, {"name", name}});
  }
}

// Once per machine, and again after it was in a group.
void CloudNodeGroups::Core::TellOrphans() {
  const auto snapshot_now = published_.Load();
  std::set<std::string> now;
  for (const Machine& machine : *snapshot_now->orphans) {
    now.insert(machine.id);
    if (told_orphans_.contains(machine.id)) continue;
    log_.Warning(
        "orphan: a machine carries this cluster's tags and a group that is not configured; "
        "configure the group or delete the machine",
        {{"id", machine.id}, {"name", machine.name}, {"group", machine.tags.at(kGroupTag)}});
  }
  told_orphans_ = std::move(now);
}

Status CloudNodeGroups::Core::Drain(Deadline deadline) {
  {
    const Lock lock(mutex_);
    draining_ = true;
    for (const Configured& group : groups_) {
      Book& book = ledger_.At(group.config->name);
      std::vector<std::string> queued;
      for (const auto& [name, order] : book.orders) {
        if (order.state == OrderState::kQueued) queued.push_back(name);
      }
      for (const std::string& name : queued) Cancel(book, name);
      Touch(group.config->name);
    }
    PublishTouched();
  }
  if (fan_out_.WaitIdle(clock_, deadline)) return Status::Ok();
  return DeadlineExceeded(
      std::to_string(fan_out_.running()) +
      " calls to the cloud are unanswered; their machines carry their tags and are "
      "found again after the next start");
}

}  // namespace coppice::cloud
