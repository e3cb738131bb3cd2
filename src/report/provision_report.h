// What the engine of node pools saw, decided and why: a value, published after each pass. Events,
// logs, metrics, the dashboard and `coppice explain` read it and nothing else.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"
#include "report/batch_report.h"
#include "report/pass_report.h"

namespace coppice::report {

// What one pool lacks to take a pod: all of it together, tried out.
struct PoolMiss {
  std::string pool;
  enum class What {
    kRequirement,  // a label that the pool or its types do not have
    kTaint,        // not tolerated
    kResource,     // no type is big enough
    kOffering,     // nothing of what would do is available now
    kLimit,        // the pool's limits
    kNotReady,     // the pool buys nothing at all
    kTopology,     // spread or affinity
    kOther,
  } what = What::kOther;
  std::string key;      // the label, taint or resource
  std::string text;     // the sentence: "no type has so much memory (asks for 2Ti, at most 512Gi)"
  double distance = 0;  // the smaller the nearer; misses are sorted by it
  bool tried = false;   // with that change the pod would have been placed
  std::string would_take_if;                 // the change: "its limit of 64 cpu were 68"; if tried
  std::vector<model::Shortfall> shortfalls;  // where it is a matter of numbers
};

struct UnplacedPod {
  PodPtr pod;
  std::string text;              // the peer's sentence
  bool ignored = false;          // not tried at all
  std::vector<PoolMiss> misses;  // the nearest first
};

// A machine that was asked for.
struct PlannedMachine {
  std::string claim;  // "" if it could not be created
  std::string pool;
  std::vector<std::string> types;  // the first few that may be bought, cheapest first
  size_t type_count = 0;
  double price = 0;  // of the cheapest, per hour
  std::vector<PodPtr> pods;
  std::string error;  // why it was not created
};

struct PlacedPod {
  PodPtr pod;
  std::string machine;  // the node or claim that will take it
};

// One solve for pods that wait.
struct Provisioning {
  TimePoint at;
  size_t pods = 0;
  Duration took{};
  std::vector<PlannedMachine> machines;
  std::vector<PlacedPod> placed;  // on what exists or is on its way
  std::vector<UnplacedPod> unplaced;
  std::string held_back;  // why nothing was done: "the view of the cluster is stale: ..."
};

// Where a claim is in its life.
struct ClaimState {
  std::string name;
  std::string pool;
  std::string node;
  std::string provider_id;
  std::string type;
  std::string zone;
  std::string capacity_type;
  double price = 0;   // per hour; 0: not known
  std::string stage;  // Launching, Registering, Initializing, Ready, Draining, Terminating
  std::string text;   // what it waits for
  TimePoint since;
  std::optional<TimePoint> expires = {};  // when it is as old as it may become
};

// Why a machine stays.
struct StayingPoolNode {
  std::string node;
  std::string claim;
  std::string pool;
  std::string
      reason;  // of the event: DisruptionBlocked, Unconsolidatable, ...; "" with Method's own
  std::string text;
};

// Machines that go, and what comes in their place.
struct DisruptionCommand {
  std::string id;
  std::string reason;    // Empty, Drifted, Underutilized, Unhealthy
  std::string decision;  // delete, replace, terminate-first
  std::vector<std::string> nodes;
  std::vector<std::string> pools;
  std::vector<std::string> replacements;  // claims; types before they exist
  double price_before = 0;
  double savings = 0;  // per hour
  // Validating, Launching, Deleting, Done, Abandoned, RolledBack
  std::string stage;
  std::string text;  // why it was given up
  TimePoint since;
};

struct PoolState {
  std::string name;
  bool ready = false;
  bool is_static = false;
  std::string text;  // why it is not ready
  int64_t nodes = 0;
  std::vector<std::pair<std::string, std::string>> usage;  // resource: amount
  std::vector<std::pair<std::string, std::string>> limits;
  double cost = 0;  // per hour
  // What its budgets still allow, by reason.
  std::vector<std::pair<std::string, int64_t>> budgets;
  size_t types = 0;
};

struct ProvisionReport {
  TimePoint at;
  Duration took{};
  std::vector<Stage> stages;  // in their order
  std::string error;          // empty: the pass went through
  std::vector<PoolState> pools;
  std::vector<ClaimState> claims;
  std::optional<Provisioning> provisioning;  // the last one
  std::vector<StayingPoolNode> staying;      // of the last round of disruption
  TimePoint disruption_at;                   // of that round
  std::vector<DisruptionCommand> commands;   // under way, then those that ended last
  size_t waiting_pods = 0;
  size_t under_way = 0;  // calls and writes
  std::optional<CallAgain> call_again;
};

}  // namespace coppice::report
