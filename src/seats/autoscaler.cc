#include "seats/autoscaler.h"

#include <utility>

#include "autoscale/restart_memory.h"

namespace coppice::seats {

void Autoscaler::Open(Opened opened) { opened_.emplace(std::move(opened)); }

void Autoscaler::Recall(const std::string& text) {
  const auto memory = autoscale::ParseMemory(text);
  if (!memory.ok()) {
    parts_.log.Warning("what the last process left is ignored", {{"error", memory.status()}});
    return;
  }
  engine().Recall(*memory, parts_.clock.Now());
}

void Autoscaler::TellStart() {
  const TimePoint now = parts_.clock.Now();
  if (opened_->status != nullptr) PutStatus(autoscale::StatusMap::RenderInitializing(now), now);
  waits_since_ = now;
}

void Autoscaler::TellEnd(bool known) {
  if (opened_ && opened_->status != nullptr && !opened_->status->last().empty() && known)
    PutStatus(opened_->status->last(), parts_.clock.Now());
}

void Autoscaler::WorkEnded() {
  if (trigger_.Ended(parts_.clock.Now())) parts_.look_again();
}

bool Autoscaler::Told(const host::Event& event, TimePoint now) {
  using Kind = host::Event::Kind;
  switch (event.kind) {
    case Kind::kPodWaits:
      return trigger_.PodSeen(*event.pod, now);
    case Kind::kPodGone:
      return trigger_.PodGone(now);
    case Kind::kNodesChanged:
      return trigger_.NodesChanged(now);
    default:
      return false;  // of none of our kinds
  }
}

Task<host::PassEnd> Autoscaler::Pass(TimePoint began) {
  parts_.numbers.Waited(began - waits_since_);
  parts_.numbers.PassBegan(began);
  const Duration idle_before = Idle();
  if (exact()) {
    // The world is let go when the plan of scale-down is made, or the pass has failed before.
    parts_.world.WhenApplied([this] {
      planned_ = true;
      parts_.look_again();
    });
  }
  const auto report = co_await engine().Pass(began);
  planned_ = false;
  const TimePoint ended = parts_.clock.Now();
  Tell(*report, began, ended);
  parts_.reasons.PassEnded(report);
  if (parts_.pass_ended) parts_.pass_ended(report, ended - began);
  if (opened_->status != nullptr && report->status)
    PutStatus(status_map_.Render(*report->status, began), began);
  trigger_.PassEnded(
      {.began = began,
       .ended = ended,
       .last_scale_up = engine().last_scale_up(),
       .last_scale_down = engine().last_scale_down(),
       .waits_for_quiet = report->scale_up.result == report::ScaleUpResult::kInCooldown,
       .call_again = report->call_again,
       .worked = (ended - began) - (Idle() - idle_before)});
  const report::CallAgain next = trigger_.Next();
  parts_.log.Debug("next pass", {{"in", next.at - ended}, {"why", next.why}});
  waits_since_ = ended;
  co_return host::PassEnd{.succeeded =
                              report->error.empty() || report->error_type == "transientError"};
}

void Autoscaler::Tell(const report::PassReport& report, TimePoint began, TimePoint ended) {
  const Log& log = parts_.log;
  const autoscale::AutoscalerMetrics::Around around{parts_.world, opened_->groups,
                                                    engine().templates()};
  parts_.numbers.PassEnded(report, around, began, ended);
  if (!report.error.empty())
    log.Error("the pass failed", {{"type", report.error_type}, {"error", report.error}});
  for (const report::ScaleUp& round : report.earlier_rounds) TellScaleUp(round);
  TellScaleUp(report.scale_up);
  for (const report::RemovedNode& node : report.scale_down.removed) {
    log.Info("removal started",
             {{"node", node.node}, {"group", node.group}, {"pods", node.evicted.size()}});
  }
  for (const report::DeletionOutcome& outcome : report.scale_down.outcomes) {
    log.Info("removal ended",
             {{"node", outcome.node}, {"result", outcome.result}, {"error", outcome.error}});
  }
  log.Debug("pass", {{"took", ended - began},
                     {"scale_up", report::ToString(report.scale_up.result)},
                     {"scale_down", report::ToString(report.scale_down.result)},
                     {"unneeded", report.scale_down.unneeded.size()}});
}

void Autoscaler::TellScaleUp(const report::ScaleUp& scale_up) {
  for (const report::GroupResize& resize : scale_up.resizes) {
    parts_.log.Info("scaled up", {{"group", resize.group},
                                  {"from", resize.from},
                                  {"to", resize.to},
                                  {"pods", scale_up.triggered.size()}});
  }
}

void Autoscaler::PutStatus(std::string text, TimePoint at) {
  kube::KubeWriter::Annotations annotations = {
      {autoscale::kLastUpdatedAnnotation, autoscale::FormatGoTime(at)}};
  if (parts_.flags.options.deviations.survive_restarts)
    annotations[autoscale::kMemoryAnnotation] = MemoryAt(at);
  opened_->status->Put(std::move(text), std::move(annotations));
}

std::string Autoscaler::MemoryAt(TimePoint at) {
  autoscale::MemoryText memory = autoscale::FormatMemory(engine().Remember(at));
  const bool told = std::exchange(memory_is_cut_, memory.left_out > 0);
  if (memory_is_cut_ && !told) {
    parts_.log.Warning(
        "not every back-off is left to the next process: an annotation is limited",
        {{"left_out", memory.left_out}, {"limit_bytes", autoscale::kMaxMemoryBytes}});
  }
  return std::move(memory.text);
}

}  // namespace coppice::seats
