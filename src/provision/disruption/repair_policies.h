// RepairPolicies: which conditions of a Node are beyond waiting for, since when, and which of
// several sick nodes is replaced first.
//
// A policy stands for a condition's type and status, and, with a pattern, for its reason. One
// without a pattern is the fallback: of every pair that the policies name if it is the only such
// one (as the peer demands), else of its own pair.
//
// Pure; any thread.

#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cloud/node_claims.h"
#include "model/node.h"

namespace coppice::provision {

// What is to be done with a node whose time is up.
struct RepairDecision {
  std::string condition;  // that decided
  std::string reason;     // its reason
  TimePoint eligible_at;
  // The shortest that any policy in force gives; none: as the claim says.
  std::optional<Duration> grace;
  // Rank of the priority, and one more for every half hour of waiting: the higher goes first.
  double score = 0;
};

class RepairPolicies {
 public:
  RepairPolicies() = default;
  // What is wrong with them: a pattern that is none, a negative time, a priority beyond 0 to 100, an
  // action that is not there.
  static Result<RepairPolicies> Create(const std::vector<cloud::RepairPolicy>& policies);

  bool empty() const { return pairs_.empty(); }
  // A condition that some policy is about, whether its time is up or not.
  bool IsSick(const model::Node& node) const;
  std::optional<RepairDecision> Decide(const model::Node& node, TimePoint now) const;

 private:
  struct Compiled {
    cloud::RepairPolicy policy;
    std::regex reason;
    int rank = 0;
  };
  using Pair = std::pair<std::string, std::string>;  // type and status
  struct Group {
    std::vector<Compiled> specific;
    std::optional<Compiled> fallback;
  };
  // Those that a condition falls under.
  std::vector<const Compiled*> Matching(const model::NodeCondition& condition) const;

  std::map<Pair, Group> pairs_;
  std::optional<Compiled> fallback_;  // the only one, of all pairs
};

}  // namespace coppice::provision
