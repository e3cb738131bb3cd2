#include "whatif/model_turns.h"

#include <utility>

#include "sim/pending.h"

namespace coppice::whatif {
namespace {

constexpr Duration kTurnTakes = std::chrono::milliseconds(5);

}  // namespace

class ModelTurns::Paced final : public host::Engine {
 public:
  Paced(host::Engine& engine, Executor& executor) : engine_(engine), executor_(executor) {}

  std::string_view name() const override { return engine_.name(); }
  TimePoint Due() const override { return engine_.Due(); }
  Task<host::PassEnd> Pass(TimePoint now) override {
    const host::PassEnd end = co_await engine_.Pass(now);
    co_await executor_.Sleep(kTurnTakes);
    co_return end;
  }
  bool Told(const host::Event& event, TimePoint now) override { return engine_.Told(event, now); }
  bool keeps_others_out() const override { return engine_.keeps_others_out(); }

 private:
  host::Engine& engine_;
  Executor& executor_;
};

ModelTurns::ModelTurns(Executor& executor, const cluster::World& world, const sim::View& view,
                       const sim::Model& model)
    : executor_(executor),
      world_(world),
      view_(view),
      model_(model),
      health_({}, executor.clock()),
      turns_(executor, world, health_),
      nodes_(world.node_set_version()) {}

ModelTurns::~ModelTurns() = default;

void ModelTurns::Add(std::unique_ptr<ModelEngine> engine) {
  paced_.push_back(std::make_unique<Paced>(engine->engine(), executor_));
  turns_.Add(*paced_.back());
  engines_.push_back(std::move(engine));
}

void ModelTurns::Start() {
  if (!empty()) executor_.Spawn(turns_.Run());
}

void ModelTurns::NoticePending() {
  std::map<std::string, bool> pending;
  for (const auto* entry : world_.Unbound()) {
    const model::Pod& pod = *entry->pod;
    const bool marked = sim::IsRefused(pod);
    pending[pod.metadata.uid] = marked;
    const auto known = pending_.find(pod.metadata.uid);
    if (known == pending_.end() || (marked && !known->second))
      turns_.Tell({host::Event::Kind::kPodWaits, &pod});
  }
  pending_ = std::move(pending);
}

void ModelTurns::Notice() {
  if (empty() || view_.heard() == std::exchange(heard_, view_.heard())) return;
  using Kind = host::Event::Kind;
  uint64_t nodes = world_.node_set_version();
  world_.ForEachNode([&](const auto& node) { nodes = nodes * 31 + (sim::IsReady(*node) ? 2 : 1); });
  if (nodes != std::exchange(nodes_, nodes)) turns_.Tell({Kind::kNodesChanged});
  if (world_.pod_count() < std::exchange(pods_, world_.pod_count())) turns_.Tell({Kind::kPodGone});
  if (model_.api.objects.changes() != std::exchange(objects_, model_.api.objects.changes()))
    turns_.Tell({Kind::kObjectsChanged});
  NoticePending();
}

}  // namespace coppice::whatif
