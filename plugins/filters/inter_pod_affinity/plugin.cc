// InterPodAffinity: required affinity and anti-affinity between pods, in both directions.
//
// Affinity: in the domain of every term there must be a pod that matches all the terms at once; the
// first pod of a set that matches itself may go wherever the keys are. Anti-affinity: no pod that
// matches the term in the domain. And the same the other way round, from pods that are already
// placed. Terminating pods count; matchLabelKeys and mismatchLabelKeys are the API server's
// business, which has merged them into the selector.

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "fit/filter.h"
#include "fit/plan_memory.h"
#include "model/selector.h"

namespace coppice::filters::inter_pod_affinity {
namespace {

using cluster::Counters;
using model::Verdict;
using model::VerdictCode;

constexpr std::string_view kName = "InterPodAffinity";

struct Plan {
  Verdict rejection = Verdict::Yes();
  std::vector<cluster::CounterId> together;  // required affinity, one counter per term
  std::vector<cluster::CounterId> apart;     // required anti-affinity
  bool matches_itself = false;               // all its affinity terms
};

struct Refusals {
  Verdict together = Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable,
                                 "node(s) didn't match pod affinity rules");
  Verdict apart = Verdict::No(kName, VerdictCode::kUnschedulable,
                              "node(s) didn't match pod anti-affinity rules");
  Verdict kept_away = Verdict::No(kName, VerdictCode::kUnschedulable,
                                  "node(s) didn't satisfy existing pods anti-affinity rules");
};

// Domains with somebody in them.
struct Presence {
  const cluster::DomainId* domain_of;
  const int32_t* counts;
  bool HasKey(cluster::NodeIndex node) const { return domain_of[node] != cluster::kNoDomain; }
  bool Somebody(cluster::NodeIndex node) const {
    return HasKey(node) && counts[domain_of[node]] > 0;
  }
};

class Neighbours final : public fit::NodeCheck {
 public:
  Neighbours(const Plan& plan, Counters& counters, const std::vector<cluster::TermId>& against,
             const Refusals& refusals)
      : refusals_(refusals) {
    bool nobody = true;
    for (cluster::CounterId id : plan.together) {
      together_.push_back(Of(id, counters));
      nobody = nobody && counters.total(id) == 0;
    }
    first_of_its_kind_ = nobody && plan.matches_itself;
    for (cluster::CounterId id : plan.apart) {
      if (counters.total(id) > 0) apart_.push_back(Of(id, counters));
    }
    for (cluster::TermId id : against) {
      const Counters::AntiTerm& term = counters.term(id);
      kept_away_.push_back(
          {counters.topology(term.topology).domain_of.data(), term.carriers.data()});
    }
  }

  Verdict Check(cluster::NodeIndex node) const override {
    if (!Together(node)) return refusals_.together;
    const auto somebody = [node](const Presence& p) { return p.Somebody(node); };
    if (std::ranges::any_of(apart_, somebody)) return refusals_.apart;
    if (std::ranges::any_of(kept_away_, somebody)) return refusals_.kept_away;
    return Verdict::Yes();
  }

  uint64_t Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const override {
    if (!together_.empty()) {
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (!Together(nodes[i])) alive &= ~(uint64_t{1} << i);
      }
    }
    for (const std::vector<Presence>* list : {&apart_, &kept_away_}) {
      for (const Presence& presence : *list) {
        if (alive == 0) return 0;
        uint64_t refused = 0;
        for (size_t i = 0; i < nodes.size(); ++i) {
          refused |= uint64_t{presence.Somebody(nodes[i])} << i;
        }
        alive &= ~refused;
      }
    }
    return alive;
  }

 private:
  static Presence Of(cluster::CounterId id, Counters& counters) {
    return {counters.topology(counters.topology_of(id)).domain_of.data(),
            counters.counts(id).data()};
  }

  bool Together(cluster::NodeIndex node) const {
    bool all = true;
    for (const Presence& presence : together_) {
      if (!presence.HasKey(node)) return false;
      all = all && presence.Somebody(node);
    }
    return all || first_of_its_kind_;
  }

  std::vector<Presence> together_;
  std::vector<Presence> apart_;
  std::vector<Presence> kept_away_;
  bool first_of_its_kind_ = false;
  const Refusals& refusals_;
};

