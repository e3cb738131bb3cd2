// PoolsTurn: the engine of node pools as it takes turns in a process (host/turns.h).
// ModelPools: that engine in a process on a model cluster, with the model's cloud as its provider
// (cloud/cloud_node_claims.h).
//
// Decision thread.

#pragma once

#include <functional>
#include <memory>

#include "cloud/cloud_node_claims.h"
#include "host/engine.h"
#include "provision/engine.h"
#include "whatif/model_engine.h"

namespace coppice::whatif {

class PoolsTurn final : public host::Engine {
 public:
  using Listener = std::function<void(const report::ProvisionReport&)>;
  // `engine` outlives it; null until it is known. `passed` hears of each pass; may be null.
  explicit PoolsTurn(Listener passed = nullptr) : passed_(std::move(passed)) {}
  void Open(provision::Engine& engine) { engine_ = &engine; }

  std::string_view name() const override { return provision::Engine::kName; }
  TimePoint Due() const override { return engine_ == nullptr ? TimePoint::max() : engine_->Due(); }
  Task<host::PassEnd> Pass(TimePoint now) override;
  bool Told(const host::Event& event, TimePoint now) override;

 private:
  const Listener passed_;
  provision::Engine* engine_ = nullptr;
};

struct ModelPoolsOptions {
  provision::EngineOptions engine;
  const fit::Chain* filters = nullptr;
  std::function<void(const report::ProvisionReport&)> passed = nullptr;
  // Pods that somebody else buys for, with a batch scheduler beside it. Null: none.
  std::function<bool(const model::Pod&)> not_ours = nullptr;
  cloud::CloudNodeClaimsOptions claims = {};
  // The engine's own, made anew with each process on its executor; null: those of the process.
  std::function<std::unique_ptr<Workers>(Executor&)> workers = nullptr;
  // The engine of the process that runs now, for who wants to look; null between two.
  std::function<void(provision::Engine*)> engine_is = nullptr;
  // Its provider, likewise.
  std::function<void(const cloud::NodeClaims*)> claims_is = nullptr;
};

MakeModelEngine ModelPools(ModelPoolsOptions options);

}  // namespace coppice::whatif
