// RemovalFuse: what the planner wants is not enough. So many nodes of the cluster in so much time,
// and nothing on a stale view.
//
// A node that is said to be empty is asked about where the view comes from: the API server itself
// lists the pods on it. One that it says has none takes nobody's pods away and does not count, so
// that a burst of work leaves no idle machines behind; one that it says has pods stays, for then
// the view is wrong.
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/deletion_limits.h"
#include "autoscale/wakeups.h"
#include "base/log.h"
#include "cluster/writer.h"

namespace coppice::autoscale {

class RemovalFuse {
 public:
  RemovalFuse(const PodOptions& options, const Deviations& deviations, cluster::NodeWriter& writer,
              const Log& log)
      : options_(options), deviations_(deviations), writer_(writer), log_(log) {}

  struct Moment {
    TimePoint now;
    size_t nodes = 0;    // of the cluster
    bool stale = false;  // the view of it is too old
    DeletionsInProgress deleting;
    std::function<void(const std::string& node, std::string why)> stays;
  };
  // Leaves in `deletions` what may go.
  Task<void> Crop(Moment moment, CroppedDeletions& deletions);
  void Removed(std::string_view node, TimePoint now);
  // When it lets the next one go, if it held any back.
  void NoteDue(Wakeups& wake) const;

 private:
  // Those of them that the API server has no pods on; the others that it has some on, are told
  // to stay.
  Task<std::set<std::string>> AskWhoIsEmpty(const Moment& moment,
                                            std::vector<DeletionBatch>& batches);
  void ForgetOld(TimePoint now);
  // Of groups that go whole (`before`: how many nodes of each there were) what is not whole any
  // more stays; how many nodes that are.
  static size_t KeepPartial(const Moment& moment, CroppedDeletions& deletions,
                            const std::map<std::string, size_t>& before);
  int Allowed(const Moment& moment);

  const PodOptions& options_;
  const Deviations& deviations_;
  cluster::NodeWriter& writer_;
  const Log& log_;
  std::vector<TimePoint> removals_;  // within the window
  std::set<std::string> empty_;      // under way, and known to be empty: do not count
  bool holds_ = false;
};

}  // namespace coppice::autoscale
