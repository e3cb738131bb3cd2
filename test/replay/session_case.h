// The cluster of a recorded Volcano session, and a session on it.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "batch/session.h"
#include "cluster/snapshot.h"
#include "test/replay/replay.h"

namespace coppice::replay {

class SessionCase {
 public:
  // Reads the objects of the case; throws if one is malformed.
  explicit SessionCase(const Json& c);
  // Extenders are shown pods and nodes whole: `text` is the case with members in their order.
  void KeepTexts(std::string_view text);

  // As upstream, mistakes included, unless told otherwise.
  Result<std::unique_ptr<batch::Session>> Open(const batch::PluginRegistry& plugins,
                                               const fit::FilterRegistry& filters,
                                               bool upstream_exact = true);
  cluster::Snapshot& snapshot() { return snapshot_; }

 private:
  Result<batch::Conf> conf_;
  cluster::Facts facts_;
  cluster::Snapshot snapshot_{facts_};
  batch::SessionInput input_;
};

// Runs the case and compares its outcome. `adjust` may change both sides of a key before they are
// compared.
using AdjustOutcome = std::function<void(const std::string& key, Json& theirs, Json& ours)>;
void ReplaySession(const Json& c, Report& report, const AdjustOutcome& adjust);

}  // namespace coppice::replay
