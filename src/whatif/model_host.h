// ModelHost: a process on a model cluster: the autoscaler as flags and plug-ins assemble it, with its
// node groups on the model's cloud; other engines, beside it or instead; their view of the model's
// objects. It can be killed in mid-flight and started again, and then knows what a new process would
// know.
//
// The autoscaler passes when Pass() is called; the others take turns (model_turns.h) whenever time
// goes on.
//
// Time is a FakeClock that this object moves, event by event, so that a run depends on nothing but
// its seeds; `pace` may wait before each step for people who want to watch.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autoscale/assembly.h"
#include "base/fake_clock.h"
#include "cloud/cloud_node_groups.h"
#include "sim/model.h"
#include "sim/view.h"
#include "whatif/model_engine.h"
#include "whatif/model_turns.h"

namespace coppice::whatif {

class ModelHost {
 public:
  struct Parts {
    sim::Model& model;
    FakeClock& clock;
    const autoscale::Plugins& plugins;
    autoscale::FlagValues flags;
    uint64_t seed = 1;
    const Log& log;
    Metrics& metrics;
    std::function<void(TimePoint next)> pace = nullptr;  // before the clock moves to `next`
    cloud::AuditSink audit = nullptr;
    bool node_groups = true;                    // false: there is no autoscaler, and no Pass()
    std::vector<MakeModelEngine> engines = {};  // beside it, in the order of their turns
  };
  static Result<std::unique_ptr<ModelHost>> Create(Parts parts);
  ~ModelHost();

  // The process dies, with everything under way, and another one starts.
  Status Restart();
  std::shared_ptr<const report::PassReport> Pass();
  Duration last_pass_took() const { return last_pass_took_; }  // by the wall
  // The cluster, and what the engine has under way, until then or until `stop` says so after an
  // event. No pass.
  void AdvanceTo(TimePoint when, const std::function<bool()>& stop = nullptr);

  autoscale::Engine& engine() { return process_->assembly->engine(); }
  cloud::CloudNodeGroups& groups() { return *process_->groups; }
  cloud::CloudNodeGroups* groups_or_null() { return process_->groups.get(); }
  sim::View& view() { return *process_->view; }
  const cluster::World& world() const { return *process_->world; }
  int starts() const { return starts_; }

  // What a pass left under way has ended.
  std::function<void()> on_wake;

 private:
  // What a process has in memory. Destroyed from the end: first what is under way.
  struct Process {
    SeededRng rng;
    std::unique_ptr<cluster::World> world;
    std::unique_ptr<sim::View> view;
    std::unique_ptr<cloud::CloudNodeGroups> groups;
    std::unique_ptr<autoscale::Assembly> assembly;
    std::unique_ptr<ModelTurns> turns;
    std::unique_ptr<Executor> executor;
    explicit Process(uint64_t seed) : rng(seed) {}
  };

  explicit ModelHost(Parts parts) : parts_(std::move(parts)) {}
  cluster::WorldOptions View() const;
  Status OpenAutoscaler(Process& process);

  Parts parts_;
  InlineWorkers workers_;  // on a FakeClock nobody may wait for another thread
  std::unique_ptr<Process> process_;
  std::string left_;  // by the last process: what a real one keeps in the status ConfigMap
  int starts_ = 0;
  Duration last_pass_took_{};
};

}  // namespace coppice::whatif
