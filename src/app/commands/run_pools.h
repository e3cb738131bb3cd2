// `coppice run --node-pools` without a cluster: a day with pools on a model one.

#pragma once

#include "app/commands/commands.h"
#include "cloud/node_claims.h"
#include "report/provision_report.h"
#include "whatif/model_host.h"
#include "whatif/model_scene.h"

namespace coppice::app {

// 06:00 of some Monday, of every model run: the load is about to rise.
inline constexpr TimePoint kModelStart{std::chrono::seconds(1'767'592'800)};

// What node groups would have cost with the same seed, load and time; below zero if that could not
// be played. In run_model.cc.
double CostOfGroups(const ModelCommand& command, Plugins& plugins, Duration lasts);

// `wait` before the clock moves to the next event; `stop` ends it.
struct Watching {
  std::function<void(TimePoint next)> pace;
  std::function<bool()> stop;
  double speed = 0;
  Duration lasts{};
  // For who shows it. Told once the process is there; after each pass.
  std::function<void(whatif::ModelHost&)> opened;
  std::function<void(const report::ProvisionReport&)> pools_passed;
  std::function<void(const std::shared_ptr<const report::PassReport>&)> pass_ended;
  const cloud::NodeClaims** claims;  // is told who sells; null between two processes
};
// `watch` is asked when the scene stands; what it answers with ends before the scene does.
Status PlayPools(const ModelCommand& command, Plugins& plugins, const Clock& real,
                 const std::function<Result<Watching>(const whatif::ModelScene&)>& watch);

}  // namespace coppice::app
