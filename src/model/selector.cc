#include "model/selector.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/strings.h"

namespace coppice::model {
namespace {

using Operator = Requirement::Operator;

// As Go's strconv.ParseInt: a sign of either kind, then digits only.
std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

bool IsOrder(Operator op) { return op == Operator::kGreaterThan || op == Operator::kLessThan; }

// Empty, or what is wrong with the number of values.
std::string_view WrongWithCount(Operator op, size_t count) {
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      return count == 0 ? "In and NotIn need at least one value" : "";
    case Operator::kExists:
    case Operator::kDoesNotExist:
      return count != 0 ? "Exists and DoesNotExist take no values" : "";
    case Operator::kEquals:
    case Operator::kDoubleEquals:
    case Operator::kNotEquals:
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      return count != 1 ? "exactly one value is needed" : "";
  }
  return "";
}

std::optional<Operator> OperatorOf(std::string_view name) {
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  return std::nullopt;
}

std::string_view Symbol(Operator op) {
  switch (op) {
    case Operator::kIn:
      return " in ";
    case Operator::kNotIn:
      return " notin ";
    case Operator::kEquals:
      return "=";
    case Operator::kDoubleEquals:
      return "==";
    case Operator::kNotEquals:
      return "!=";
    case Operator::kGreaterThan:
      return ">";
    case Operator::kLessThan:
      return "<";
    case Operator::kExists:
    case Operator::kDoesNotExist:
      return "";
  }
  return "";
}

}  // namespace

Requirement::Requirement(std::string key, Operator op, std::vector<std::string> values)
    : key_(std::move(key)), op_(op), values_(std::move(values)) {
  std::ranges::sort(values_);
  if (IsOrder(op_) && values_.size() == 1) bound_ = ParseInteger(values_[0]);
}

Result<Requirement> Requirement::Create(std::string key, Operator op,
                                        std::vector<std::string> values) {
  if (const std::string wrong = WrongWithLabelKey(key); !wrong.empty()) {
    return InvalidArgument("label key " + Quoted(key) + " " + wrong);
  }
  if (const std::string_view wrong = WrongWithCount(op, values.size()); !wrong.empty()) {
    return InvalidArgument("label " + Quoted(key) + ": " + std::string(wrong));
  }
  for (const std::string& value : values) {
    if (const std::string wrong = WrongWithLabelValue(value); !wrong.empty()) {
      return InvalidArgument("value " + Quoted(value) + " of label " + Quoted(key) + " " + wrong);
    }
    if (IsOrder(op) && !ParseInteger(value)) {
      return InvalidArgument("value " + Quoted(value) + " of label " + Quoted(key) +
                             " must be an integer, to be compared with");
    }
  }
  return Requirement(std::move(key), op, std::move(values));
}

bool Requirement::MatchesValue(const std::string* value) const {
  switch (op_) {
    case Operator::kIn:
    case Operator::kEquals:
    case Operator::kDoubleEquals:
      return value != nullptr && std::ranges::find(values_, *value) != values_.end();
    case Operator::kNotIn:
    case Operator::kNotEquals:
      return value == nullptr || std::ranges::find(values_, *value) == values_.end();
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      if (value == nullptr || !bound_) return false;
      const auto number = ParseInteger(*value);
      if (!number) return false;
      return op_ == Operator::kGreaterThan ? *number > *bound_ : *number < *bound_;
    }
  }
  return false;
}

bool Requirement::Matches(const Labels& labels) const { return MatchesValue(labels.Find(key_)); }

void Requirement::AppendTo(std::string& out) const {
  if (op_ == Operator::kDoesNotExist) out += '!';
  out += key_;
  out += Symbol(op_);
  const bool set = op_ == Operator::kIn || op_ == Operator::kNotIn;
  if (set) out += '(';
  out += Join(values_, ",");
  if (set) out += ')';
}

Selector::Selector(bool nothing, std::vector<Requirement> requirements)
    : nothing_(nothing), requirements_(std::move(requirements)) {
  // Insertion sort: there are few, and those of one key must keep their order, for it shows in the
  // canonical text.
  for (auto it = requirements_.begin(); it != requirements_.end(); ++it) {
    std::rotate(
        std::ranges::upper_bound(requirements_.begin(), it, it->key(), {}, &Requirement::key), it,
        it + 1);
  }
}

Result<Selector> Selector::From(const LabelSelector& selector) {
  std::vector<Requirement> all;
  for (const auto& [key, value] : selector.match_labels) {
    all.push_back(TRY(Requirement::Create(key, Operator::kEquals, {value})));
  }
  for (const LabelSelectorRequirement& expression : selector.match_expressions) {
    const auto op = OperatorOf(expression.operator_);
    if (!op) {
      return InvalidArgument(
          Quoted(expression.operator_) +
          " is not an operator of label selectors; there are In, NotIn, Exists and DoesNotExist");
    }
    all.push_back(TRY(Requirement::Create(expression.key, *op, expression.values)));
  }
  return Selector(false, std::move(all));
}

Result<Selector> Selector::From(const std::optional<LabelSelector>& selector) {
  if (!selector) return Nothing();
  return From(*selector);
}

Selector Selector::FromLabels(const Labels& labels) {
  std::vector<Requirement> all;
  all.reserve(labels.size());
  for (const auto& [key, value] : labels)
    all.push_back(Requirement(key, Operator::kEquals, {value}));
  return Selector(false, std::move(all));
}

bool Selector::Matches(const Labels& labels) const {
  return !nothing_ && std::ranges::all_of(requirements_,
                                          [&](const Requirement& r) { return r.Matches(labels); });
}

std::string Selector::Canonical() const {
  std::string out;
  for (const Requirement& requirement : requirements_) {
    if (!out.empty()) out += ',';
    requirement.AppendTo(out);
  }
  return out;
}

Selector Selector::With(std::vector<Requirement> more) const {
  if (nothing_) return *this;
  std::vector<Requirement> all = requirements_;
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return Selector(false, std::move(all));
}

}  // namespace coppice::model
