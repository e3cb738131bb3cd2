// `coppice run --batch` without a cluster: users with gangs, and the batch scheduler for them, in the
// process on the model one, beside whichever engines it has.

#pragma once

#include <functional>
#include <memory>

#include "app/commands/commands.h"
#include "report/session_report.h"
#include "whatif/gang_load.h"
#include "whatif/gangs_account.h"
#include "whatif/model_engine.h"
#include "whatif/model_scene.h"

namespace coppice::app {

class ModelGangs {
 public:
  // Before the process is made, for it looks at kinds that the model does not show by itself.
  ModelGangs(const ModelCommand& command, whatif::ModelScene& scene,
             whatif::GangsAccount::Print print);

  // The last of the engines: it buys from those before.
  whatif::MakeModelEngine Engine(const Plugins& plugins);
  // Users come from now on.
  void Start() { load_.Start(); }
  whatif::GangsAccount& account() { return account_; }

  std::function<void(std::shared_ptr<const report::SessionReport>)> session_ended;

 private:
  const batch::SchedulerFlags flags_;
  const bool upstream_exact_;
  whatif::GangLoad load_;
  whatif::GangsAccount account_;
};

// What a model cluster has no Volcano for is done by our controllers, unless the command line says
// which; gangs are left to the scheduler that places them.
void SettleModelGangs(const FlagSet& set, ModelCommand& command);

}  // namespace coppice::app
