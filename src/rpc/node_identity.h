// The two fields that identify a node in a NodeGroupForNodeRequest, read without building the
// message.
//
// Cluster Autoscaler asks this once per node and loop, each time with all labels and annotations of
// the node; building two maps to look at one text was most of the cost of the call.

#pragma once

#include <optional>
#include <string_view>

namespace coppice::rpc {

struct NodeIdentity {
  std::string_view provider_id;  // into the request
  std::string_view name;
  bool present = false;  // the request has a node at all
};

// nullopt: not a well-formed message. What a full parser accepts is read here with the same result;
// of the fields that nobody asks for only the extent is checked.
std::optional<NodeIdentity> ReadNodeIdentity(std::string_view request);

}  // namespace coppice::rpc
