// GuardClaims: a provider of node claims behind a gate, as guarded_groups.h has it for groups. Reads
// and lists pass; Create and Delete ask the gate first, and are done, refused, or (dry run) told.
//
// Changes come from worker threads: the gate's functions are called there.

#pragma once

#include <memory>

#include "base/log.h"
#include "cloud/guarded_groups.h"
#include "cloud/node_claims.h"

namespace coppice::cloud {

// A dry run answers Create with CreateError("DryRun", …) and Delete with OK.
std::unique_ptr<NodeClaims> GuardClaims(NodeClaims& claims, Gate gate, const Log& log);

}  // namespace coppice::cloud
