// ScaleUpPlanner: what to buy for pods that found no place. A pure plan in two steps: options,
// found by trying on the snapshot; then, with the snapshot as it was, the expanders' choice. Hands
// back resizes with the reasons; the pass carries them out.
//
// In upstream's order, for the answers depend on it: kinds of pods; which groups may grow at all;
// which kinds each could take; per group how many nodes (estimator); the expanders' choice; limits;
// balancing among similar groups.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autoscale/group_states.h"
#include "autoscale/one_at_a_time.h"
#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "autoscale/quotas.h"
#include "autoscale/templates.h"
#include "base/clock.h"
#include "base/log.h"
#include "expand/chain.h"
#include "pack/estimator.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

// An event that upstream would emit; the pass hands it to the writer.
struct PlannedEvent {
  std::string type;  // Normal, Warning
  std::string reason;
  std::string text;
};

struct ScaleUpPlan {
  report::ScaleUp report;                    // final unless there are resizes to carry out
  std::vector<report::GroupResize> resizes;  // to be done, in order
  std::string chosen;                        // the group that the expanders chose
  bool all_or_nothing = false;               // of what is sold to a gang
  std::vector<PlannedEvent> events;

  // What is needed to describe the outcome when a resize has failed.
  struct Kind {
    pack::PodKind pods;
    bool schedulable = false;
    std::vector<std::string> schedulable_groups;
    std::map<std::string, model::Verdict> rejected;  // by group
    // By group that was skipped: what its nodes would have had against the pods, if that was asked.
    std::map<std::string, model::Verdict> skipped_rejects = {};
  };
  std::vector<Kind> kinds;
  std::shared_ptr<const std::map<std::string, std::vector<std::string>>> skipped;
  bool skipped_asked = false;  // skipped_rejects of the kinds is known
};

class ScaleUpPlanner {
 public:
  struct Parts {
    const ScaleUpOptions& options;
    const LimitOptions& limits;
    const SimilarityOptions& similarity;
    cloud::NodeGroups& groups;
    const Templates& templates;
    const GroupStates& state;
    fit::Search& search;
    expand::Chain& expanders;
    const Clock& clock;
    GroupStates::OptionsOf options_of;
    bool first_of_tie;  // replays take the first of several equally good options
    // For expanders that ask another process. Null: they are waited for.
    expand::Elsewhere elsewhere;
    Processors& slots;
    const Log& log;
    OneAtATime* choosing =
        nullptr;  // expanders answer one question at a time; null: who else asks?
  };
  explicit ScaleUpPlanner(Parts parts) : parts_(std::move(parts)) {}

  struct Draft;
  using DraftPtr = std::shared_ptr<Draft>;

  // What could be bought: the options, and what speaks against the others. On a fork of the
  // snapshot, which the draft does not need any more. `nodes`: all of it, stand-ins included, with
  // their groups.
  DraftPtr Consider(const std::vector<fit::PendingPod>& pods,
                    const std::vector<Quotas::NodeOf>& nodes, TimePoint now);
  // What is to be bought: the expanders' choice, within limits. Waits for nothing but an expander
  // that blocks; `around` outlives that.
  Task<ScaleUpPlan> Decide(DraftPtr draft, const expand::Surroundings& around, TimePoint now);

  // Groups below their minimum, where that is enforced.
  ScaleUpPlan PlanMinSizes(const std::vector<Quotas::NodeOf>& nodes, TimePoint now);

  // The report of a plan that was carried out whole, or that failed at `failed` with `error`.
  static report::ScaleUp Succeeded(ScaleUpPlan plan);
  static report::ScaleUp Failed(ScaleUpPlan plan, const std::vector<std::string>& failed,
                                std::string error, bool parallel);

 private:
  Quotas MaximaOf(const std::vector<Quotas::NodeOf>& nodes) const;
  Status ListGroups(Draft& draft, const std::vector<fit::PendingPod>& pods);
  TemplatePtr TemplateOf(const Draft& draft, std::string_view group) const;
  Result<int> TargetOf(const Draft& draft, const std::string& group) const;
  void FilterGroups(Draft& draft, TimePoint now);
  void FindTakers(Draft& draft);
  void AskSkipped(Draft& draft);
  void AskGroup(const NodeTemplate& node_template,
                const std::function<void(ScaleUpPlan::Kind&, model::Verdict)>& tell, Draft& draft);
  void ComputeOptions(Draft& draft);
  std::vector<std::string> AlikeTo(const Draft& draft, const std::string& group) const;
  std::vector<std::string> SimilarTo(const Draft& draft, const std::string& group,
                                     TimePoint now) const;
  void Choose(Draft& draft, const expand::Choice& choice, TimePoint now);
  // False: the whole plan must be given up; the reason is then in the report.
  bool Cap(Draft& draft, int& nodes, int current, const std::string& group);
  void Balance(Draft& draft, int nodes, TimePoint now);

  Parts parts_;
};

}  // namespace coppice::autoscale
