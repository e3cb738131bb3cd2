// Buyer: carries a scale-up plan out, with its events and books: what was ordered, what failed, and
// what is heard only after the pass is over.
//
// Decision thread; an order that takes longer than a pass waits goes on by itself (orders.h).

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/cooldowns.h"
#include "autoscale/group_states.h"
#include "autoscale/orders.h"
#include "autoscale/scale_up.h"
#include "autoscale/stage.h"

namespace coppice::autoscale {

class Buyer {
 public:
  // `wake`: a late answer has come, and another pass may find more to do.
  Buyer(const StageParts& parts, Orders& orders, GroupStates& state, Cooldowns& cooldowns,
        std::function<void()> wake)
      : parts_(parts),
        orders_(orders),
        state_(state),
        cooldowns_(cooldowns),
        wake_(std::move(wake)) {}

  Task<report::ScaleUp> Buy(ScaleUpPlan plan, TimePoint now);
  // Nodes that were ordered and will not come.
  void Failed(std::string_view group, int nodes, const cloud::MachineError& why, TimePoint now);

  // Since they were last asked for.
  std::vector<report::FailedAddition> TakeFailures() { return std::exchange(failures_, {}); }
  int TakeGroupsCreated() { return std::exchange(groups_created_, 0); }

 private:
  Task<Status> Resize(report::GroupResize resize, bool all_or_nothing, TimePoint now,
                      TimePoint patience_ends);
  void Ordered(const std::string& group, int delta, TimePoint at);
  void OrderFailed(const report::GroupResize& resize, const Status& why, TimePoint now);
  Result<std::string> ExistingGroup(const std::string& group);

  const StageParts& parts_;
  Orders& orders_;
  GroupStates& state_;
  Cooldowns& cooldowns_;
  std::function<void()> wake_;
  std::vector<report::FailedAddition> failures_;
  int groups_created_ = 0;
};

}  // namespace coppice::autoscale
