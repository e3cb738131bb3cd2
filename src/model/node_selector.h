// Node selectors, compiled: nodeSelector terms with expressions on labels and on the node's name.
//
// Terms are alternatives; inside a term everything must hold. An empty term selects no node, and no
// term at all selects none either. A malformed term is skipped, and is an error only if no other
// term matches: that is how kube-scheduler reads them.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/pod.h"
#include "model/selector.h"

namespace coppice::model {

// One term. Also used for preferred terms.
class CompiledNodeTerm {
 public:
  explicit CompiledNodeTerm(const NodeSelectorTerm& term);

  bool empty() const { return empty_; }
  const Status& error() const { return error_; }  // why it is malformed, or OK
  // False for an empty or malformed term. A node without a name passes every field condition.
  bool Matches(const Labels& labels, std::string_view node_name) const;

  // The label conditions and the conditions on metadata.name, apart: the first is a question about
  // a node shape, the second about one node.
  bool MatchesLabels(const Labels& labels) const;
  bool MatchesName(std::string_view node_name) const;
  bool has_fields() const { return !fields_.empty(); }
  const std::vector<Requirement>& expressions() const { return expressions_; }

 private:
  struct Field {
    std::string key;
    std::string value;
    bool equal = true;
  };

  bool empty_ = false;
  Status error_;
  std::vector<Requirement> expressions_;
  std::vector<Field> fields_;
};

class CompiledNodeSelector {
 public:
  explicit CompiledNodeSelector(const NodeSelector& selector);

  enum class Answer { kNo, kYes, kError };
  // kError: no term matches and at least one is malformed.
  Answer Match(const Labels& labels, std::string_view node_name) const;
  bool Matches(const Labels& labels, std::string_view node_name) const {
    return Match(labels, node_name) == Answer::kYes;
  }

  Status Validate() const;      // the first malformed term
  bool looks_at_names() const;  // some term has matchFields
  const std::vector<CompiledNodeTerm>& terms() const { return terms_; }  // without the empty ones

 private:
  std::vector<CompiledNodeTerm> terms_;
};

// What a pod demands of a node's labels and name: spec.nodeSelector and required node affinity
// together.
class RequiredNodeAffinity {
 public:
  explicit RequiredNodeAffinity(const Pod& pod)
      : RequiredNodeAffinity(pod.spec.node_selector, pod.spec.affinity) {}
  RequiredNodeAffinity(const Labels& node_selector, const Rare<Affinity>& affinity);

  bool looks_at_names() const { return selector_ && selector_->looks_at_names(); }
  // An error of kube-scheduler counts as no here, as in its own filter.
  bool Matches(const Labels& labels, std::string_view node_name) const;
  const std::optional<CompiledNodeSelector>& selector() const { return selector_; }

 private:
  std::optional<Selector> labels_;
  std::optional<CompiledNodeSelector> selector_;
};

}  // namespace coppice::model
