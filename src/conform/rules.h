// Rules: a contract as a literal table, and the loop that plays it.
//
// A rule is tried after those above it in its table and may use what they have found. It judges one
// thing: what another rule judges makes it "not applicable", never failed, so that a server that is
// wrong in one way is told one thing.

#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "conform/report.h"

namespace coppice::conform {

template <class Subject>
struct Rule {
  std::string_view name;
  std::string_view says;
  std::string_view
      section;  // file and heading: "docs/extending/expander.md#2-over-grpc-any-language"
  Outcome (*run)(Subject&);
};

// A rule without its function, for whoever lists them.
struct RuleText {
  std::string_view name;
  std::string_view says;
  std::string_view section;
};

template <class Subject>
std::vector<RuleText> TextsOf(std::span<const Rule<Subject>> rules) {
  std::vector<RuleText> texts;
  for (const Rule<Subject>& rule : rules) texts.push_back({rule.name, rule.says, rule.section});
  return texts;
}

struct PlayOptions {
  std::string contract;
  std::string target;
  std::vector<std::string> skip;                 // names of rules
  std::function<void(const RuleResult&)> heard;  // as they come; may be null
};

// `subject.Alive()` says whether the server still answers. Once it does not, nothing more is
// learned, and the rules that are left say after which one that was.
template <class Subject>
Report Play(std::span<const Rule<Subject>> rules, Subject& subject, const PlayOptions& options,
            const Clock& clock) {
  Report report{.contract = options.contract, .target = options.target};
  std::string gone;
  for (const Rule<Subject>& rule : rules) {
    RuleResult result{.name = std::string(rule.name),
                      .says = std::string(rule.says),
                      .section = std::string(rule.section)};
    const TimePoint start = clock.Now();
    if (!gone.empty()) {
      result.outcome = NotApplicable("the server has not answered since " + gone);
    } else if (std::ranges::find(options.skip, rule.name) != options.skip.end()) {
      result.outcome = NotApplicable("left out by --skip");
    } else {
      result.outcome = rule.run(subject);
      if (result.outcome.verdict == Verdict::kFailed) {
        if (const Status alive = subject.Alive(); !alive.ok()) {
          gone = result.name;
          result.outcome.reason += "; and now it does not answer at all: " + alive.ToString();
        }
      }
    }
    result.took = clock.Now() - start;
    if (options.heard) options.heard(result);
    report.rules.push_back(std::move(result));
  }
  return report;
}

// The names in `skip` that no rule has.
std::vector<std::string> UnknownRules(std::span<const RuleText> rules,
                                      const std::vector<std::string>& skip);

}  // namespace coppice::conform
