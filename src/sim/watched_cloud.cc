#include "sim/watched_cloud.h"

#include <algorithm>
#include <functional>

namespace coppice::sim {

std::vector<cloud::Machine> WatchedCloud::Truth() const {
  auto all = behind_->List({}, Deadline::Never());
  CHECK(all.ok());
  for (cloud::Machine& machine : *all) Mark(machine);
  return *std::move(all);
}

std::vector<cloud::MachineChange> WatchedCloud::TakeChanges() {
  std::vector<cloud::MachineChange> changes;
  if (changes_ != nullptr) {
    changes = changes_->TakeChanges();
    for (cloud::MachineChange& change : changes) {
      if (change.now) Mark(*change.now);
    }
    TellEnded(changes);
    return changes;
  }
  std::map<cloud::ProviderId, cloud::Machine> now;
  for (cloud::Machine& machine : Truth()) now.emplace(machine.id, std::move(machine));
  for (const auto& [id, machine] : told_) {
    if (!now.contains(id)) changes.push_back({id, std::nullopt});
  }
  for (const auto& [id, machine] : now) {
    const auto told = told_.find(id);
    if (told == told_.end() || told->second != machine) changes.push_back({id, machine});
  }
  std::ranges::sort(changes, std::less<>(), &cloud::MachineChange::id);
  told_ = std::move(now);
  TellEnded(changes);
  return changes;
}

void WatchedCloud::TellEnded(const std::vector<cloud::MachineChange>& changes) const {
  if (!hooks.ended) return;
  for (const cloud::MachineChange& change : changes) {
    if (!change.now || change.now->state == cloud::MachineState::kDeleting) hooks.ended(change.id);
  }
}

// A machine that is not to come up fails when it would have been up.
void WatchedCloud::Mark(cloud::Machine& machine) const {
  if (!failed_.contains(machine.id) || machine.state != cloud::MachineState::kRunning) return;
  machine.state = cloud::MachineState::kFailed;
  machine.error =
      cloud::MachineError{cloud::ErrorClass::kOther, "BOOT_FAILED", "the machine did not come up"};
}

Result<cloud::Machine> WatchedCloud::Plant(const cloud::MachineSpec& spec) {
  cloud::Machine machine = TRY(behind_->Create(spec, Deadline::Never()));
  if (hooks.changed) hooks.changed();
  return machine;
}

void WatchedCloud::Vanish(const cloud::ProviderId& id) {
  const Status gone = behind_->Delete(id, Deadline::Never());
  CHECK(gone.ok() || gone.code() == Code::kNotFound);
  failed_.erase(id);
  if (hooks.changed) hooks.changed();
}

Result<std::vector<cloud::Machine>> WatchedCloud::List(const cloud::Tags& tags, Deadline deadline) {
  if (hooks.before_list) TRY(hooks.before_list());
  auto machines = TRY(behind_->List(tags, deadline));
  for (cloud::Machine& machine : machines) Mark(machine);
  return machines;
}

Result<cloud::Machine> WatchedCloud::Create(const cloud::MachineSpec& spec, Deadline deadline) {
  if (hooks.before_create) TRY(hooks.before_create(spec));
  const cloud::Machine machine = TRY(behind_->Create(spec, deadline));
  if (hooks.fails_to_boot && hooks.fails_to_boot(spec)) failed_[machine.id] = true;
  if (hooks.created) hooks.created(machine);
  if (hooks.changed) hooks.changed();
  if (hooks.after_create) TRY(hooks.after_create(spec));
  return machine;
}

Status WatchedCloud::Delete(const cloud::ProviderId& id, Deadline deadline) {
  if (hooks.before_delete) TRY(hooks.before_delete(id));
  const Status status = behind_->Delete(id, deadline);
  if (!status.ok()) return status;
  if (hooks.deleted) hooks.deleted(id);
  failed_.erase(id);
  if (hooks.changed) hooks.changed();
  return Status::Ok();
}

Result<std::vector<cloud::Flavor>> WatchedCloud::Flavors(Deadline deadline) {
  return behind_->Flavors(deadline);
}

}  // namespace coppice::sim
