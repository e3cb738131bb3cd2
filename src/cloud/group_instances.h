// How the machines and orders of one group are listed by the node group contract.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/ledger.h"
#include "cloud/node_groups.h"

namespace coppice::cloud {

// Machines by id, then orders by placeholder id.
std::vector<Instance> InstancesOf(const Book& book, std::string_view group);

// Under which an order is listed before it has an id: "coppice-order://GROUP/NAME". Made from the
// name alone, so that it means the same after a restart.
inline constexpr std::string_view kPlaceholderScheme = "coppice-order://";
std::string PlaceholderId(std::string_view group, std::string_view name);

struct Placeholder {
  std::string_view group;
  std::string_view name;
};
std::optional<Placeholder> ParsePlaceholder(std::string_view id);  // views into `id`

}  // namespace coppice::cloud
