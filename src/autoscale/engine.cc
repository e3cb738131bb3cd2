#include "autoscale/engine.h"

#include <utility>

#include "autoscale/cluster_status.h"
#include "autoscale/pod_lists.h"
#include "model/pod_kinds.h"

namespace coppice::autoscale {

namespace {

// A process that has been away for longer has not seen what nodes were needed for meanwhile.
constexpr Duration kMemoryLasts = std::chrono::minutes(10);
// The provider is asked whose a node is by the refresh of the next pass.
constexpr Duration kNextQuestion = std::chrono::seconds(1);
constexpr Duration kNextGroup = std::chrono::milliseconds(200);
constexpr Duration kInstanceRefresh = std::chrono::minutes(2);  // upstream's
// A machine that was deleted counts as being there for so long.
constexpr Duration kGoneWithin = std::chrono::minutes(5);

// Upstream's background refresh. By its own clock, not by the passes: what has come since the last
// round is not known to a pass, however late that is.
Task<void> RefreshInstances(Executor& executor, std::weak_ptr<GroupStates> of) {
  for (;;) {
    {
      const std::shared_ptr<GroupStates> state = of.lock();
      if (state == nullptr) co_return;
      state->RefreshInstances();
    }
    co_await executor.Sleep(kInstanceRefresh);
  }
}

StageOptions StageOptionsOf(const Options& options) {
  return {.pods = options,
          .buying = options,
          .limits = options,
          .similarity = options,
          .repair = options,
          .deletions = options,
          .status = options,
          .deviations = options.deviations,
          .explains_all = options.explain_checks < 0};
}

ScaleDownPlanner::Rules ScaleDownRulesOf(const Options& options) {
  return {.looking = options,
          .drain = options,
          .limits = options,
          .deviations = options.deviations,
          .unneeded_time = options.group_defaults.scale_down_unneeded_time,
          .candidate_ttl = options.node_deletion_candidate_ttl,
          .most_at_once = options.max_scale_down_parallelism,
          .explains_all = options.explain_checks < 0};
}

}  // namespace

bool Engine::Counts(const PodOptions& options, const model::Pod& pod) {
  return CountsAsPod(options, pod);
}

Engine::Engine(Parts parts)
    : parts_(std::move(parts)),
      slots_(parts_.processors != nullptr ? *parts_.processors : standard_),
      orders_(parts_.groups, parts_.cloud, parts_.executor),
      groups_(orders_.groups()),
      options_of_(groups_, parts_.options.group_defaults, slots_),
      tell_(parts_.options, parts_.writer, slots_),
      view_(parts_.options.deviations, parts_.view_age, parts_.oldest_kind),
      shared_{StageOptionsOf(parts_.options),
              parts_.world,
              groups_,
              parts_.cloud,
              parts_.executor,
              slots_,
              parts_.log,
              options_of_,
              tell_},
      owners_(parts_.options.deviations, groups_, parts_.world),
      nodes_(parts_.options, parts_.world, groups_, owners_, slots_),
      templates_(parts_.options, parts_.options, groups_, parts_.rng),
      state_(parts_.options, parts_.options.deviations, groups_, options_of_,
             [this](std::string_view group) { return templates_.Find(group) != nullptr; }),
      cooldowns_(parts_.options, parts_.executor.clock().Now()),
      still_(parts_.world, parts_.executor, !parts_.options.deviations.news_between_stages),
      search_(parts_.world.snapshot(), parts_.filters),
      choosing_(parts_.executor),
      up_({parts_.options, parts_.options, parts_.options, groups_, templates_, state_, search_,
           parts_.expanders, parts_.executor.clock(), options_of_, parts_.first_of_tie,
           [this](std::function<void()> work) { return parts_.cloud.Elsewhere(std::move(work)); },
           slots_, parts_.log, &choosing_}),
      nearest_({parts_.options, parts_.options.explain_checks, groups_, templates_, state_, search_,
                options_of_}),
      down_({ScaleDownRulesOf(parts_.options), groups_, parts_.world, search_,
             parts_.executor.clock(), options_of_, slots_}),
      fuse_(parts_.options, parts_.options.deviations, parts_.writer, parts_.log),
      actuator_(ActuatorParts()),
      buyer_(shared_, orders_, state_, cooldowns_, [this] { Wake(); }),
      help_(shared_, search_, down_.traits()),
      observe_({shared_, nodes_, owners_, orders_, templates_, state_, still_, view_}),
      repair_({shared_, nodes_, owners_, state_, down_, actuator_, buyer_, view_}),
      scale_up_({shared_, observe_, nodes_, state_, templates_, search_, up_, help_, nearest_,
                 buyer_, cooldowns_, still_, reserved_}),
      scale_down_(
          {shared_, observe_, nodes_, state_, down_, fuse_, actuator_, cooldowns_, still_, view_}),
      seller_({shared_, owners_, nodes_, state_, templates_, search_, parts_.expanders, choosing_,
               buyer_, cooldowns_, still_, tpus_, reserved_, parts_.first_of_tie}) {
  if (!parts_.options.deviations.fresh_instances)
    parts_.executor.Spawn(RefreshInstances(parts_.executor, watched_));
}

Actuator::Parts Engine::ActuatorParts() {
  return {.options = parts_.options,
          .drain = parts_.options,
          .pods = parts_.options,
          .deviations = parts_.options.deviations,
          .cloud = parts_.cloud,
          .writer = parts_.writer,
          .executor = parts_.executor,
          .world = parts_.world,
          .options_of = options_of_,
          .counts =
              [this](const model::Pod& pod) {
                return !model::IsExpendable(pod, parts_.options.expendable_pods_priority_cutoff);
              },
          .status_event = [this](std::string_view type, std::string_view reason,
                                 std::string text) { tell_.Status(type, reason, std::move(text)); },
          .removed =
              [this](std::string_view group, std::string_view node, TimePoint now) {
                state_.RegisterScaleDown(group, now + kGoneWithin);
                cooldowns_.GroupScaledDown(group, now);
                fuse_.Removed(node, now);
                for (const auto& observer : slots_.scale_state) observer->ScaledDown(group, now);
              },
          .failed =
              [this](std::string_view group, TimePoint now) {
                cooldowns_.GroupFailed(group, now);
                for (const auto& observer : slots_.scale_state)
                  observer->ScaleDownFailed(group, now);
              },
          .ended = [this] { Wake(); },
          .may_delete = [this](const cloud::NodeRef& node,
                               std::string_view group) { return owners_.NotOurs(node, group); }};
}

void Engine::Wake() const {
  if (parts_.wake) parts_.wake();
}

Memory Engine::Remember(TimePoint now) {
  return {.written = now,
          .last_scale_up = cooldowns_.last_scale_up(),
          .last_delete = cooldowns_.last_delete(),
          .last_failure = cooldowns_.last_failure(),
          .backoffs = state_.backoffs().entries()};
}

void Engine::Recall(const Memory& memory, TimePoint now) {
  if (!parts_.options.deviations.survive_restarts) return;
  // Of the future: a clock is wrong, and nobody knows whose.
  if (memory.written > now || memory.written + kMemoryLasts < now) return;
  repair_.TaintsAreFresh();
  cooldowns_.Recall(memory, now);
  state_.backoffs().Restore(memory.backoffs, now);
}

Task<std::shared_ptr<const report::PassReport>> Engine::Pass(TimePoint now) {
  autoscale::Pass pass(now, shared_, [this] { down_.ForgetUnneeded(); });
  ScaleUpStage::Outcome bought(parts_.world, tpus_);
  // The stages, in this order: each sees what the one before it did.
  Observation seen = co_await observe_.Run(pass, actuator_.InProgress());  // what there is
  bool go_on = co_await repair_.Run(pass, seen);  // what went wrong: before any number is trusted
  if (go_on)                                      // what pods need: before anything is removed
    go_on = co_await scale_up_.Run(pass, seen, actuator_.InProgress().drained, bought);
  if (go_on && parts_.options.scale_down_enabled && !help_.LeavesNoTimeForScaleDown())
    co_await scale_down_.Run(pass, seen, bought);  // what nobody needs, with all that in mind
  still_.End();
  if (go_on && parts_.options.enforce_node_group_min_size)
    co_await scale_up_.RaiseToMinima(pass, bought);  // whatever else was decided
  if (seen.known) {
    Finish(pass, seen, bought);
  } else {
    pass.wake.In(kTryAgain, "the pass ended early");
    pass.report->call_again = pass.wake.earliest();
  }
  co_return pass.report;
}

void Engine::NoteDue(autoscale::Pass& pass, const Observation& seen,
                     const ScaleUpStage::Outcome& bought) {
  const report::PassReport& report = *pass.report;
  state_.NoteDue(pass.wake);
  down_.NoteDue(pass.wake);
  fuse_.NoteDue(pass.wake);
  const bool pods_wait = bought.planned ? !bought.unhelped.empty() : !seen.pending.empty();
  if (pods_wait) state_.NoteBackoffs(pass.wake);
  if (nodes_.unknown() > 0) pass.wake.In(kNextQuestion, "the provider has not placed a node yet");
  if (report.unprocessed_pods > 0) pass.wake.In(Duration(1), "pods were not looked at");
  // The group that failed is left alone now; another one may do.
  if (!report.scale_up.failed_groups.empty()) pass.wake.In(kNextGroup, "an order failed");
  if (!report.error.empty()) pass.wake.In(kTryAgain, "the pass failed");
  pass.report->call_again = pass.wake.earliest();
}

void Engine::Finish(autoscale::Pass& pass, const Observation& seen, ScaleUpStage::Outcome& bought) {
  NoteDue(pass, seen, bought);
  report::PassReport& report = *pass.report;
  report.status = StatusOf(state_, groups_, slots_, down_.CandidatesByGroup(), pass.now);
  report.status->scale_down_probed = down_.last_evaluation();
  if (!bought.tried) tell_.ScaleUp(report.scale_up, pass.View());
  report.scale_down.outcomes = actuator_.TakeOutcomes();
  report.scale_down.unneeded = down_.Unneeded();
  report.scale_down.staying = down_.Staying();
  report.scale_down.staying_untold = down_.StayingUntold();
  report.scale_up.fitting = std::move(bought.fitting);
  report.failed_additions = buyer_.TakeFailures();
  report.groups_created = buyer_.TakeGroupsCreated();
  const PassView view = pass.View();
  if (slots_.scale_down_status) slots_.scale_down_status->Process(report.scale_down, view);
  if (slots_.autoscaling_status) slots_.autoscaling_status->Process(*report.status, view);
}

}  // namespace coppice::autoscale
