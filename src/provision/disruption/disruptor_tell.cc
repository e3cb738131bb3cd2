// What a round of disruption tells: events of nodes, claims, pools and pods, metrics, who stays and
// why, and what a dry run would have done.

#include <set>
#include <utility>

#include "provision/disruption/disruptor.h"
#include "wire/time_text.h"

namespace coppice::provision {

namespace {

constexpr Duration kUnconsolidatableAgain = std::chrono::minutes(15);

}  // namespace

// What pods on machines of ours say about being disturbed, if it needs telling.
void Disruptor::TellProtected(const DisruptionWorld& world) {
  constexpr Duration kForGood = std::chrono::hours(1);
  for (const Machine& machine : world.machines) {
    if (machine.claim == nullptr || machine.known == nullptr || !machine.known->speaks) continue;
    for (const PodPtr& pod : machine.pods) {
      if (!IsActive(*pod)) continue;
      const Protection protection = ProtectionOf(*pod, world.now);
      if (protection.what == Protection::What::kInvalid) {
        context().Tell(Context::Of(*pod), "Warning", "InvalidDoNotDisruptAnnotation",
                       "Invalid karpenter.sh/do-not-disrupt annotation: " + protection.wrong +
                           ", ignoring annotation");
      } else if (protection.what == Protection::What::kUntil && protection.until) {
        context().Tell(Context::Of(*pod), "Normal", "DoNotDisruptUntil",
                       "The karpenter.sh/do-not-disrupt grace period will elapse at " +
                           wire::FormatRfc3339(*protection.until));
      } else if (protection.what == Protection::What::kElapsed) {
        context().Tell(Context::Of(*pod), "Normal", "DoNotDisruptGracePeriodElapsed",
                       "The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now "
                       "disruptable",
                       kForGood);
      }
    }
  }
}

void Disruptor::TellEligible(Method method, const MethodAnswer& answer) {
  const std::string reason = LowerReason(method);
  context().Set("karpenter_voluntary_disruption_eligible_nodes",
                "Number of nodes eligible for disruption by Karpenter.",
                static_cast<double>(answer.candidates.size()), {{"reason", reason}});
  for (const auto& [pool, use] : answer.budget_uses) {
    budgets_[pool][std::string(ReasonOf(method))] = use.left();
    context().SetOfPool(
        pool, "karpenter_nodepools_allowed_disruptions",
        "The number of nodes for a given NodePool that can be concurrently disrupting.",
        static_cast<double>(use.allowed), {{"reason", reason}});
    context().SetOfPool(pool, "karpenter_nodepools_nodes_consuming_budgets",
                        "The number of nodes that use the budget of a NodePool.",
                        static_cast<double>(use.used), {{"reason", reason}});
  }
}

void Disruptor::CountMoves(const MethodAnswer& answer) {
  static const std::vector<double> kScores = {0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10};
  for (const WeighedMove& move : answer.weighed) {
    const auto labels = [&](bool approved) {
      return MetricLabels{{"decision", approved ? "approved" : "rejected"},
                          {"nodepool", move.pool},
                          {"policy", move.policy}};
    };
    context().Count("karpenter_consolidation_moves_total",
                    "Moves of consolidation that were weighed.", labels(move.approved));
    if (!move.score) continue;
    context()
        .parts.metrics
        .GetHistogram("karpenter_consolidation_score",
                      "What moves of Balanced pools save, for what they disturb.", kScores,
                      labels(move.score->Approved()))
        .Observe(move.score->Score());
  }
}

// To add to.
std::map<std::string, report::StayingPoolNode>& Disruptor::StayingNow() {
  if (!std::exchange(staying_holds_, false)) return staying_now_;
  for (const report::StayingPoolNode& staying : staying_)
    staying_now_.emplace(staying.node, staying);
  return staying_now_;
}

void Disruptor::Tell(const MethodAnswer& answer, const DisruptionWorld& world) {
  for (const DisruptionEvent& event : answer.events) {
    const std::string reason(ToString(event.kind));
    if (!event.machine) {
      if (const auto pool = parts_.pools.Find(event.pool))
        context().Tell(Context::Of(*pool), "Normal", reason, event.text, std::chrono::minutes(1));
      continue;
    }
    const StateNode& state = world.solver.nodes[*event.machine];
    const Machine& machine = world.machines[*event.machine];
    const bool sick = event.kind == DisruptionEventKind::kRepairBlocked;
    const Duration again = sick || event.kind == DisruptionEventKind::kUnconsolidatable
                               ? kUnconsolidatableAgain
                               : Context::kTellAgain;
    const std::string_view type = sick ? "Warning" : "Normal";
    if (state.node != nullptr && !event.quiet)
      context().Tell(Context::Of(*state.node), type, reason, event.text, again);
    if (machine.claim != nullptr && !event.quiet)
      context().Tell(Context::Of(*machine.claim), type, reason, event.text, again);
    if (const auto pool = sick ? parts_.pools.Find(event.pool) : nullptr)
      context().Tell(Context::Of(*pool), type, reason, event.text, again);
    if (event.kind != DisruptionEventKind::kBlocked && !sick &&
        event.kind != DisruptionEventKind::kUnconsolidatable)
      continue;
    report::StayingPoolNode staying{
        .node = state.node == nullptr ? "" : state.node->metadata.name,
        .claim = machine.claim == nullptr ? "" : machine.claim->metadata.name,
        .pool = LabelOr(state.labels(), model::kNodePoolLabel),
        .reason = reason,
        .text = event.detail.empty() ? event.text : event.text + ": " + event.detail};
    StayingNow()[state.name()] = std::move(staying);
  }
  for (const Candidate& candidate : answer.candidates) {
    const StateNode& state = world.solver.nodes[candidate.machine];
    const auto left = answer.budgets.find(candidate.pool_name());
    if (left == answer.budgets.end() || left->second > 0) continue;
    StayingNow().try_emplace(
        state.name(),
        report::StayingPoolNode{.node = state.name(),
                                .claim = world.machines[candidate.machine].claim->metadata.name,
                                .pool = candidate.pool_name(),
                                .reason = "Budget",
                                .text = "the budgets of its pool allow no disruption now"});
  }
}

std::string Disruptor::ShownAs(const Order& order) const {
  std::set<std::string> parts;
  for (size_t i = 0; i < order.claims.size(); ++i) {
    parts.insert(order.claims[i]->metadata.uid);
    for (const auto* entry : context().world().BoundTo(order.nodes[i]->metadata.name))
      parts.insert(entry->pod->metadata.uid);
  }
  std::string text(ReasonOf(order.method));
  for (const std::string& part : parts) text += "/" + part;
  return text;
}

bool Disruptor::WasShown(const Order& order) const {
  return context().pretends() && shown_.contains(ShownAs(order));
}

void Disruptor::Show(const Order& order) {
  constexpr size_t kMostShown = 10'000;
  if (shown_.size() >= kMostShown) shown_.clear();
  shown_.insert(ShownAs(order));
  parts_.queue.Note(order, "Shown", "a dry run: it would be carried out", context().Now());
}

}  // namespace coppice::provision
