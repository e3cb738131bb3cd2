// Label selectors, compiled: parsed from text ("tier in (web, db), !canary") or from a
// LabelSelector object, validated as the API server does, asked about labels, printed canonically.
//
// Plain immutable values; equal selectors print equally, so Canonical() is the key to intern them
// by.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/label_names.h"
#include "model/meta.h"

namespace coppice::model {

// One condition on one label.
class Requirement {
 public:
  enum class Operator : uint8_t {
    kIn,
    kNotIn,  // also satisfied by an absent label
    kEquals,
    kDoubleEquals,
    kNotEquals,  // as kNotIn
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan,
  };

  // Refuses what Kubernetes refuses: bad keys and values, a wrong number of values for the
  // operator.
  static Result<Requirement> Create(std::string key, Operator op, std::vector<std::string> values);

  bool Matches(const Labels& labels) const;
  // The same for one label alone: null is an absent one.
  bool MatchesValue(const std::string* value) const;

  const std::string& key() const { return key_; }
  Operator op() const { return op_; }
  const std::vector<std::string>& values() const { return values_; }  // sorted
  void AppendTo(std::string& out) const;                              // canonical text

  friend bool operator==(const Requirement&, const Requirement&) = default;

 private:
  friend class Selector;
  Requirement(std::string key, Operator op, std::vector<std::string> values);

  std::string key_;
  Operator op_;
  std::vector<std::string> values_;
  std::optional<int64_t> bound_;  // of kGreaterThan and kLessThan
};

class Selector {
 public:
  static Selector Everything() { return Selector(false, {}); }
  static Selector Nothing() { return Selector(true, {}); }

  static Result<Selector> Parse(std::string_view text);
  // An empty object selects everything.
  static Result<Selector> From(const LabelSelector& selector);
  // An absent one selects nothing.
  static Result<Selector> From(const std::optional<LabelSelector>& selector);
  // All of these labels, unvalidated (what upstream does with spec.nodeSelector and Service
  // selectors); none selects everything.
  static Selector FromLabels(const Labels& labels);

  bool Matches(const Labels& labels) const;

  bool matches_nothing() const { return nothing_; }
  // No requirement at all. Nothing() is not empty, as upstream has it.
  bool empty() const { return !nothing_ && requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }  // sorted by key
  std::string Canonical() const;

  // A copy with more requirements.
  Selector With(std::vector<Requirement> more) const;

  friend bool operator==(const Selector&, const Selector&) = default;

 private:
  Selector(bool nothing, std::vector<Requirement> requirements);

  bool nothing_ = false;
  std::vector<Requirement> requirements_;
};

}  // namespace coppice::model
