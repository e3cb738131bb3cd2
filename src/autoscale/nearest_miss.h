// NearestMiss: for pods that nothing was bought for, what would have to be otherwise, group by
// group: a smaller request, a toleration, a larger group. Every answer has been tried: the changed
// pod was put before the same filters on the same template.
//
// Works on the open fork of a pass and leaves nothing in it. Costs one to a few questions to the
// filters per kind of pods and group; Parts::explain_checks bounds them, and what did not get its
// turn in this pass comes first in the next.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autoscale/group_states.h"
#include "autoscale/options.h"
#include "autoscale/pod_changes.h"
#include "autoscale/quotas.h"
#include "autoscale/templates.h"
#include "fit/search.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class NearestMiss {
 public:
  struct Parts {
    const LimitOptions& limits;
    const int explain_checks;  // below zero: as many as it takes
    cloud::NodeGroups& groups;
    const Templates& templates;
    const GroupStates& state;
    fit::Search& search;
    GroupStates::OptionsOf options_of;
  };
  explicit NearestMiss(Parts parts) : parts_(std::move(parts)) {}

  // `nodes`: all of the snapshot, stand-ins included, with their groups; `ready` of them are ready.
  void Explain(report::ScaleUp& scale_up, const std::vector<Quotas::NodeOf>& nodes, size_t ready,
               TimePoint now);

 private:
  struct Trial;  // one group's template in the snapshot

  // What keeps the group from growing at all, whatever the pod.
  ChangeSet Obstacles(const cloud::GroupInfo& group, const model::Node& node, Quotas& quotas,
                      size_t nodes, size_t ready, TimePoint now) const;
  model::Verdict Ask(Trial& trial, const model::Pod& pod, int64_t more_pods);
  // The changes after which the template takes the pod; nullopt: none are known, or no time is
  // left.
  std::optional<ChangeSet> Fit(Trial& trial, const model::Pod& pod);

  Parts parts_;
  int checks_left_ = 0;
  size_t next_ = 0;  // the kind whose turn it is
};

}  // namespace coppice::autoscale
