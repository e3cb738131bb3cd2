// Counters, second half: required anti-affinity of pods that are already placed.

#include <algorithm>

#include "cluster/canonical.h"
#include "cluster/counters.h"
#include "cluster/snapshot.h"

namespace coppice::cluster {
namespace {

const std::vector<model::PodAffinityTerm>* RequiredAntiTerms(const PodSpecShape& spec) {
  if (!spec.affinity || !spec.affinity->pod_anti_affinity) return nullptr;
  const auto& required = spec.affinity->pod_anti_affinity->required;
  return required.empty() ? nullptr : &required;
}

}  // namespace

// One malformed selector voids the whole list of a placed pod, as in kube-scheduler.
Counters::Carries Counters::LearnCarries(SpecId spec) {
  const auto* required = RequiredAntiTerms(snapshot_.interner().spec(spec));
  if (!required) return Carries::kNothing;
  const bool readable = std::ranges::all_of(*required, [](const model::PodAffinityTerm& term) {
    return model::Selector::From(term.label_selector).ok() &&
           model::Selector::From(term.namespace_selector).ok();
  });
  return readable ? Carries::kTerms : Carries::kNothing;
}

TermId Counters::InternTerm(AntiTerm term) {
  Canonical bytes;
  bytes.Add(static_cast<int64_t>(term.topology));
  bytes.Add(term.namespaces);
  for (const model::Selector* selector : {&term.namespace_selector, &term.selector}) {
    bytes.Add(selector->matches_nothing());
    bytes.Add(selector->Canonical());
  }
  const uint64_t hash = HashBytes(bytes.bytes());
  const uint32_t known =
      term_table_.Find(hash, [&](uint32_t id) { return term_bytes_[id] == bytes.bytes(); });
  if (known != IdTable::kAbsent) return known;
  const auto id = static_cast<TermId>(terms_.size());
  term.carriers.assign(keys_[topologies_[term.topology].key_id].domains(), 0);
  keys_[topologies_[term.topology].key_id].terms.push_back(id);
  terms_.push_back(std::move(term));
  term_bytes_.emplace_back(bytes.bytes());
  term_table_.Insert(hash, id);
  return id;
}

const std::vector<TermId>& Counters::TermsOf(SpecId spec, LabelSetId labels) {
  const uint32_t namespace_id = snapshot_.interner().namespace_of(labels);
  // Both are dense and small; the multiplier spreads them over the table.
  const uint64_t hash = ((uint64_t{spec} << 32) | namespace_id) * 0x9E3779B97F4A7C15u >> 7;
  const uint32_t known = spec_terms_table_.Find(hash, [&](uint32_t id) {
    return spec_terms_[id].spec == spec && spec_terms_[id].namespace_id == namespace_id;
  });
  if (known != IdTable::kAbsent) return spec_terms_[known].terms;
  SpecTerms entry{spec, namespace_id, {}};
  const std::string& own = snapshot_.interner().label_set(labels).namespace_;
  for (const model::PodAffinityTerm& term : *RequiredAntiTerms(snapshot_.interner().spec(spec))) {
    AntiTerm compiled{.topology = PlainTopology(term.topology_key),
                      .namespaces = term.namespaces,
                      .namespace_selector = *model::Selector::From(term.namespace_selector),
                      .selector = *model::Selector::From(term.label_selector)};
    if (term.namespaces.empty() && !term.namespace_selector) compiled.namespaces = {own};
    std::ranges::sort(compiled.namespaces);
    entry.terms.push_back(InternTerm(std::move(compiled)));
  }
  spec_terms_table_.Insert(hash, static_cast<uint32_t>(spec_terms_.size()));
  spec_terms_.push_back(std::move(entry));
  return spec_terms_.back().terms;
}

void Counters::CountCarrier(SpecId spec, LabelSetId labels, NodeIndex node, int sign) {
  for (TermId id : TermsOf(spec, labels)) {
    AntiTerm& term = terms_[id];
    const DomainId domain = topologies_[term.topology].domain_of[node];
    if (domain == kNoDomain) continue;
    term.carriers[domain] += sign;
    AddCarriers(term, sign);
  }
}

std::span<const TermId> Counters::TermsAgainst(LabelSetId labels) {
  if (labels >= against_.size()) against_.resize(labels + 1);
  Against& against = against_[labels];
  const uint64_t version = snapshot_.facts().namespaces.version();
  if (against.namespaces_version != version) against = {.namespaces_version = version};
  if (against.seen == terms_.size()) return against.terms;
  const LabelSet& set = snapshot_.interner().label_set(labels);
  const model::Namespace* object = snapshot_.facts().namespaces.Find(set.namespace_);
  // A namespace without an object has no labels.
  static const model::Labels kNoLabels;
  const model::Labels& namespace_labels = object ? object->metadata.labels : kNoLabels;
  for (; against.seen < terms_.size(); ++against.seen) {
    const AntiTerm& term = terms_[against.seen];
    const bool in_namespace =
        std::ranges::find(term.namespaces, set.namespace_) != term.namespaces.end() ||
        term.namespace_selector.Matches(namespace_labels);
    if (in_namespace && term.selector.Matches(set.labels)) against.terms.push_back(against.seen);
  }
  return against.terms;
}

// Takes what one pod counts for from one domain of a topology to another.
void Counters::MovePod(PodIndex index, TopologyId topology, DomainId before, DomainId after) {
  const PodView pod = snapshot_.pod(index);
  const auto move = [&](CounterState& counter) {
    if (counter.topology != topology) return;
    if (before != kNoDomain) BumpDomain(counter, before, -1);
    if (after != kNoDomain) BumpDomain(counter, after, 1);
  };
  Watch& watch = WatchOf(pod.label_set_id);
  for (CounterId id : watch.all) move(counters_[id]);
  if (!pod.terminating) {
    for (CounterId id : watch.not_terminating) move(counters_[id]);
  }
  if (!HasTerms(pod.spec_id)) return;
  for (TermId id : TermsOf(pod.spec_id, pod.label_set_id)) {
    AntiTerm& term = terms_[id];
    if (term.topology != topology) continue;
    if (before != kNoDomain) --term.carriers[before], AddCarriers(term, -1);
    if (after != kNoDomain) ++term.carriers[after], AddCarriers(term, 1);
  }
}

}  // namespace coppice::cluster
