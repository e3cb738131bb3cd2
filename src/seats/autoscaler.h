// Autoscaler: the autoscale engine as it takes turns in a process (host/turns.h): when its next
// pass is due, what is told of each (log, metrics, reasons, the status ConfigMap), and what it
// leaves to the next process.
//
// Decision thread.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "autoscale/assembly.h"
#include "autoscale/autoscaler_metrics.h"
#include "autoscale/loop_trigger.h"
#include "autoscale/reasons.h"
#include "autoscale/status_map.h"
#include "host/engine.h"
#include "host/status_writer.h"
#include "kube/kube_writer.h"

namespace coppice::seats {

class Autoscaler final : public host::Engine {
 public:
  struct Parts {
    const autoscale::FlagValues& flags;
    cluster::World& world;
    Clock& clock;
    const Log& log;
    autoscale::AutoscalerMetrics& numbers;
    autoscale::Reasons& reasons;
    // Turns::LookAgain.
    std::function<void()> look_again;
    // For how long the thread has had nothing to do, all in all. Null: a pass never waits.
    std::function<Duration()> idle = nullptr;
    // Whoever shows passes; may be null.
    std::function<void(std::shared_ptr<const report::PassReport>, Duration took)> pass_ended =
        nullptr;
  };
  explicit Autoscaler(Parts parts)
      : parts_(std::move(parts)),
        trigger_(parts_.flags.ForTrigger()),
        waits_since_(parts_.clock.Now()) {}

  // What there is once the cluster has been read and the provider is open; before the first turn.
  struct Opened {
    std::unique_ptr<autoscale::Assembly> assembly;
    cloud::NodeGroups& groups;
    host::StatusWriter* status = nullptr;  // null: no status is written
  };
  void Open(Opened opened);
  // What the last process left, as it stands in the annotation.
  void Recall(const std::string& memory);

  // The status before the first pass.
  void TellStart();
  // The last status once more, with what is known now, for the next process. `known` is false when
  // calls were refused because we end: to the engine that looks like groups that fail, and then
  // what was written after the last pass stays.
  void TellEnd(bool known);

  // What a pass left under way has ended.
  void WorkEnded();

  std::string_view name() const override { return "autoscale"; }
  TimePoint Due() const override { return trigger_.Due(); }
  Task<host::PassEnd> Pass(TimePoint now) override;
  bool Told(const host::Event& event, TimePoint now) override;
  // With --upstream-exact one sees one world from its first list to the plan of scale-down.
  bool keeps_others_out() const override { return exact() && !planned_; }

 private:
  Duration Idle() const { return parts_.idle ? parts_.idle() : Duration::zero(); }
  bool exact() const { return parts_.flags.upstream_exact; }
  autoscale::Engine& engine() { return opened_->assembly->engine(); }
  void Tell(const report::PassReport& report, TimePoint began, TimePoint ended);
  void TellScaleUp(const report::ScaleUp& scale_up);
  void PutStatus(std::string text, TimePoint at);
  std::string MemoryAt(TimePoint at);

  const Parts parts_;
  autoscale::LoopTrigger trigger_;
  autoscale::StatusMap status_map_;
  std::optional<Opened> opened_;
  TimePoint waits_since_;
  bool planned_ = false;        // of the pass under way: all that is planned on one world
  bool memory_is_cut_ = false;  // and that has been told
};

}  // namespace coppice::seats
