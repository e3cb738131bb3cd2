// The cluster of a recorded Volcano session, and a session on it.

#pragma once

#include <memory>

#include "batch/session.h"
#include "cluster/snapshot.h"
#include "test/replay/replay.h"

namespace coppice::replay {

class SessionCase {
 public:
  // Reads the objects of the case; throws if one is malformed.
  explicit SessionCase(const Json& c);

  // As upstream, mistakes included.
  Result<std::unique_ptr<batch::Session>> Open(const batch::PluginRegistry& plugins,
                                               const fit::FilterRegistry& filters);

 private:
  Result<batch::Conf> conf_;
  cluster::Facts facts_;
  cluster::Snapshot snapshot_{facts_};
  batch::SessionInput input_;
};

}  // namespace coppice::replay
