// Answers that change only when the provider's picture changes, serialised once and sent many
// times.
//
// Everything is keyed by NodeGroups::Version(): the number is read before the data, so an answer
// can only be filed under an older number than it deserves, never under a newer one. A provider
// that cannot tell (version 0) gets every answer made afresh.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "cloud/node_groups.h"
#include "grpc/handler.h"

namespace coppice::rpc {

class AnswerCache {
 public:
  explicit AnswerCache(cloud::NodeGroups& groups) : groups_(groups) {}

  // NodeGroupsResponse.
  grpc::Bytes NodeGroups();
  // NodeGroupForNodeResponse for a node of nobody: a group without an id, as upstream's own server
  // has it.
  static grpc::Bytes NoGroup();
  // NodeGroupForNodeResponse with this group; NoGroup() when the list does not have
  // it: an autoscaler that is told of a group which is not in its list crashes.
  grpc::Bytes GroupOfNode(std::string_view group);
  grpc::Answer Nodes(std::string_view group);     // NodeGroupNodesResponse
  grpc::Answer Template(std::string_view group);  // NodeGroupTemplateNodeInfoResponse

 private:
  using Text = std::shared_ptr<const std::string>;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using TextByGroup = std::unordered_map<std::string, Text, Hash, std::equal_to<>>;

  // The answers that need only the list of groups.
  struct Listing {
    std::vector<cloud::GroupInfo> infos;
    Text all;
    TextByGroup of_node;
  };
  struct Kept {
    uint64_t version = 0;
    TextByGroup nodes;
    TextByGroup templates;
  };

  std::shared_ptr<const Listing> CurrentListing();
  grpc::Answer PerGroup(TextByGroup Kept::* kept, std::string_view group,
                        const std::function<Result<std::string>()>& make);

  cloud::NodeGroups& groups_;
  Mutex mutex_;
  uint64_t listing_version_ COPPICE_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const Listing> listing_ COPPICE_GUARDED_BY(mutex_);
  Kept kept_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::rpc
