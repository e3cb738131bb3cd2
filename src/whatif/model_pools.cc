#include "whatif/model_pools.h"

namespace coppice::whatif {

Task<host::PassEnd> PoolsTurn::Pass(TimePoint now) {
  const auto report = co_await engine_->Pass(now);
  if (passed_) passed_(*report);
  co_return host::PassEnd{.succeeded = report->error.empty()};
}

bool PoolsTurn::Told(const host::Event& event, TimePoint now) {
  if (engine_ == nullptr) return false;
  switch (event.kind) {
    case host::Event::Kind::kPodWaits:
      return engine_->PodWaits(*event.pod, now);
    case host::Event::Kind::kPodGone:
      return engine_->PodGone(now);
    case host::Event::Kind::kNodesChanged:
      return engine_->NodesChanged(now);
    case host::Event::Kind::kObjectsChanged:
      return engine_->ObjectsChanged(now);
  }
  return false;
}

namespace {

class ModelPoolsEngine final : public ModelEngine {
 public:
  ModelPoolsEngine(const ModelPoolsOptions& options, const ModelProcess& process)
      : options_(options),
        own_workers_(options.workers ? options.workers(process.executor) : nullptr),
        turn_(options.passed) {
    cloud::CloudNodeClaimsOptions claims = options.claims;
    claims.cluster = sim::kClusterName;
    claims_ = cloud::CloudNodeClaims::Create({.cloud = process.model.cloud,
                                              .workers = process.workers,
                                              .clock = process.clock,
                                              .rng = process.rng,
                                              .log = process.log,
                                              .metrics = process.metrics},
                                             std::move(claims));
    engine_ = std::make_unique<provision::Engine>(
        provision::EngineParts{.options = options.engine,
                               .world = process.world,
                               .writer = process.model.api,
                               .claims = *claims_,
                               .executor = process.executor,
                               .workers = own_workers_ ? *own_workers_ : process.workers,
                               .rng = process.rng,
                               .log = process.log,
                               .metrics = process.metrics,
                               .filters = options.filters,
                               .not_ours = options.not_ours,
                               .wake = process.look_again});
    turn_.Open(*engine_);
    if (options_.engine_is) options_.engine_is(engine_.get());
    if (options_.claims_is) options_.claims_is(claims_.get());
  }
  ~ModelPoolsEngine() override {
    if (options_.engine_is) options_.engine_is(nullptr);
    if (options_.claims_is) options_.claims_is(nullptr);
  }

  host::Engine& engine() override { return turn_; }
  market::Seller* seller() override { return &engine_->seller(); }

 private:
  const ModelPoolsOptions options_;
  const std::unique_ptr<Workers> own_workers_;
  std::unique_ptr<cloud::CloudNodeClaims> claims_;
  std::unique_ptr<provision::Engine> engine_;
  PoolsTurn turn_;
};

}  // namespace

MakeModelEngine ModelPools(ModelPoolsOptions options) {
  return [options = std::move(options)](
             const ModelProcess& process) -> Result<std::unique_ptr<ModelEngine>> {
    return std::unique_ptr<ModelEngine>(std::make_unique<ModelPoolsEngine>(options, process));
  };
}

}  // namespace coppice::whatif
