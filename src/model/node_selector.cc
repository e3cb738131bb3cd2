#include "model/node_selector.h"

#include <algorithm>
#include <utility>

namespace coppice::model {
namespace {

constexpr std::string_view kNameField = "metadata.name";

Result<Requirement> Compile(const NodeSelectorRequirement& expression) {
  using Known = Requirement::Operator;
  static constexpr std::pair<std::string_view, Known> kOperators[] = {
      {"In", Known::kIn},          {"NotIn", Known::kNotIn},
      {"Exists", Known::kExists},  {"DoesNotExist", Known::kDoesNotExist},
      {"Gt", Known::kGreaterThan}, {"Lt", Known::kLessThan}};
  for (const auto& [name, op] : kOperators) {
    if (name == expression.operator_)
      return Requirement::Create(expression.key, op, expression.values);
  }
  return InvalidArgument("\"" + expression.operator_ +
                         "\" is not an operator of node selectors; there are In, NotIn, Exists, "
                         "DoesNotExist, Gt and Lt");
}

}  // namespace

CompiledNodeTerm::CompiledNodeTerm(const NodeSelectorTerm& term)
    : empty_(term.match_expressions.empty() && term.match_fields.empty()) {
  for (const NodeSelectorRequirement& expression : term.match_expressions) {
    auto compiled = Compile(expression);
    if (compiled.ok()) {
      expressions_.push_back(std::move(compiled).value());
    } else if (error_.ok()) {
      error_ = compiled.status().Context("matchExpressions");
    }
  }
  for (const NodeSelectorRequirement& field : term.match_fields) {
    const bool equal = field.operator_ == "In";
    if ((equal || field.operator_ == "NotIn") && field.values.size() == 1) {
      fields_.push_back({.key = field.key, .value = field.values[0], .equal = equal});
    } else if (error_.ok()) {
      error_ = InvalidArgument("matchFields: needs the operator In or NotIn and exactly one value");
    }
  }
}

bool CompiledNodeTerm::MatchesLabels(const Labels& labels) const {
  return std::ranges::all_of(expressions_, [&](const Requirement& r) { return r.Matches(labels); });
}

bool CompiledNodeTerm::MatchesName(std::string_view node_name) const {
  if (node_name.empty()) return true;
  return std::ranges::all_of(fields_, [&](const Field& field) {
    // A node has no other field than its name; the others read as empty.
    const std::string_view actual = field.key == kNameField ? node_name : std::string_view();
    return (actual == field.value) == field.equal;
  });
}

bool CompiledNodeTerm::Matches(const Labels& labels, std::string_view node_name) const {
  return !empty_ && error_.ok() && MatchesLabels(labels) && MatchesName(node_name);
}

CompiledNodeSelector::CompiledNodeSelector(const NodeSelector& selector) {
  for (const NodeSelectorTerm& term : selector.node_selector_terms) {
    CompiledNodeTerm compiled(term);
    if (!compiled.empty()) terms_.push_back(std::move(compiled));
  }
}

CompiledNodeSelector::Answer CompiledNodeSelector::Match(const Labels& labels,
                                                         std::string_view node_name) const {
  bool malformed = false;
  for (const CompiledNodeTerm& term : terms_) {
    if (term.Matches(labels, node_name)) return Answer::kYes;
    malformed = malformed || !term.error().ok();
  }
  return malformed ? Answer::kError : Answer::kNo;
}

Status CompiledNodeSelector::Validate() const {
  for (const CompiledNodeTerm& term : terms_) TRY(term.error());
  return Status::Ok();
}

bool CompiledNodeSelector::looks_at_names() const {
  return std::ranges::any_of(terms_,
                             [](const CompiledNodeTerm& term) { return term.has_fields(); });
}

RequiredNodeAffinity::RequiredNodeAffinity(const Labels& node_selector,
                                           const Rare<Affinity>& affinity) {
  if (!node_selector.empty()) labels_ = Selector::FromLabels(node_selector);
  if (affinity && affinity->node_affinity && affinity->node_affinity->required) {
    selector_.emplace(*affinity->node_affinity->required);
  }
}

bool RequiredNodeAffinity::Matches(const Labels& labels, std::string_view node_name) const {
  return (!labels_ || labels_->Matches(labels)) &&
         (!selector_ || selector_->Matches(labels, node_name));
}

}  // namespace coppice::model
