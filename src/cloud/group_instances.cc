#include "cloud/group_instances.h"

namespace coppice::cloud {

namespace {

Instance AsInstance(const MachineRecord& record) {
  Instance instance{.id = record.machine.id};
  if (record.leaving()) {
    instance.state = InstanceState::kDeleting;
  } else if (record.IsCreateError()) {
    instance.state = InstanceState::kCreating;
    instance.error = record.machine.error.value_or(
        MachineError{ErrorClass::kOther, "CREATE_FAILED", "the machine ended in failure"});
    // Upstream reads an empty code as no error at all.
    if (instance.error->code.empty()) instance.error->code = "CREATE_FAILED";
  } else if (record.machine.state == MachineState::kCreating) {
    instance.state = InstanceState::kCreating;
  } else {
    // Stopped, or failed after it ran: it is there and it bills. Whether its node is any good, the
    // autoscaler sees better than we do.
    instance.state = InstanceState::kRunning;
  }
  return instance;
}

}  // namespace

std::vector<Instance> InstancesOf(const Book& book, std::string_view group) {
  std::vector<Instance> all;
  all.reserve(book.machines.size() + book.orders.size());
  for (const auto& [id, record] : book.machines) all.push_back(AsInstance(record));
  for (const auto& [name, order] : book.orders) {
    all.push_back({.id = PlaceholderId(group, name),
                   .state = order.doomed ? InstanceState::kDeleting : InstanceState::kCreating,
                   .error = order.doomed ? std::nullopt : order.error});
  }
  return all;
}

std::string PlaceholderId(std::string_view group, std::string_view name) {
  std::string id(kPlaceholderScheme);
  id += group;
  id += '/';
  id += name;
  return id;
}

std::optional<Placeholder> ParsePlaceholder(std::string_view id) {
  if (!id.starts_with(kPlaceholderScheme)) return std::nullopt;
  id.remove_prefix(kPlaceholderScheme.size());
  const size_t slash = id.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == id.size()) return std::nullopt;
  const Placeholder parsed{id.substr(0, slash), id.substr(slash + 1)};
  if (parsed.name.find('/') != std::string_view::npos) return std::nullopt;
  return parsed;
}

}  // namespace coppice::cloud
