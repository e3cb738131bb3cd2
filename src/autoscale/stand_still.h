// StandStill: the world stands still while a stage plans, so that what is listed is what is planned
// with. By default only then: news come in while a stage waits for an answer, and the next plan
// looks again. With --upstream-exact from the first list of a pass to its last plan.

#pragma once

#include <memory>

#include "base/executor.h"
#include "cluster/world.h"

namespace coppice::autoscale {

class StandStill {
 public:
  StandStill(cluster::World& world, Executor& executor, bool whole_pass)
      : world_(world), executor_(executor), whole_pass_(whole_pass) {}

  // One plan: until the end of its scope. No fork may be open then.
  class [[nodiscard]] Plan {
   public:
    explicit Plan(StandStill& still) : still_(still) { still_.Begin(); }
    ~Plan() {
      if (!still_.whole_pass_) still_.End();
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

   private:
    StandStill& still_;
  };
  // The last plan of the pass is made, or there will be none.
  void End() {
    if (held_) world_.ApplyHeld();
    held_ = false;
  }

  // A moment of listing. Something may have come since if the thread was given up in between, and
  // the world was not held all the time.
  class Moment {
   public:
    bool HasNews() const { return away_ != nullptr && *away_; }

   private:
    friend class StandStill;
    std::shared_ptr<bool> away_;  // set as soon as the executor does something else
  };
  Moment Now() const {
    Moment now;
    if (whole_pass_) return now;
    now.away_ = std::make_shared<bool>(false);
    executor_.Post([away = now.away_] { *away = true; });
    return now;
  }

 private:
  void Begin() {
    world_.Hold();
    held_ = true;
  }

  cluster::World& world_;
  Executor& executor_;
  const bool whole_pass_;
  bool held_ = false;
};

}  // namespace coppice::autoscale
