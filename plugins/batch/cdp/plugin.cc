// cdp: a pod that has just been placed is left alone for its cool-down time.

#include <algorithm>
#include <optional>

#include "base/go_duration.h"
#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::cdp {
namespace {

constexpr std::string_view kCooldownKey = "volcano.sh/cooldown-time";

std::optional<Duration> CooldownOf(const model::ObjectMeta& meta) {
  const std::string* text = meta.labels.Find(kCooldownKey);
  if (!text) text = meta.annotations.Find(kCooldownKey);
  if (!text) return std::nullopt;
  const auto duration = ParseGoDuration(*text);
  return duration.ok() ? std::optional(*duration) : std::nullopt;
}

bool IsCoolingDown(const model::Pod& pod, TimePoint now) {
  const auto cooldown = CooldownOf(pod.metadata);
  if (!cooldown || pod.status.phase != "Running") return false;
  const auto placed =
      std::ranges::find_if(pod.status.conditions, [](const model::PodCondition& condition) {
        return condition.type == "PodScheduled" && condition.status == "True";
      });
  if (placed == pod.status.conditions.end() || !placed->last_transition_time) return false;
  return Later(placed->last_transition_time->at, *cooldown) > now;
}

class CooldownProtection final : public Plugin, public Preemptable, public Reclaimable {
 public:
  Status Open(Session& session, Slots& slots) override {
    now_ = session.now();
    slots.preemptable = this;
    slots.reclaimable = this;
    return Status::Ok();
  }
  Victims PreemptVictims(const Task&, std::span<Task* const> candidates) override {
    return Cool(candidates);
  }
  Victims ReclaimVictims(const Task&, std::span<Task* const> candidates) override {
    return Cool(candidates);
  }

 private:
  Victims Cool(std::span<Task* const> candidates) const {
    Victims victims;
    for (Task* task : candidates) {
      if (!IsCoolingDown(*task->pod, now_)) victims.tasks.push_back(task);
    }
    return victims;
  }

  TimePoint now_;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("cdp", FactoryOf<CooldownProtection>()); }

}  // namespace coppice::batch::cdp
