// The first stage: what there is. Asks the cloud, lists nodes and pods, and works out what became
// of what was ordered; touches nothing. What has to be done about it is the next stage's.

#pragma once

#include <functional>
#include <string>

#include "autoscale/group_states.h"
#include "autoscale/node_list.h"
#include "autoscale/orders.h"
#include "autoscale/owners.h"
#include "autoscale/scale_down.h"
#include "autoscale/stage.h"
#include "autoscale/stand_still.h"
#include "autoscale/templates.h"
#include "autoscale/view_age.h"
#include "drain/pdb_tracker.h"

namespace coppice::autoscale {

// What a pass knows of the world.
struct Observation {
  bool listed = false;    // the nodes are those of now, with the provider's word on each
  bool known = false;     // all of the following; else the pass ends, and its report says why
  std::string unhealthy;  // an event: there is no cluster to act on
  bool nothing_is_unneeded = false;  // timers start anew
  DeletionsInProgress deleting;      // as of the beginning
  drain::PdbTracker budgets;
  Pods pending;
  StateFindings findings;
  StandStill::Moment as_of;  // nodes and budgets
};

class ObserveStage {
 public:
  struct Parts {
    const StageParts& shared;
    NodeList& nodes;
    Owners& owners;
    Orders& orders;
    Templates& templates;
    GroupStates& state;
    StandStill& still;
    const ViewAge& view;
  };
  explicit ObserveStage(Parts parts) : parts_(parts), shared_(parts.shared) {}

  Task<Observation> Run(Pass& pass, DeletionsInProgress deleting);
  // Within a later plan: nodes and budgets again, if there may be news. True: there may.
  Result<bool> LookAgain(Observation& seen);
  // And the pods.
  Status ListAgain(Observation& seen);

 private:
  bool IsActionable(Pass& pass, Observation& seen);
  Status List(Observation& seen);
  Status Recognize(Pass& pass, Observation& seen);
  Status MakeTemplates(Pass& pass);

  Parts parts_;
  const StageParts& shared_;
};

}  // namespace coppice::autoscale
