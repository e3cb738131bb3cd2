// The client's half of the externalgrpc messages: our values to requests, answers to our values,
// for both eras of the protocol. The generated classes stay in the .cc.
//
// Answers come from anybody: whatever the bytes are, a function here yields a value that holds to
// what cloud/node_groups.h promises, or a failure. What a careless provider may get wrong without
// harm (an id twice, a state that we do not know) is put right and counted in `oddities`, once for
// the log; what cannot be right (a negative size) fails.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cloud/node_groups.h"
#include "model/objects.h"

namespace coppice::node_groups::externalgrpc {

using Oddities = std::vector<std::string>;  // sentences

// Requests.
std::string IdRequest(const std::string& group);
std::string SizeRequest(const std::string& group, int delta);  // increase and decrease
std::string DeleteRequest(const std::string& group, const std::vector<cloud::NodeRef>& nodes);
std::string NodeRequest(const cloud::NodeRef& node);
std::string OptionsRequest(const std::string& group, const cloud::ScalingOptions& defaults);
std::string NodePriceRequest(const cloud::NodeRef& node,
                             const std::map<std::string, std::string>& labels, TimePoint start,
                             TimePoint end);
std::string PodPriceRequest(const model::Pod& pod, TimePoint start, TimePoint end);

// Answers. kInternal: the bytes are not such a message, or say what cannot be.
Result<std::vector<cloud::GroupInfo>> ReadGroups(std::string_view bytes, Oddities& oddities);
Result<std::string> ReadGroupOfNode(std::string_view bytes);  // "": not managed
Result<int> ReadTargetSize(std::string_view bytes);
Result<std::vector<cloud::Instance>> ReadInstances(std::string_view bytes, Oddities& oddities);
// The serialised Node from the newer field, else from the older; an answer without is a failure,
// for upstream crashes on it and nobody can want it.
Result<std::string> ReadTemplateBytes(std::string_view bytes);
Result<model::Node> ReadTemplate(std::string_view node_bytes, Oddities& oddities);
// What the message does not carry (a duration of either family, options younger than the protocol)
// is a copy of the defaults, where upstream takes it for zero.
Result<std::optional<cloud::ScalingOptions>> ReadOptions(std::string_view bytes,
                                                         const cloud::ScalingOptions& defaults);
Result<double> ReadPrice(std::string_view bytes);
Result<std::string> ReadGpuLabel(std::string_view bytes);
Result<std::vector<std::string>> ReadGpuTypes(std::string_view bytes);  // sorted

}  // namespace coppice::node_groups::externalgrpc
