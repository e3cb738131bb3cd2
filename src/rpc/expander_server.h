// Cluster Autoscaler's gRPC expander service over any chain of ours: one method, bytes in and bytes
// out.
//
// Answers with all options that the chain leaves; who asked goes on from there (its next expander,
// or the lot). Reads both eras of the protocol. Calls run on workers, one decision at a time.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "expand/chain.h"
#include "grpc/handler.h"

namespace coppice::rpc {

struct ExpanderServerParts {
  expand::Chain& chain;
  const Log& log;
  // As in expand::Surroundings: where the priority expander finds its priorities. Called by one
  // thread at a time. Null: nowhere.
  std::function<Result<std::string>(std::string_view config_map, std::string_view key)> config_map =
      nullptr;
};

// What `parts` refers to outlives the service.
grpc::Service ExpanderService(ExpanderServerParts parts);

}  // namespace coppice::rpc
