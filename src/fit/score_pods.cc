#include "fit/score_pods.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "fit/score.h"
#include "model/node_selector.h"
#include "model/selector.h"
#include "model/taints.h"

namespace coppice::fit {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

const std::vector<model::WeightedPodAffinityTerm> kNoTerms;

const std::vector<model::WeightedPodAffinityTerm>& Liked(const cluster::PodSpecShape& spec) {
  return spec.affinity && spec.affinity->pod_affinity ? spec.affinity->pod_affinity->preferred
                                                      : kNoTerms;
}
const std::vector<model::WeightedPodAffinityTerm>& Disliked(const cluster::PodSpecShape& spec) {
  return spec.affinity && spec.affinity->pod_anti_affinity
             ? spec.affinity->pod_anti_affinity->preferred
             : kNoTerms;
}

// A term of `owner`, asked about other pods.
class WeightedTerm {
 public:
  WeightedTerm(const model::WeightedPodAffinityTerm& term, const cluster::PodView& owner,
               const cluster::Facts& facts, int64_t sign)
      : term_(term.pod_affinity_term),
        facts_(facts),
        own_namespace_(owner.namespace_),
        weight_(sign * term.weight) {
    const auto selector = model::Selector::From(term_.label_selector);
    if (selector.ok()) selector_ = *selector;
    if (!term_.namespace_selector) return;
    const auto namespaces = model::Selector::From(*term_.namespace_selector);
    if (namespaces.ok()) namespace_selector_ = *namespaces;
  }

  bool Matches(const cluster::PodView& pod) const {
    return selector_ && InNamespace(pod.namespace_) && selector_->Matches(pod.labels());
  }
  const std::string& key() const { return term_.topology_key; }
  int64_t weight() const { return weight_; }

 private:
  bool InNamespace(std::string_view name) const {
    if (term_.namespaces.empty() && !term_.namespace_selector) return name == own_namespace_;
    if (std::ranges::find(term_.namespaces, name) != term_.namespaces.end()) return true;
    if (!namespace_selector_) return false;
    static const model::Labels kUnknown;
    const model::Namespace* object = facts_.namespaces.Find(name);
    return namespace_selector_->Matches(object ? object->metadata.labels : kUnknown);
  }

  const model::PodAffinityTerm& term_;
  const cluster::Facts& facts_;
  std::string_view own_namespace_;
  int64_t weight_;
  std::optional<model::Selector> selector_;
  std::optional<model::Selector> namespace_selector_;
};

std::vector<WeightedTerm> TermsOf(const cluster::PodView& pod, const cluster::Facts& facts) {
  std::vector<WeightedTerm> terms;
  for (const auto& term : Liked(pod.spec)) terms.emplace_back(term, pod, facts, 1);
  for (const auto& term : Disliked(pod.spec)) terms.emplace_back(term, pod, facts, -1);
  return terms;
}

}  // namespace

bool PrefersPods(const cluster::PodSpecShape& spec) {
  return !Liked(spec).empty() || !Disliked(spec).empty();
}

PreferredPodAffinity::PreferredPodAffinity(const cluster::Snapshot& snapshot,
                                           cluster::PodIndex index, const NodeSet* heard)
    : snapshot_(snapshot) {
  const cluster::PodView incoming = snapshot.pod(index);
  const auto own_terms = TermsOf(incoming, snapshot.facts());
  for (const cluster::NodeIndex node : snapshot.nodes()) {
    if (heard && own_terms.empty() && !heard->Has(node)) continue;
    const model::Labels& labels = snapshot.node(node).labels;
    const auto count = [&](const WeightedTerm& term, const cluster::PodView& about) {
      const std::string* value = labels.Find(term.key());
      if (value && term.Matches(about)) by_domain_[term.key()][*value] += term.weight();
    };
    for (const cluster::PodIndex other : snapshot.pods_on(node)) {
      const bool prefers = PrefersPods(snapshot.spec(other));
      if (own_terms.empty() && !prefers) continue;
      const cluster::PodView existing = snapshot.pod(other);
      for (const WeightedTerm& term : own_terms) count(term, existing);
      if (!prefers) continue;
      for (const WeightedTerm& term : TermsOf(existing, snapshot.facts())) count(term, incoming);
    }
  }
}

int64_t PreferredPodAffinity::Score(cluster::NodeIndex node) const {
  const model::Labels& labels = snapshot_.node(node).labels;
  int64_t score = 0;
  for (const auto& [key, values] : by_domain_) {
    const std::string* value = labels.Find(key);
    if (!value) continue;
    const auto found = values.find(*value);
    if (found != values.end()) score += found->second;
  }
  return score;
}

