#include "app/commands/run_gangs.h"

#include <utility>

#include "whatif/model_batch.h"

namespace coppice::app {
namespace {

// Without news from the cluster: on a clock that jumps a session a second would be most of the work.
constexpr Duration kQuietPeriod = std::chrono::minutes(1);

// As many as the model's node groups have room for beside their services, and sometimes a few more.
whatif::GangLoadOptions LoadOfGangs() {
  whatif::GangLoadOptions options;
  options.queues = {{"gold", 3, 0}, {"silver", 2, 64}, {"bronze", 1, 32}};
  options.gangs_per_hour = 3;
  options.largest = 32;
  options.most_at_once = 8;
  options.longest = std::chrono::minutes(60);
  return options;
}

}  // namespace

ModelGangs::ModelGangs(const ModelCommand& command, whatif::ModelScene& scene,
                       whatif::GangsAccount::Print print)
    : flags_(*command.batch),
      upstream_exact_(command.flags.upstream_exact),
      load_(*scene.model, LoadOfGangs(), command.seed),
      account_(*scene.model, load_, std::move(print)) {
  whatif::KeepBatchKinds(scene.model->api.objects);
}

whatif::MakeModelEngine ModelGangs::Engine(const Plugins& plugins) {
  return whatif::ModelBatch({.flags = flags_,
                             .upstream_exact = upstream_exact_,
                             .plugins = &plugins.batch,
                             .filters = &plugins.filters,
                             .passed = [this](const report::SessionReport& report) {
                               account_.Tell(report);
                               if (session_ended)
                                 session_ended(
                                     std::make_shared<const report::SessionReport>(report));
                             }});
}

void SettleModelGangs(const FlagSet& set, ModelCommand& command) {
  batch::SchedulerFlags& flags = *command.batch;
  if (!set.Given("batch-controllers"))
    flags.controllers = {.pod_groups = true, .queues = true, .jobs = true};
  if (!set.Given("schedule-period")) flags.engine.schedule_period = kQuietPeriod;
  if (command.flags.upstream_exact) return;
  const auto& names = flags.engine.session.scheduler_names;
  command.flags.options.gang_scheduler_names = names;
  if (command.node_pools) command.node_pools->gang_scheduler_names = names;
}

}  // namespace coppice::app
