// What the areas of node pools share: requirements, instance types and catalogs as the recordings
// write them.

#pragma once

#include <memory>
#include <string>

#include "cloud/instance_type.h"
#include "model/requirements.h"
#include "test/replay/replay.h"

namespace coppice::replay {

inline constexpr const char* kReservationLabel = "coppice.example/reservation-id";

// Those of the recordings' provider.
const model::LabelRules& RecordedLabels();

model::RequirementSpec ReadRequirement(const Json& requirement);
model::NodeRequirements ReadRequirements(const Json& parent, const char* key);
model::ResourceList ReadResources(const Json& parent, const char* key);
cloud::InstanceType ReadInstanceType(const Json& type);

// The canonical form of the recordings.
Json Canonical(const model::NodeRequirement& requirement);
Json Canonical(const model::NodeRequirements& requirements);
Json Canonical(const model::ResourceList& resources);

// A list of catalogs.json.gz, which lies beside the recording or among our test data. Throws if
// there is none of that name.
std::shared_ptr<const cloud::InstanceTypes> Catalog(const std::string& name);

}  // namespace coppice::replay
