// Prices from what the flavors cost. Pure functions over a picture; in the cloud's currency.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/groups_picture.h"
#include "cloud/node_groups.h"
#include "model/pod.h"

namespace coppice::cloud {

// Per hour: the group's own price or its flavor's. A node that is no machine of ours (the
// autoscaler asks for templates too) is priced by its instance-type label. nullopt: not known.
std::optional<double> NodePricePerHour(const GroupsPicture& picture, const NodeRef& node,
                                       const std::map<std::string, std::string>& labels);

// Per hour: the part of a machine that the pod would fill, on the cheapest of the groups that could
// hold it. nullopt: no group that could has a price.
std::optional<double> PodPricePerHour(const GroupsPicture& picture, const model::Pod& pod);

// Per hour: what the flavor costs there and in that way ("": on-demand). nullopt: not known.
std::optional<double> FlavorPricePerHour(const Flavor& flavor, std::string_view zone,
                                         std::string_view capacity_type);

double Hours(TimePoint start, TimePoint end);  // 0 if the end is before the start

}  // namespace coppice::cloud
