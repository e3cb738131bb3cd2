#include "whatif/model_batch.h"

#include <utility>

#include "batch/controllers/volcano_job.h"

namespace coppice::whatif {
namespace {

class ModelBatchEngine final : public ModelEngine, public host::Engine {
 public:
  ModelBatchEngine(const ModelBatchOptions& options, const ModelProcess& process)
      : options_(options),
        scheduler_({.flags = options.flags,
                    .upstream_exact = options.upstream_exact,
                    .world = process.world,
                    .writer = process.model.api,
                    .executor = process.executor,
                    .workers = &process.workers,
                    .rng = process.rng,
                    .plugins = *options.plugins,
                    .filters = *options.filters,
                    .log = process.log,
                    .metrics = process.metrics,
                    .conf = options.conf,
                    .wake = process.look_again}) {
    if (options_.scheduler_is) options_.scheduler_is(&scheduler_);
  }
  ~ModelBatchEngine() override {
    if (options_.scheduler_is) options_.scheduler_is(nullptr);
  }

  Status Open(std::vector<market::Seller*> sellers) { return scheduler_.Open(std::move(sellers)); }

  // ---- ModelEngine.
  host::Engine& engine() override { return *this; }

  // ---- host::Engine.
  std::string_view name() const override { return "batch"; }
  TimePoint Due() const override { return scheduler_.Due(); }
  bool Told(const host::Event&, TimePoint now) override { return scheduler_.Changed(now); }
  Task<host::PassEnd> Pass(TimePoint now) override {
    const auto report = co_await scheduler_.Pass(now);
    if (options_.passed) options_.passed(*report);
    co_return host::PassEnd{.succeeded = report->error.empty()};
  }

 private:
  const ModelBatchOptions options_;
  batch::Scheduler scheduler_;
};

}  // namespace

MakeModelEngine ModelBatch(ModelBatchOptions options) {
  return [options = std::move(options)](
             const ModelProcess& process) -> Result<std::unique_ptr<ModelEngine>> {
    auto made = std::make_unique<ModelBatchEngine>(options, process);
    TRY(made->Open(process.sellers));
    return std::unique_ptr<ModelEngine>(std::move(made));
  };
}

void KeepBatchKinds(sim::Objects& objects) {
  objects.KeepAs<batch::VolcanoJob>(batch::kVolcanoJobApi, batch::kVolcanoJobResource,
                                    batch::ReadVolcanoJob);
}

}  // namespace coppice::whatif
