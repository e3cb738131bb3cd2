// PodGroups and queues inside of bodies: custom resources, in the order of Volcano's own types.

#pragma once

#include <string>
#include <string_view>

#include "model/batch.h"

namespace coppice::batch::extender {

// {"metadata":...,"spec":...,"status":...}
void AppendQueueObject(std::string& out, const model::Queue& queue);

// The two parts of a group that a session does not change, and the one that it does.
std::string MetadataText(const model::PodGroup& group);
std::string SpecText(const model::PodGroup& group);
void AppendGroupStatus(std::string& out, const model::PodGroupStatus& status);
void AppendTopology(std::string& out, const model::NetworkTopology& topology);

// A member with a resource list, unless that is empty. Inside of an object.
void AppendAmounts(std::string& out, std::string_view name, const model::ResourceList& list);

}  // namespace coppice::batch::extender
