#include "autoscale/assembly.h"

#include <utility>

#include "expand/chain.h"
#include "fit/chain.h"
#include "fit/scheduler_config.h"

namespace coppice::autoscale {
namespace {

Result<fit::Chain> MakeFilters(const FlagValues& flags, const Plugins& plugins) {
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
  FlagValues flags;
  std::unique_ptr<fit::Chain> filters;
  std::unique_ptr<expand::Chain> expanders;
  std::unique_ptr<CloudCalls> calls;
  Processors processors;
  std::unique_ptr<Engine> the_engine;

  Engine& engine() override { return *the_engine; }
};

}  // namespace

Result<std::unique_ptr<Assembly>> Assembly::Create(AssemblyParts parts) {
  auto assembled = std::make_unique<Assembled>();
  Clock& clock = parts.executor.clock();
  assembled->filters = std::make_unique<fit::Chain>(TRY(MakeFilters(parts.flags, parts.plugins)));
  const expand::ExpanderContext context{
      .clock = clock,
      .rng = parts.rng,
      .log = parts.log,
      .metrics = parts.metrics,
      .groups = &parts.groups,
      .grpc_url = parts.flags.grpc_expander_url,
      .grpc_cert = parts.flags.grpc_expander_cert,
      .grpc_legacy_fields = parts.flags.grpc_expander_legacy_fields};
  assembled->expanders = std::make_unique<expand::Chain>(
      TRY(expand::Chain::Create(parts.flags.options.expander, parts.plugins.expanders, context)
              .Context("--expander")));
  assembled->calls = std::make_unique<CloudCalls>(parts.groups, parts.workers, parts.executor);
  assembled->flags = std::move(parts.flags);
  const FlagValues& flags = assembled->flags;
  assembled->processors = TRY(MakeProcessors(parts.plugins.processors, flags.processors,
                                             {.options = flags.options,
                                              .groups = parts.groups,
                                              .world = parts.world,
                                              .clock = clock,
                                              .rng = parts.rng,
                                              .log = parts.log,
                                              .metrics = parts.metrics}));
  assembled->the_engine =
      std::make_unique<Engine>(Engine::Parts{.options = flags.options,
                                             .world = parts.world,
                                             .groups = parts.groups,
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

}  // namespace coppice::autoscale
