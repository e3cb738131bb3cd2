// Messages of Cluster Autoscaler's gRPC expander to and from our values, for both ends and both
// eras of the protocol (proto/README.md). The generated classes stay in the .cc.

#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "expand/option.h"

namespace coppice::rpc {

inline constexpr char kExpanderService[] = "grpcplugin.Expander";
inline constexpr char kBestOptions[] = "/grpcplugin.Expander/BestOptions";
// Upstream's client receives this much; the library's own 4 MiB is a few thousand pods.
inline constexpr size_t kExpanderMessageBytes = size_t{128} << 20;

using GroupTemplates = std::vector<std::pair<std::string, const model::Node*>>;

// Which fields carry pods and nodes. Servers built from the protocol of 1.34.1 and before see only
// the old ones; both at once doubles the message.
enum class Era { kBytes, kBoth };

// What upstream's client sends: every option with its pods, and the template of every group that
// has one. A pod that several options help is encoded once. ResourceExhausted if that is more than
// gRPC can carry (2 GiB).
Result<std::string> SerializeBestOptionsRequest(const std::vector<const expand::Option*>& options,
                                                const GroupTemplates& templates,
                                                Era era = Era::kBytes);
// The group ids of the answer, in its order, repeated or unknown as they may be. The rest of an
// answered option does not count.
Result<std::vector<std::string>> ParseBestOptionsResponse(std::string_view bytes);

// A request with everything that its options point to.
struct OfferedOptions {
  std::vector<expand::Option> options;
  GroupTemplates templates;
  std::deque<model::Node> nodes;
  std::deque<model::Pod> pods;  // each distinct one once
};
// InvalidArgument, with the group, when the request or an object in it cannot be read. The new
// era's fields are preferred. Not movable: the options point into it.
Result<std::unique_ptr<const OfferedOptions>> ParseBestOptionsRequest(std::string_view bytes);
std::string SerializeBestOptionsResponse(const std::vector<const expand::Option*>& options);

}  // namespace coppice::rpc
