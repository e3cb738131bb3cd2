// Machines: what makes nodes out of machines. A machine that runs registers as a Node after a
// while, not ready at first; one that is gone leaves a Node that stops being ready and is then
// removed, with its pods. Plays the kubelet and the node controllers of a model.
//
// A machine of a node pool registers as its flavor looks, with the taint of one that nobody has
// taken in yet; what else its claim says is put on the Node by the engine.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud/group_config.h"
#include "sim/cluster.h"
#include "sim/watched_cloud.h"

namespace coppice::sim {

struct MachineTimes {
  Duration joins_after = std::chrono::seconds(15);   // from running to the Node
  Duration ready_after = std::chrono::seconds(10);   // from the Node to ready
  Duration gone_after = std::chrono::seconds(60);    // from the machine's end to the Node's
  Duration moves_after = std::chrono::seconds(300);  // not ready so long: its pods are ended
};

class Machines {
 public:
  Machines(Cluster& cluster, WatchedCloud& cloud, MachineTimes times);

  // What a machine of the group registers as. Flavors are asked for once.
  Status SetGroups(const std::vector<cloud::GroupConfig>& groups);

  // Looks at what has changed in the cloud, and again as long as something is on its way.
  void Look();

  // From running to the Node; absent: it never joins. Unset: MachineTimes.
  std::function<std::optional<Duration>(const cloud::Machine&)> joins_after;
  std::function<std::optional<Duration>(const cloud::Machine&)> ready_after;
  // The Node as it registers; a last change before it does.
  std::function<void(model::Node&)> dress;

  void SetReady(const std::string& node, bool ready);
  // A Node for a machine that has long been there: at once, and ready.
  Status JoinNow(const cloud::Machine& machine, TimePoint since);

  size_t joined() const { return joined_; }

 private:
  void LookIn(Duration wait);
  void Note();  // what has changed in the cloud; Look() acts on it
  bool IsAlive(const cloud::ProviderId& id) const;  // as noted
  void Joins(const cloud::Machine& machine);        // it runs: becomes a node, in its time
  void Leaves(const cloud::ProviderId& id);         // it runs no more
  // What it registers as: by its group, or by its flavor if it is a claim's.
  Result<model::Node> TemplateOf(const cloud::Machine& machine);
  Status Join(const cloud::Machine& machine, bool ready, TimePoint since);

  Cluster& cluster_;
  WatchedCloud& cloud_;
  const MachineTimes times_;
  std::map<std::string, model::Node> templates_;       // by group
  std::vector<cloud::Flavor> flavors_;                 // as of the first machine of a pool
  std::map<cloud::ProviderId, cloud::Machine> known_;  // as the cloud said it last
  std::set<cloud::ProviderId> changed_;                // and not looked at since
  size_t restless_ = 0;                                // of those known: how many are on their way
  std::map<cloud::ProviderId, std::string> nodes_;     // registered, by machine
  std::set<cloud::ProviderId> joining_;
  std::set<cloud::ProviderId> leaving_;
  std::optional<TimePoint> next_look_;
  size_t joined_ = 0;
};

}  // namespace coppice::sim
