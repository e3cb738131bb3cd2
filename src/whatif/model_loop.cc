#include "whatif/model_loop.h"

#include <utility>

namespace coppice::whatif {
namespace {

// On a clock that only jumps a pass would take no time, and one after the other would be at the
// same instant: "again at once" would never end.
constexpr Duration kPassTakes = std::chrono::milliseconds(5);

}  // namespace

ModelLoop::ModelLoop(ModelHost& host, sim::Model& model, FakeClock& clock,
                     const autoscale::FlagValues& flags)
    : host_(host), model_(model), clock_(clock), trigger_(flags.ForTrigger()) {
  host_.on_wake = [this] { woken_ = trigger_.Ended(clock_.Now()) || woken_; };
}

ModelLoop::~ModelLoop() { host_.on_wake = nullptr; }

bool ModelLoop::Noticed() {
  const TimePoint now = clock_.Now();
  bool news = std::exchange(woken_, false);
  const size_t pods = host_.world().pod_count();
  const uint64_t node_set = host_.world().node_set_version();
  if (pods < std::exchange(pods_, pods)) news = trigger_.PodGone(now) || news;
  if (node_set != std::exchange(node_set_, node_set)) news = trigger_.NodesChanged(now) || news;
  const auto pending = model_.Pending();
  if (pending.size() > std::exchange(pending_, pending.size())) {
    for (const sim::PodPtr& pod : pending) news = trigger_.PodSeen(*pod, now) || news;
  }
  return news;
}

std::shared_ptr<const report::PassReport> ModelLoop::Next(TimePoint end,
                                                          const std::function<bool()>& stop) {
  const auto stopped = [&] { return stop && stop(); };
  while (clock_.Now() < trigger_.Due()) {
    if (clock_.Now() >= end || stopped()) return nullptr;
    host_.AdvanceTo(std::min(end, trigger_.Due()), [&] { return Noticed() || stopped(); });
  }
  const TimePoint began = clock_.Now();
  if (began >= end || stopped()) return nullptr;
  auto report = host_.Pass();
  host_.AdvanceTo(began + kPassTakes);
  Noticed();  // what came meanwhile
  trigger_.PassEnded(
      {.began = began,
       .ended = clock_.Now(),
       .last_scale_up = host_.engine().last_scale_up(),
       .last_scale_down = host_.engine().last_scale_down(),
       .waits_for_quiet = report->scale_up.result == report::ScaleUpResult::kInCooldown,
       .call_again = report->call_again});
  return report;
}

}  // namespace coppice::whatif
