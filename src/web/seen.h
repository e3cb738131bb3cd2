// Seen: what the decision thread hands to whoever shows it: objects taken hold of and numbers read
// off, nothing worked out. Sentences, JSON, deltas and history are made from it elsewhere
// (story.h), so that being watched costs a decision nothing but this.
//
// A Looker lives on the decision thread; what it returns belongs to whoever has it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"

namespace coppice::web {

inline constexpr int16_t kNoSuchResource = -1;

struct SeenNode {
  cluster::NodePtr node;
  std::string row;       // its group or pool; "": nobody's
  std::string taken_by;  // the engine that takes it down; "": none
  int16_t cpu = 0;       // requested, in thousandths of what can be had
  int16_t memory = 0;
  int16_t gpu = kNoSuchResource;
  uint32_t pods = 0;
  double price = 0;        // per hour; 0: not known
  std::string claim = {};  // of a pool
  std::optional<TimePoint> expires = {};
};

// A machine that has no Node.
struct SeenMachine {
  std::string row;
  std::string id;
  cloud::InstanceState state = cloud::InstanceState::kUnspecified;
  std::string error;
  std::string claim = {};  // of a pool
  std::string text = {};   // what it waits for
};

struct SeenRow {
  std::string kind = "group";  // or "pool"
  std::string name;
  int min = 0;
  int max = 0;
  int target = 0;
  double price = 0;          // of one node, per hour
  cluster::NodePtr example;  // a template: what a new one would be; may be null
  // Of a pool.
  std::string trouble;             // why nothing is bought; "": none
  std::vector<std::string> usage;  // "cpu 12"
  std::vector<std::string> limits;
};

struct Seen {
  TimePoint at;
  std::vector<SeenRow> rows;
  std::vector<SeenNode> nodes;
  std::vector<SeenMachine> machines;
  std::vector<cluster::PodPtr> pending;  // no node, not ending, not done
  size_t more_pending = 0;               // that are not among these
  size_t running = 0;
};

class Looker {
 public:
  // Whether it is time for another look, and then that is what is remembered: four times a second
  // while somebody watches, else every few seconds; of the cluster's time, which on a model may be
  // faster, at least once a minute. A clock that was set back makes it time.
  bool IsDue(TimePoint wall, TimePoint now, bool watched);
  // Never with a fork open. `groups` may be null: there are none. O(nodes + pods without a node).
  std::shared_ptr<const Seen> Look(const cluster::World& world, cloud::NodeGroups* groups,
                                   TimePoint now);

 private:
  struct Price {
    double per_hour = 0;  // 0: not known
    TimePoint asked;
  };
  double PriceOf(const std::string& kind, const cluster::NodePtr& node, cloud::NodeGroups& groups,
                 TimePoint now);
  void LookAtGroups(cloud::NodeGroups& groups, TimePoint now, Seen& seen);

  // By row and type, for most nodes of a group cost the same; forgotten now and then.
  std::unordered_map<std::string, Price> prices_;
  TimePoint prices_since_{};
  std::optional<TimePoint> looked_;  // by the wall
  TimePoint looked_for_{};           // by the cluster's clock
};

}  // namespace coppice::web
