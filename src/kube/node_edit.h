// Changing a Node without losing what we do not know of it: the JSON that the server sent is
// edited in place and goes back whole.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/writer.h"

namespace coppice::kube {

// The changed object, or nothing if it is as wanted already. A taint that is there (key and effect)
// is kept with its value; taking taints away uncordons only if one of them was there, for then it
// was us who cordoned.
Result<std::optional<std::string>> EditNode(std::string_view node_json,
                                            const cluster::NodeChange& change);

}  // namespace coppice::kube
