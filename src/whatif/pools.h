// What would node pools do with this cluster, and why? Which machines would be bought for the pods
// that wait, which pods nothing helps, and (consolidate) which machines would go, what would come in
// their place and what that saves. On a dump, with the solver and the methods of disruption that
// the engine uses; nothing outside is touched.
//
// Pools come as people write them: what an API server would have filled in is filled in, one that is
// not valid is left out with the sentences that its condition would have. Time does not pass:
// machines that are bought are up at once, and consolidateAfter counts as over.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/node_claims.h"
#include "provision/disruption/methods.h"
#include "provision/options.h"
#include "whatif/dump_reader.h"
#include "whatif/whatif.h"

namespace coppice::whatif {

struct PoolsWhatIf {
  ClusterObjects cluster;
  ClusterObjects added;  // workloads to add, not yet expanded
  provision::EngineOptions options;
  bool consolidate = false;
  std::vector<std::string> remove_nodes;  // before anything is bought
  // A cluster that lives: the provider knows the classes, and a pool is as ready as its status says.
  bool live = false;
  // Consolidation that takes longer by the clock is left where it is. Absent: it goes on.
  std::optional<Duration> consolidate_for;
  // Asked between moves: whoever waits has had enough, and gets kDeadlineExceeded. Null: nobody.
  std::function<bool()> stop = nullptr;
  std::optional<TimePoint> now;    // unset: the newest time in the dump
  std::vector<std::string> notes;  // about the input, said before those about the plan
};

// A machine as it would be bought.
struct WouldBuy {
  std::string node;  // as the plan calls it: "new-1"
  std::string pool;
  std::string type;  // the cheapest
  std::string zone;
  std::string capacity_type;
  double price = 0;       // per hour
  size_t type_count = 0;  // how many types would do
  std::vector<provision::PodPtr> pods;
};

struct PoolsPlan {
  struct Placed {
    std::string node;
    std::vector<provision::PodPtr> pods;
  };
  struct Refused {
    provision::PodPtr pod;
    std::string text;
  };
  struct Gone {
    std::string node;
    std::string pool;
    std::string type;
    double price = 0;
    size_t pods = 0;  // that come up elsewhere
  };
  struct Move {
    std::string reason;    // Empty, Drifted, Underutilized
    std::string decision;  // delete, replace
    std::vector<Gone> gone;
    std::vector<WouldBuy> bought;
    double savings = 0;  // per hour
  };
  struct Staying {
    std::string node;
    std::string text;
  };

  struct Machines {  // of a pool: how many there are
    int64_t before = 0;
    int64_t after = 0;
  };

  TimePoint now;
  size_t nodes = 0;
  size_t pods = 0;
  size_t pending = 0;
  size_t added = 0;
  std::vector<RemovalAnswer> removals;
  std::vector<std::string> pools;  // that take part, in the order in which they are tried
  std::vector<Placed> placed;      // on nodes that are there
  std::vector<WouldBuy> bought;
  std::vector<Refused> refused;
  bool consolidated = false;  // it was asked for
  std::vector<Move> moves;
  std::vector<Staying> staying;  // why machines stay, of the last round
  double cost_before = 0;        // of the pools' machines per hour, as dumped
  double cost_bought = 0;        // and with what was bought
  double cost_after = 0;         // and after consolidation
  std::map<std::string, Machines> machines;
  bool settled = true;                // false: so many moves that the rest was not looked at
  std::vector<std::string> problems;  // pools that are left out
  std::vector<std::string> notes;
  // What it comes to, for who goes on from there.
  Listed<model::Node> nodes_after;
  Listed<model::Pod> pods_after;

  bool everybody_helped() const { return refused.empty() && problems.empty(); }
};

// `claims` has been refreshed by nobody yet; its Refresh is asked for here.
Result<PoolsPlan> RunPoolsWhatIf(PoolsWhatIf what_if, cloud::NodeClaims& claims,
                                 const Clock& clock);

std::string AsText(const PoolsPlan& plan, bool whole);
std::string AsJson(const PoolsPlan& plan);

}  // namespace coppice::whatif
