// What the stages of a pass share, and the pass while it goes on.
//
// A stage plans and then acts. A plan is an ordinary function: it holds the world still, forks the
// snapshot, reverts, and hands back values; so no fork is open when a stage gives up the thread to
// wait for an answer. What one stage leaves to the next goes by name or uid.

#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/cloud_calls.h"
#include "autoscale/group_options.h"
#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "autoscale/tell.h"
#include "autoscale/wakeups.h"
#include "base/executor.h"
#include "base/log.h"
#include "cluster/world.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

// What stages read of the options.
struct StageOptions {
  const PodOptions& pods;
  const ScaleUpOptions& buying;
  const LimitOptions& limits;
  const SimilarityOptions& similarity;
  const RepairOptions& repair;
  const DeletionLimitOptions& deletions;
  const StatusOptions& status;
  const Deviations& deviations;
  const bool explains_all;  // whatever it costs
};

// Of one engine; all of it outlives its stages.
struct StageParts {
  const StageOptions options;
  cluster::World& world;
  cloud::NodeGroups& groups;  // with what was ordered; for all reads
  CloudCalls& cloud;
  Executor& executor;
  Processors& slots;
  const Log& log;
  const GroupOptions& options_of;
  Tell& tell;
};

// After a pass that did not come to its end: what it did not see, it cannot name a time for.
inline constexpr Duration kTryAgain = std::chrono::seconds(10);

struct Pass {
  Pass(TimePoint at, const StageParts& parts, std::function<void()> forget)
      : now(at), wake(at), parts_(parts), forget_unneeded_(std::move(forget)) {
    report->at = at;
  }

  const TimePoint now;
  Wakeups wake;
  const std::shared_ptr<report::PassReport> report = std::make_shared<report::PassReport>();
  bool no_scale_down = false;             // every pending pod is new, or a processor says so: wait
  std::map<std::string, std::any> extra;  // what processors tell each other

  PassView View() {
    return {.now = now,
            .world = parts_.world,
            .groups = parts_.groups,
            .disable_scale_down = [this] { no_scale_down = true; },
            .forget_unneeded = forget_unneeded_,
            .extra = extra};
  }
  void Fail(std::string type, std::string text) {
    report->error_type = std::move(type);
    report->error = std::move(text);
  }

 private:
  const StageParts& parts_;
  std::function<void()> forget_unneeded_;
};

class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), began_(clock.Now()) {}
  // `part` is a literal.
  void Note(std::vector<report::Took>& took, std::string_view part) const {
    took.push_back({part, clock_.Now() - began_});
  }

 private:
  const Clock& clock_;
  const TimePoint began_;
};

}  // namespace coppice::autoscale
