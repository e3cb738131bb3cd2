// GroupQuote: one question to the node groups: what would place all of a gang's tasks? In rounds on
// what the planner sees: machines on their way first, then options, limits, the expanders' choice
// and balancing, then the same for the tasks that are left.
//
// Touches nothing: each round forks the snapshot, plans and reverts before an expander is awaited;
// what one round leaves to the next goes by name (imagined.h). Targets of groups that a round has
// raised are raised here alone.
//
// Decision thread; good for one question.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "autoscale/imagined.h"
#include "autoscale/node_list.h"
#include "autoscale/reservations.h"
#include "autoscale/roster.h"
#include "autoscale/scale_up.h"
#include "autoscale/stage.h"
#include "autoscale/stand_still.h"
#include "autoscale/templates.h"
#include "cloud/node_groups_wrapper.h"
#include "market/offer.h"
#include "market/want.h"

namespace coppice::autoscale {

class GroupQuote {
 public:
  struct Parts {
    const StageParts& shared;
    const NodeList& nodes;
    const GroupStates& state;
    const Templates& templates;
    fit::Search& search;
    expand::Chain& expanders;
    OneAtATime& choosing;
    StandStill& still;
    TpuRequests& tpus;
    const Reservations& reserved;
    bool first_of_tie;
  };
  // `domain`: the value of the topology wish that this quote keeps to; empty: any.
  GroupQuote(const Parts& parts, const market::Want& want, const market::View& view,
             std::string domain);

  // Fills `offer` or, if not all tasks find a place, `refusal` (and with Want::in_part both).
  Task<void> Run();

  market::Offer offer;
  std::optional<market::Refusal> refusal;

 private:
  // The groups as this quote has raised them, and only those that it may use.
  class Raised final : public cloud::NodeGroupsWrapper {
   public:
    using NodeGroupsWrapper::NodeGroupsWrapper;
    std::vector<cloud::GroupInfo> Groups() override;
    Result<int> TargetSize(std::string_view group) override;
    std::map<std::string, int, std::less<>> more;
    std::optional<std::set<std::string, std::less<>>> only;
  };
  struct Missing {  // a task without a place
    cluster::PodPtr pod;
    size_t task_class = 0;
  };

  ScaleUpPlanner::Parts PlannerParts();
  bool InDomain(const model::Node& node) const;
  void MakeTasks();
  void AddUpcoming();
  void PlaceOthers();
  // On the nodes from that position on; who finds none stays in missing_.
  void PlaceMissing(size_t from_position, const std::set<const model::Pod*>* only, bool on_its_way);
  ScaleUpPlanner::DraftPtr Begin();
  ScaleUpPlanner::DraftPtr Next(const ScaleUpPlan& plan, int round);
  void NoteRound(const ScaleUpPlan& plan);
  void Refuse(const report::ScaleUp& report);
  Task<void> LearnPrices();
  void MakeOffer();

  const Parts parts_;
  const market::Want& want_;
  const market::View& view_;
  const std::string domain_;
  Templates templates_;  // a pass may work them out anew meanwhile
  Raised groups_;
  Imagined imagined_;
  Roster roster_;
  ScaleUpPlanner planner_;
  std::vector<Missing> missing_;
  std::map<std::pair<size_t, std::string>, market::Seat> seats_;  // by class and machine
  std::map<std::string, std::string, std::less<>> source_of_;     // of imagined machines, by name
  std::vector<std::string> bought_order_;                         // groups, as first chosen
  std::vector<std::string> why_;
  bool began_ = false;
};

}  // namespace coppice::autoscale
