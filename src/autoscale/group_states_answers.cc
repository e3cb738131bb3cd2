// What the books of the orders say, and when they may say something else.

#include <algorithm>

#include "autoscale/group_states.h"

namespace coppice::autoscale {

namespace {

// A cloud tells nobody that a machine failed to come up: it has to be asked.
constexpr Duration kAskAboutMachines = std::chrono::seconds(10);
constexpr int kMostUpcoming = 10'000;

}  // namespace

bool GroupStates::FailedToCreate(const cloud::Instance& instance) {
  return instance.state == cloud::InstanceState::kCreating && instance.error.has_value();
}

bool GroupStates::ClusterHealthy() const {
  const auto unready = static_cast<double>(total_.unready.size());
  return unready <= options_.ok_total_unready_count ||
         unready <=
             options_.max_total_unready_percentage / 100.0 * static_cast<double>(node_count_);
}

bool GroupStates::GroupHealthy(std::string_view group) const {
  const auto range = ranges_.find(group);
  if (range == ranges_.end()) return false;
  const auto classes = classes_.find(group);
  if (classes == classes_.end()) {
    return range->second.target == 0 || (range->second.min_nodes == 0 && range->second.target > 0);
  }
  const ReadinessClasses& c = classes->second;
  const int missing = std::max(0, range->second.min_nodes - static_cast<int>(c.ready.size()) -
                                      static_cast<int>(c.suspended.size()));
  const auto there = static_cast<double>(c.ready.size() + c.unready.size() + c.not_started.size() +
                                         c.suspended.size());
  return missing <= options_.ok_total_unready_count ||
         missing <= options_.max_total_unready_percentage / 100.0 * there;
}

std::optional<int> GroupStates::UpcomingIn(std::string_view group) const {
  const auto range = ranges_.find(group);
  if (range == ranges_.end()) return std::nullopt;
  const ReadinessClasses& c = of(group);
  return range->second.target - static_cast<int>(c.ready.size() + c.unready.size() +
                                                 c.suspended.size() + c.long_unregistered.size());
}

bool GroupStates::GroupScalingUp(std::string_view group) const {
  return UpcomingIn(group).value_or(0) > 0 && requests_.contains(group);
}

std::optional<cloud::MachineError> GroupStates::BackedOff(std::string_view group,
                                                          TimePoint now) const {
  if (!has_template_(group)) return std::nullopt;
  return backoff_.Active(group, now);
}

std::vector<GroupStates::Upcoming> GroupStates::UpcomingNodes(TimePoint now) const {
  std::vector<Upcoming> all;
  for (const std::string& id : group_ids_) {
    int count = UpcomingIn(id).value_or(0);
    if (!requests_.contains(id) || BackedOff(id, now)) {
      if (!deviations_.count_machines_on_their_way) continue;
      // Not the whole gap to the target: nobody waits for the rest, or it has failed.
      count =
          std::min(count, static_cast<int>(of(id).unregistered.size() + of(id).not_started.size()));
    }
    // Each becomes a node of the model. What we ordered ourselves counts in full, or it would be
    // ordered again; of a target that is somebody's mistake, no more than can be carried.
    const auto request = requests_.find(id);
    const int ordered = request == requests_.end() ? 0 : request->second.increase;
    count = std::min(count, std::max(ordered, kMostUpcoming));
    const auto& replaced = of(id).not_started;
    if (count > 0) all.push_back({id, count, {replaced.begin(), replaced.end()}});
  }
  return all;
}

std::vector<UnregisteredMachine> GroupStates::LongUnregistered(std::string_view group,
                                                               TimePoint now) const {
  std::vector<UnregisteredMachine> found;
  const auto machines = unregistered_.find(group);
  if (machines == unregistered_.end()) return found;
  const Duration provision_time = options_of_(group).max_node_provision_time;
  for (const auto& machine : machines->second) {
    if (machine.since + provision_time < now) found.push_back(machine);
  }
  return found;
}

std::vector<cloud::Instance> GroupStates::FailedInstances(std::string_view group) const {
  std::vector<cloud::Instance> failed;
  const auto instances = instances_.find(group);
  if (instances == instances_.end()) return failed;
  std::ranges::copy_if(*instances->second, std::back_inserter(failed), FailedToCreate);
  return failed;
}

std::optional<WrongSize> GroupStates::WrongSizeOf(std::string_view group) const {
  const auto it = wrong_sizes_.find(group);
  if (it == wrong_sizes_.end()) return std::nullopt;
  return it->second;
}

void GroupStates::NoteDue(Wakeups& wake) const {
  for (const auto& [group, request] : requests_) {
    wake.After(request.deadline, "an order has taken as long as it may");
    wake.In(kAskAboutMachines, "machines are on their way");
  }
  for (const auto& [group, machines] : unregistered_) {
    const Duration provision_time = options_of_(group).max_node_provision_time;
    for (const auto& machine : machines)
      wake.After(machine.since + provision_time, "a machine has not become a node");
  }
  wake.At(next_unready_, "a young node is not ready");
  for (const auto& [group, wrong] : wrong_sizes_) {
    if (wrong.current < wrong.expected)
      wake.After(wrong.first_observed + options_of_(group).max_node_provision_time,
                 "a group has fewer nodes than its target");
  }
}

void GroupStates::NoteBackoffs(Wakeups& wake) const {
  for (const auto& [group, entry] : backoff_.entries())
    wake.After(entry.until, "the back-off of a group ends");
}

const ReadinessClasses& GroupStates::of(std::string_view group) const {
  static const ReadinessClasses kNone;
  const auto it = classes_.find(group);
  return it == classes_.end() ? kNone : it->second;
}

AcceptableRange GroupStates::range(std::string_view group) const {
  const auto it = ranges_.find(group);
  return it == ranges_.end() ? AcceptableRange{} : it->second;
}

}  // namespace coppice::autoscale
