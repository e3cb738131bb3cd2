// NodeAffinity: spec.nodeSelector, required node affinity, and the affinity that the scheduler's
// profile adds.
//
// Mostly a question about shapes. A selector on a label that differs on every machine, or on
// metadata.name, is a question about single nodes; if every term pins metadata.name, the search is
// narrowed to those names.

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "fit/filter.h"
#include "model/node_selector.h"

namespace coppice::filters::node_affinity {
namespace {

constexpr std::string_view kName = "NodeAffinity";
constexpr std::string_view kNameField = "metadata.name";

const model::NodeSelector* Required(const cluster::PodSpecShape& pod) {
  if (!pod.affinity || !pod.affinity->node_affinity || !pod.affinity->node_affinity->required)
    return nullptr;
  return &*pod.affinity->node_affinity->required;
}

bool LooksAtSingleNodes(const model::NodeSelector& selector) {
  return std::ranges::any_of(selector.node_selector_terms, [](const model::NodeSelectorTerm& term) {
    return !term.match_fields.empty() ||
           std::ranges::any_of(term.match_expressions,
                               [](const auto& e) { return cluster::IsPerNodeLabel(e.key); });
  });
}

// The names that the term's conditions on metadata.name leave; absent: the term has none of the
// form In.
std::optional<std::vector<std::string>> PinnedBy(const model::NodeSelectorTerm& term) {
  std::optional<std::vector<std::string>> names;
  for (const model::NodeSelectorRequirement& field : term.match_fields) {
    if (field.key != kNameField || field.operator_ != "In") continue;
    if (!names) {
      names = field.values;
    } else {
      std::erase_if(*names, [&](const std::string& name) {
        return std::ranges::find(field.values, name) == field.values.end();
      });
    }
  }
  return names;
}

// Absent unless every term pins names: terms are alternatives.
std::optional<std::vector<std::string>> Pinned(const model::NodeSelector& selector) {
  std::optional<std::vector<std::string>> all;
  for (const model::NodeSelectorTerm& term : selector.node_selector_terms) {
    const auto names = PinnedBy(term);
    if (!names) return std::nullopt;
    if (!all) all.emplace();
    all->insert(all->end(), names->begin(), names->end());
  }
  return all;
}

struct Refusals {
  model::Verdict pod = model::Verdict::No(kName, model::VerdictCode::kUnschedulableAndUnresolvable,
                                          "node(s) didn't match Pod's node affinity/selector");
  model::Verdict added =
      model::Verdict::No(kName, model::VerdictCode::kUnschedulableAndUnresolvable,
                         "node(s) didn't match scheduler-enforced node affinity");
  model::Verdict conflict = model::Verdict::No(
      kName, model::VerdictCode::kUnschedulableAndUnresolvable, "pod affinity terms conflict");
};

class SingleNodes final : public fit::NodeCheck {
 public:
  SingleNodes(const cluster::PodSpecShape& pod,
              const std::optional<model::CompiledNodeSelector>& added,
              const cluster::Snapshot& snapshot, const Refusals& refusals)
      : demand_(pod.node_selector, pod.affinity),
        added_(added),
        snapshot_(snapshot),
        refusals_(refusals) {}

  model::Verdict Check(cluster::NodeIndex index) const override {
    const cluster::NodeFacts& node = snapshot_.node(index);
    if (added_ && !added_->Matches(node.labels, node.name)) return refusals_.added;
    return demand_.Matches(node.labels, node.name) ? model::Verdict::Yes() : refusals_.pod;
  }
  bool OwnNodeOnly() const override { return true; }

 private:
  model::RequiredNodeAffinity demand_;
  const std::optional<model::CompiledNodeSelector>& added_;
  const cluster::Snapshot& snapshot_;
  const Refusals& refusals_;
};

class NodeAffinity final : public fit::ShapeFilter {
 public:
  explicit NodeAffinity(const fit::SchedulerConfig& config) {
    if (!config.added_affinity || !config.added_affinity->required) return;
    added_.emplace(*config.added_affinity->required);
    added_looks_at_single_nodes_ = LooksAtSingleNodes(*config.added_affinity->required);
  }

  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    const model::NodeSelector* required = Required(pod.spec);
    if (!required && !added_ && pod.spec.node_selector.empty())
      return fit::Preparation::Skip().ForSpec();
    const bool single =
        added_looks_at_single_nodes_ || (required && LooksAtSingleNodes(*required)) ||
        std::ranges::any_of(pod.spec.node_selector,
                            [](const auto& label) { return cluster::IsPerNodeLabel(label.first); });
    if (!single) return fit::Preparation::AskShapes().ForSpec();
    auto asked =
        fit::Preparation::Ask(std::make_unique<SingleNodes>(pod.spec, added_, snapshot, refusals_));
    auto pinned = required ? Pinned(*required) : std::nullopt;
    if (!pinned) return std::move(asked).ForSpec();
    if (pinned->empty()) return fit::Preparation::Reject(refusals_.conflict);
    return std::move(asked).Only(std::move(*pinned));
  }

  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override {
    // No name: nothing here looks at it.
    if (added_ && !added_->Matches(node.labels, "")) return refusals_.added;
    const model::RequiredNodeAffinity demand(pod.node_selector, pod.affinity);
    return demand.Matches(node.labels, "") ? model::Verdict::Yes() : refusals_.pod;
  }

 private:
  std::optional<model::CompiledNodeSelector> added_;
  bool added_looks_at_single_nodes_ = false;
  const Refusals refusals_;
};

}  // namespace

void Register(fit::FilterRegistry& registry) {
  registry.Add(kName, fit::FactoryOf<NodeAffinity>());
}

}  // namespace coppice::filters::node_affinity
