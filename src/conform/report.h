// What came of playing a contract against somebody's server: a verdict and a reason per rule, as
// text for people and as JUnit's XML for whoever runs it in a pipeline.
//
// Values only; no thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace coppice::conform {

enum class Verdict {
  kPassed,
  kFailed,
  kNotApplicable,  // could not be tried, or does not concern this server
};

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string reason;  // empty only if it passed
};
inline Outcome Passed(std::string remark = "") { return {Verdict::kPassed, std::move(remark)}; }
inline Outcome Failed(std::string reason) { return {Verdict::kFailed, std::move(reason)}; }
inline Outcome NotApplicable(std::string reason) {
  return {Verdict::kNotApplicable, std::move(reason)};
}

struct RuleResult {
  std::string name;
  std::string says;     // what has to hold
  std::string section;  // where our documentation says so
  Outcome outcome;
  Duration took = Duration::zero();
};

struct Report {
  std::string contract;  // "provider", "expander", ...
  std::string target;    // where the server is
  std::vector<RuleResult> rules;

  size_t Count(Verdict verdict) const;
  // 0: no rule failed and at least one was tried; 1: one failed.
  int ExitCode() const;
};

// One line per rule, failures with the rule's sentence and its section below.
std::string ToText(const Report& report);
std::string ToText(const RuleResult& result);
std::string Summary(const Report& report);  // the last line
std::string ToJUnit(const Report& report);

}  // namespace coppice::conform
