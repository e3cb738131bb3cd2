// A NodeClass as the rest of this folder understands it: as the description of a group whose flavor
// and zone are still open, and as instance types.
//
// Pure functions.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/group_config.h"
#include "cloud/instance_type.h"
#include "cloud/types.h"
#include "model/node_claim.h"
#include "model/node_class.h"

namespace coppice::cloud {

// One offering of one flavor, by name.
struct OfferingKey {
  std::string flavor;
  std::string zone;  // as labels have it
  std::string capacity_type;
  friend auto operator<=>(const OfferingKey&, const OfferingKey&) = default;
};

// The zone in labels and offerings of a flavor that is sold without one.
inline constexpr char kZoneOfNone[] = "default";
std::string ZoneLabelOf(std::string_view zone);
// Whether a class of these zones (as the cloud or as labels spell them) buys there. None: anywhere.
bool InZones(const std::vector<std::string>& zones, std::string_view zone);

// Everything that a cloud's Validate() and Extra() look at, but for flavor and zone. Of `networks`,
// "public" and "private" are those kinds, the first other one is the network; `extra` may say
// sshKeys, serverGroups (with commas), subnet and volumeSizeGB, and what else the cloud reads.
Result<GroupConfig> GroupOfClass(const model::NodeClass& node_class);

// What needs no cloud to be seen: tags that are ours, amounts and durations that cannot be read. A
// sentence each.
std::vector<std::string> WrongWithClass(const model::NodeClass& node_class);

// Where and how the flavor can be bought, with nothing left open.
std::vector<FlavorOffering> OfferingsOf(const Flavor& flavor);

// What a machine of this flavor is as a node of this class. Offerings in zones that the class does
// not name are left out; one without any is not sold to it (kNotFound). `gpu_label` as the cloud has
// it. Prices that the cloud does not tell are guessed from the measure, so that larger is dearer.
Result<InstanceType> TypeOf(const Flavor& flavor, const model::NodeClass& node_class,
                            std::string_view gpu_label, const std::set<OfferingKey>& sold_out);

// Labels, capacity and allocatable of one offering of a type, and its provider id: what Create
// answers, and what List shows.
model::NodeClaim ClaimOf(const Machine& machine, const InstanceType* type);

// As tags and labels say it: "on-demand" if nobody does.
std::string CapacityTypeOf(const Machine& machine);

}  // namespace coppice::cloud