Result<std::vector<cluster::PodTerm>> Compile(const std::vector<model::PodAffinityTerm>& terms,
                                              const cluster::PodView& pod,
                                              const cluster::Facts& facts) {
  std::vector<cluster::PodTerm> compiled;
  for (const model::PodAffinityTerm& term : terms) {
    cluster::PodTerm one{.namespaces = term.namespaces,
                         .selector = TRY(model::Selector::From(term.label_selector))};
    const model::Selector namespaces = TRY(model::Selector::From(term.namespace_selector));
    // As v1.36 does it: the namespaces that match are added by name, but the selector stays, and is
    // later asked about no labels at all. So one that no labels satisfy admits every namespace.
    one.all_namespaces = namespaces.Matches({});
    facts.namespaces.ForEachByName([&](const auto& n) {
      if (namespaces.Matches(n->metadata.labels)) one.namespaces.push_back(n->metadata.name);
    });
    if (term.namespaces.empty() && !term.namespace_selector)
      one.namespaces.emplace_back(pod.namespace_);
    std::ranges::sort(one.namespaces);
    one.namespaces.erase(std::unique(one.namespaces.begin(), one.namespaces.end()),
                         one.namespaces.end());
    compiled.push_back(std::move(one));
  }
  return compiled;
}

Status CheckPreferred(const model::PodAffinity& affinity) {
  for (const model::WeightedPodAffinityTerm& term : affinity.preferred) {
    TRY(model::Selector::From(term.pod_affinity_term.label_selector));
    TRY(model::Selector::From(term.pod_affinity_term.namespace_selector));
  }
  return Status::Ok();
}

class InterPodAffinity final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    Counters& counters = snapshot.counters();
    static const Plan kNoTerms;
    const Plan* plan = &kNoTerms;
    if (pod.spec.affinity &&
        (pod.spec.affinity->pod_affinity || pod.spec.affinity->pod_anti_affinity)) {
      auto& memory =
          fit::PlanMemory<Plan>::Of(snapshot, id(), snapshot.facts().namespaces.version());
      plan = &memory.For(pod, [&](const auto& p) { return PlanFor(p, snapshot); });
    }
    if (!plan->rejection.yes()) return fit::Preparation::Reject(plan->rejection);
    std::vector<cluster::TermId> against;
    for (cluster::TermId id : counters.TermsAgainst(pod.label_set_id)) {
      if (counters.term(id).total > 0) against.push_back(id);
    }
    if (plan->together.empty() && plan->apart.empty() && against.empty()) {
      // Nobody keeps anybody away: then labels do not matter either, unless by terms of its own.
      const bool no_terms = plan == &kNoTerms && !counters.any_term_carried();
      return no_terms ? fit::Preparation::Skip().ForSpec() : fit::Preparation::Skip().ForKind();
    }
    return fit::Preparation::Ask(std::make_unique<Neighbours>(*plan, counters, against, refusals_));
  }

 private:
  static Result<Plan> TryPlan(const cluster::PodView& pod, const cluster::Snapshot& snapshot) {
    const model::Affinity& affinity = *pod.spec.affinity;
    Counters& counters = snapshot.counters();
    Plan plan;
    if (affinity.pod_affinity) {
      const auto& terms = affinity.pod_affinity->required;
      const cluster::PodKind kind{.terms = TRY(Compile(terms, pod, snapshot.facts()))};
      plan.matches_itself = kind.Matches(pod.label_set);
      for (const model::PodAffinityTerm& term : terms) {
        plan.together.push_back(counters.Counter(counters.PlainTopology(term.topology_key), kind));
      }
      TRY(CheckPreferred(*affinity.pod_affinity));
    }
    if (affinity.pod_anti_affinity) {
      const auto& terms = affinity.pod_anti_affinity->required;
      const auto compiled = TRY(Compile(terms, pod, snapshot.facts()));
      for (size_t i = 0; i < terms.size(); ++i) {
        plan.apart.push_back(counters.Counter(counters.PlainTopology(terms[i].topology_key),
                                              {.terms = {compiled[i]}}));
      }
      TRY(CheckPreferred(*affinity.pod_anti_affinity));
    }
    return plan;
  }

  static Plan PlanFor(const cluster::PodView& pod, const cluster::Snapshot& snapshot) {
    auto plan = TryPlan(pod, snapshot);
    if (plan.ok()) return std::move(plan).value();
    return {.rejection = Verdict::No(kName, VerdictCode::kUnschedulableAndUnresolvable,
                                     "parsing pod: " + plan.status().message())};
  }

  const Refusals refusals_;
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<InterPodAffinity>());
}

}  // namespace coppice::filters::inter_pod_affinity
