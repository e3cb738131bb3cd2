// PodTopologySpread: no domain may run ahead of the emptiest one by more than maxSkew.
//
// Counted are pods of the same namespace that match the constraint and are not going away, on nodes
// that have all the keys of all the constraints and that the constraint's policies admit. The
// emptiest domain is looked for among those that have such a node; with fewer of them than
// minDomains, it counts as empty. An absent or empty selector counts no pod.

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "fit/filter.h"
#include "fit/plan_memory.h"
#include "plugins/filters/pod_topology_spread/constraints.h"

namespace coppice::filters::pod_topology_spread {
namespace {

using cluster::Counters;
using model::Verdict;
using model::VerdictCode;

constexpr std::string_view kName = "PodTopologySpread";

struct PlannedConstraint {
  cluster::TopologyId everywhere;  // the key on all nodes
  cluster::CounterId counter;      // on the nodes that count
  int32_t max_skew;
  int32_t min_domains;
  int32_t self;  // 1 if the pod will count itself
};

struct Plan {
  Verdict rejection = Verdict::Yes();
  std::vector<PlannedConstraint> constraints;
};

struct Refusals {
  Verdict no_label =
      Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable,
                  "node(s) didn't match pod topology spread constraints (missing required label)");
  Verdict skew = Verdict::No(kName, VerdictCode::kUnschedulable,
                             "node(s) didn't match pod topology spread constraints");
};

class Spread final : public fit::NodeCheck {
 public:
  Spread(const Plan& plan, Counters& counters, const Refusals& refusals) : refusals_(refusals) {
    limits_.reserve(plan.constraints.size());
    for (const PlannedConstraint& c : plan.constraints) {
      const int32_t domains = counters.topology(counters.topology_of(c.counter)).live_domains;
      const int64_t least = domains < c.min_domains ? 0 : counters.Least(c.counter);
      limits_.push_back({.domain_of = counters.topology(c.everywhere).domain_of.data(),
                         .counts = counters.counts(c.counter).data(),
                         .most = int64_t{c.max_skew} - c.self + least});
    }
  }

  Verdict Check(cluster::NodeIndex node) const override {
    for (const Limit& limit : limits_) {
      const cluster::DomainId domain = limit.domain_of[node];
      if (domain == cluster::kNoDomain) return refusals_.no_label;
      if (limit.counts[domain] > limit.most) return refusals_.skew;
    }
    return Verdict::Yes();
  }

  uint64_t Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const override {
    for (const Limit& limit : limits_) {
      uint64_t within = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        const cluster::DomainId domain = limit.domain_of[nodes[i]];
        within |= uint64_t{domain != cluster::kNoDomain && limit.counts[domain] <= limit.most} << i;
      }
      alive &= within;
    }
    return alive;
  }

 private:
  struct Limit {
    const cluster::DomainId* domain_of;
    const int32_t* counts;
    int64_t most;  // that a domain may hold to take one more
  };
  std::vector<Limit> limits_;
  const Refusals& refusals_;
};

std::vector<model::ChangeSet> ForSpread(const model::Pod& pod) {
  std::vector<model::ChangeSet> ways;
  for (const auto& constraint : pod.spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != "DoNotSchedule") continue;
    for (const int32_t more : {1, 2, 4, 8}) {
      const int64_t skew = int64_t{constraint.max_skew} + more;
      ways.push_back({{.kind = model::ChangeKind::kRaiseSkew,
                       .subject = constraint.topology_key,
                       .amount = skew,
                       .text = "its spread over " + constraint.topology_key +
                               " allowed a skew of " + std::to_string(skew)}});
    }
  }
  model::ChangeSet all;
  for (const auto& constraint : pod.spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != "DoNotSchedule") continue;
    model::Change drop{
        .kind = model::ChangeKind::kDropSpread,
        .subject = constraint.topology_key,
        .text = "its spread over " + constraint.topology_key + " were ScheduleAnyway"};
    if (std::ranges::find(all, drop) != all.end()) continue;
    ways.push_back({drop});
    all.push_back(std::move(drop));
  }
  if (all.size() > 1) ways.push_back(std::move(all));
  return ways;
}

