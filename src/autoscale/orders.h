// Orders: what was ordered of the cloud and is not answered yet. A pass waits a moment for an
// answer; an order that takes longer goes on by itself, its machines count as ordered meanwhile,
// and whoever placed it hears of the answer when it comes. So a slow cloud does not hold up the
// next decision.
//
// Orders of one group go out one after the other: a provider that reads a size and writes another
// one would lose one of two. A provider that says that it counts by itself
// (NodeGroups::OrdersMayOverlap) gets them at once. What waits behind an order that fails fails
// with it: the group is backed off, and the pods look elsewhere.
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "autoscale/cloud_calls.h"
#include "base/promise.h"
#include "cloud/node_groups_wrapper.h"

namespace coppice::autoscale {

class Orders {
 public:
  using Heard = std::function<void(const Status&)>;

  Orders(cloud::NodeGroups& groups, CloudCalls& cloud, Executor& executor)
      : view_(groups, *this), cloud_(cloud), executor_(executor) {}
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

  // The provider as it will be when everything that was ordered is there: targets include orders
  // that the provider does not show yet.
  cloud::NodeGroups& groups() { return view_; }

  // The answer. Nothing if there is none by `patience_ends`: then `late` is called with it.
  // TimePoint::max(): whatever it takes.
  Task<std::optional<Status>> Place(std::string group, int delta, bool all_or_nothing,
                                    TimePoint patience_ends, Heard late);

  // The targets of a refresh that began after an answer include that order. To be asked for before
  // the refresh, and handed back after it.
  uint64_t answers() const { return answers_; }
  void Refreshed(uint64_t answers_before);

  size_t unanswered() const;

 private:
  struct OfGroup {
    int expected = 0;    // target, when all are carried out
    int unanswered = 0;  // orders
    uint64_t answered_at = 0;
    std::shared_ptr<Promise<bool>> turn;  // set when the last one that was placed is answered
  };
  class View final : public cloud::NodeGroupsWrapper {
   public:
    View(cloud::NodeGroups& inner, const Orders& orders)
        : NodeGroupsWrapper(inner), orders_(orders) {}
    uint64_t Version() const override;
    Result<int> TargetSize(std::string_view group) override;

   private:
    const Orders& orders_;
  };
  struct Waiting {
    Waiting(Executor& executor, Heard heard) : answer(executor), late(std::move(heard)) {}
    Promise<Status> answer;
    Heard late;
    std::optional<Status> status;  // as soon as it is known; the promise is a round behind
    bool given_up = false;
  };
  Task<void> Carry(std::string group, int delta, bool all_or_nothing,
                   std::shared_ptr<Promise<bool>> before, std::shared_ptr<Promise<bool>> done,
                   std::shared_ptr<Waiting> waiting);
  void Answered(const std::string& group, int delta, const Status& status);

  View view_;
  CloudCalls& cloud_;
  Executor& executor_;
  std::map<std::string, OfGroup, std::less<>> groups_;
  uint64_t answers_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace coppice::autoscale