namespace {

struct SoftConstraint {
  std::string key;
  model::Selector selector = model::Selector::Nothing();
  int32_t max_skew = 1;
  bool honor_affinity = true;
  bool honor_taints = false;
  std::map<std::string, int64_t, std::less<>> counts;  // by value of the key; not of the hostname
  double weight = 0;
};

Result<std::vector<SoftConstraint>> SoftConstraints(const cluster::PodView& pod) {
  std::vector<SoftConstraint> soft;
  for (const model::TopologySpreadConstraint& c : pod.spec.spread) {
    if (c.when_unsatisfiable != "ScheduleAnyway") continue;
    model::Selector selector = TRY(model::Selector::From(c.label_selector));
    model::Labels own;
    for (const std::string& key : c.match_label_keys) {
      if (const std::string* value = pod.labels().Find(key)) own[key] = *value;
    }
    if (!own.empty() && !selector.matches_nothing()) {
      selector = model::Selector::FromLabels(own).With(selector.requirements());
    }
    soft.push_back({.key = c.topology_key,
                    .selector = std::move(selector),
                    .max_skew = c.max_skew,
                    .honor_affinity = c.node_affinity_policy.value_or("Honor") == "Honor",
                    .honor_taints = c.node_taints_policy.value_or("Ignore") == "Honor"});
  }
  return soft;
}

class SpreadScorer {
 public:
  SpreadScorer(const cluster::Snapshot& snapshot, const cluster::PodView& pod,
               std::vector<SoftConstraint> constraints)
      : snapshot_(snapshot), pod_(pod), constraints_(std::move(constraints)) {}

  std::vector<int64_t> Score(std::span<const cluster::NodeIndex> candidates) {
    std::vector<bool> ignored(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      ignored[i] = !HasAllKeys(candidates[i]);
      if (ignored[i]) continue;
      for (SoftConstraint& c : constraints_) {
        if (c.key != kHostname) c.counts.try_emplace(*Labels(candidates[i]).Find(c.key));
      }
    }
    const auto kept = static_cast<size_t>(std::ranges::count(ignored, false));
    for (SoftConstraint& c : constraints_) {
      c.weight = std::log(static_cast<double>((c.key == kHostname ? kept : c.counts.size()) + 2));
    }
    CountDomains();
    std::vector<int64_t> scores(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!ignored[i]) scores[i] = Raw(candidates[i]);
    }
    Normalize(scores, ignored);
    return scores;
  }

 private:
  const model::Labels& Labels(cluster::NodeIndex node) const { return snapshot_.node(node).labels; }

  bool HasAllKeys(cluster::NodeIndex node) const {
    return std::ranges::all_of(
        constraints_, [&](const SoftConstraint& c) { return Labels(node).contains(c.key); });
  }

  int64_t Matching(cluster::NodeIndex node, const SoftConstraint& c) const {
    if (c.selector.empty() || c.selector.matches_nothing()) return 0;
    return std::ranges::count_if(snapshot_.pods_on(node), [&](cluster::PodIndex other) {
      if (snapshot_.terminating(other)) return false;
      const cluster::PodView view = snapshot_.pod(other);
      return view.namespace_ == pod_.namespace_ && c.selector.Matches(view.labels());
    });
  }

  void CountDomains() {
    const model::RequiredNodeAffinity demand(pod_.spec.node_selector, pod_.spec.affinity);
    for (const cluster::NodeIndex node : snapshot_.nodes()) {
      if (!HasAllKeys(node)) continue;
      for (SoftConstraint& c : constraints_) {
        const auto domain = c.counts.find(*Labels(node).Find(c.key));
        if (c.key == kHostname || domain == c.counts.end()) continue;
        if (c.honor_affinity && !demand.Matches(Labels(node), snapshot_.node(node).name)) continue;
        if (c.honor_taints &&
            model::FirstUntolerated(snapshot_.node_shape(node).taints, pod_.spec.tolerations)) {
          continue;
        }
        domain->second += Matching(node, c);
      }
    }
  }

  int64_t Raw(cluster::NodeIndex node) const {
    double score = 0;
    for (const SoftConstraint& c : constraints_) {
      const int64_t count =
          c.key == kHostname ? Matching(node, c) : c.counts.find(*Labels(node).Find(c.key))->second;
      score += static_cast<double>(count) * c.weight + static_cast<double>(c.max_skew - 1);
    }
    return static_cast<int64_t>(std::round(score));
  }

  static void Normalize(std::vector<int64_t>& scores, const std::vector<bool>& ignored) {
    int64_t least = std::numeric_limits<int64_t>::max();
    int64_t most = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (ignored[i]) continue;
      least = std::min(least, scores[i]);
      most = std::max(most, scores[i]);
    }
    for (size_t i = 0; i < scores.size(); ++i) {
      if (ignored[i]) {
        scores[i] = 0;
      } else {
        scores[i] = most == 0 ? kMaxNodeScore : kMaxNodeScore * (most + least - scores[i]) / most;
      }
    }
  }

  const cluster::Snapshot& snapshot_;
  const cluster::PodView& pod_;
  std::vector<SoftConstraint> constraints_;
};

}  // namespace

Result<SoftSpread> SoftSpread::Create(const cluster::Snapshot& snapshot, cluster::PodIndex index,
                                      std::span<const cluster::NodeIndex> candidates) {
  SoftSpread spread;
  const cluster::PodView pod = snapshot.pod(index);
  auto constraints = TRY(SoftConstraints(pod));
  if (constraints.empty()) return spread;
  spread.scores_ = SpreadScorer(snapshot, pod, std::move(constraints)).Score(candidates);
  return spread;
}

}  // namespace coppice::fit