class PodTopologySpread final : public fit::StateFilter {
 public:
  explicit PodTopologySpread(const fit::SchedulerConfig& config)
      : defaults_(config.default_spread_constraints) {}

  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    if (pod.spec.spread.empty() && defaults_.empty()) return fit::Preparation::Skip().ForSpec();
    // The selector of default constraints depends on services and on the owner: worked out anew
    // each time.
    if (pod.spec.spread.empty()) return Ask(PlanFor(pod, snapshot), snapshot);
    auto& memory = fit::PlanMemory<Plan>::Of(snapshot, id());
    const Plan& plan = memory.For(pod, [&](const auto& p) { return PlanFor(p, snapshot); });
    auto asked = Ask(plan, snapshot);
    return plan.constraints.empty() ? std::move(asked).ForKind() : std::move(asked);
  }

  std::vector<model::ChangeSet> WaysAround(const model::Refusal&, const model::Pod& pod,
                                           const model::Node&) const override {
    return ForSpread(pod);
  }

 private:
  fit::Preparation Ask(const Plan& plan, const cluster::Snapshot& snapshot) const {
    if (!plan.rejection.yes()) return fit::Preparation::Reject(plan.rejection);
    if (plan.constraints.empty()) return fit::Preparation::Skip();
    return fit::Preparation::Ask(std::make_unique<Spread>(plan, snapshot.counters(), refusals_));
  }

  Result<std::vector<Constraint>> ConstraintsOf(const cluster::PodView& pod,
                                                const cluster::Facts& facts) const {
    if (!pod.spec.spread.empty()) return HardConstraints(pod.spec.spread, pod.labels());
    auto constraints = TRY(HardConstraints(defaults_, pod.labels()));
    if (constraints.empty()) return constraints;
    const model::Selector siblings = SiblingSelector(pod, facts);
    if (siblings.empty()) constraints.clear();
    for (Constraint& c : constraints) c.selector = siblings;
    return constraints;
  }

  Plan PlanFor(const cluster::PodView& pod, const cluster::Snapshot& snapshot) const {
    const auto constraints = ConstraintsOf(pod, snapshot.facts());
    if (!constraints.ok()) {
      return {.rejection = Verdict::No(kName, VerdictCode::kError,
                                       "obtaining pod's hard topology spread constraints: " +
                                           constraints.status().message())};
    }
    std::vector<std::string> keys;
    for (const Constraint& c : *constraints) keys.push_back(c.topology_key);
    Plan plan;
    for (const Constraint& c : *constraints) {
      cluster::PodKind kind{.skip_terminating = true};
      if (!c.selector.empty() && !c.selector.matches_nothing()) {
        kind.terms.push_back({.namespaces = {std::string(pod.namespace_)}, .selector = c.selector});
      }
      const cluster::TopologyId counted =
          snapshot.counters().Topology({.key = c.topology_key,
                                        .needed_keys = keys,
                                        .honor_affinity = c.honor_affinity ? &pod.spec : nullptr,
                                        .honor_taints = c.honor_taints ? &pod.spec : nullptr});
      plan.constraints.push_back({.everywhere = snapshot.counters().PlainTopology(c.topology_key),
                                  .counter = snapshot.counters().Counter(counted, kind),
                                  .max_skew = c.max_skew,
                                  .min_domains = c.min_domains,
                                  .self = c.selector.Matches(pod.labels()) ? 1 : 0});
    }
    return plan;
  }

  std::vector<model::TopologySpreadConstraint> defaults_;
  const Refusals refusals_;
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<PodTopologySpread>());
}

}  // namespace coppice::filters::pod_topology_spread
