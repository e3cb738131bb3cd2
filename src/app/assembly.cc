#include "app/assembly.h"

#include <utility>

#include "expand/chain.h"
#include "fit/chain.h"
#include "fit/scheduler_config.h"

namespace coppice::app {
namespace {

Result<fit::Chain> MakeFilters(const autoscale::FlagValues& flags, const Plugins& plugins) {
  fit::SchedulerConfig config;
  if (!flags.scheduler_config_file.empty()) {
    config = TRY(fit::LoadSchedulerConfig(flags.scheduler_config_file, plugins.filters.names())
                     .Context("--scheduler-config-file=" + flags.scheduler_config_file));
  }
  return fit::Chain::Create(plugins.filters, config);
}

class Assembled final : public Assembly {
 public:
  // In the order in which they need each other; destroyed in the other.
  autoscale::FlagValues flags;
  std::unique_ptr<cloud::NodeGroups> own_groups;
  std::unique_ptr<fit::Chain> filters;
  std::unique_ptr<expand::Chain> expanders;
  std::unique_ptr<autoscale::CloudCalls> calls;
  autoscale::Processors processors;
  std::unique_ptr<autoscale::Engine> the_engine;
  cloud::NodeGroups* the_groups = nullptr;

  autoscale::Engine& engine() override { return *the_engine; }
  cloud::NodeGroups& groups() override { return *the_groups; }
};

}  // namespace

Result<std::unique_ptr<Assembly>> Assembly::Create(AssemblyParts parts) {
  auto assembled = std::make_unique<Assembled>();
  Clock& clock = parts.executor.clock();
  assembled->the_groups = parts.groups;
  if (parts.groups == nullptr) {
    assembled->own_groups = TRY(OpenNodeGroups(parts.flags, parts.plugins, clock, parts.rng,
                                               parts.log, parts.metrics, parts.cloud_workers));
    assembled->the_groups = assembled->own_groups.get();
  }
  assembled->filters = std::make_unique<fit::Chain>(TRY(MakeFilters(parts.flags, parts.plugins)));
  const expand::ExpanderContext context{
      .clock = clock,
      .rng = parts.rng,
      .log = parts.log,
      .metrics = parts.metrics,
      .groups = assembled->the_groups,
      .settings = {{"grpc-expander-url", parts.flags.grpc_expander_url},
                   {"grpc-expander-cert", parts.flags.grpc_expander_cert},
                   {"grpc-expander-legacy-fields",
                    parts.flags.grpc_expander_legacy_fields ? "true" : "false"}}};
  assembled->expanders = std::make_unique<expand::Chain>(
      TRY(expand::Chain::Create(parts.flags.options.expander, parts.plugins.expanders, context)
              .Context("--expander")));
  assembled->calls = std::make_unique<autoscale::CloudCalls>(*assembled->the_groups, parts.workers,
                                                             parts.executor);
  assembled->flags = std::move(parts.flags);
  const autoscale::FlagValues& flags = assembled->flags;
  assembled->processors = TRY(autoscale::MakeProcessors(parts.plugins.processors, flags.processors,
                                                        {.options = flags.options,
                                                         .groups = *assembled->the_groups,
                                                         .world = parts.world,
                                                         .clock = clock,
                                                         .rng = parts.rng,
                                                         .log = parts.log,
                                                         .metrics = parts.metrics}));
  assembled->the_engine = std::make_unique<autoscale::Engine>(
      autoscale::Engine::Parts{.options = flags.options,
                               .world = parts.world,
                               .groups = *assembled->the_groups,
                               .cloud = *assembled->calls,
                               .writer = parts.writer,
                               .executor = parts.executor,
                               .rng = parts.rng,
                               .filters = *assembled->filters,
                               .expanders = *assembled->expanders,
                               .log = parts.log,
                               .view_age = std::move(parts.view_age),
                               .oldest_kind = std::move(parts.oldest_kind),
                               .first_of_tie = parts.first_of_tie,
                               .processors = &assembled->processors,
                               .wake = std::move(parts.wake)});
  return std::unique_ptr<Assembly>(std::move(assembled));
}

}  // namespace coppice::app
