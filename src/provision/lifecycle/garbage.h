// Garbage: claims whose machine is gone, and machines whose claim is.
//
// A machine that is missing from the provider's complete list, and whose Node is absent or not
// ready, has ended behind our back: its claim is deleted. The other way round is the provider's, for
// only it can tell a leak from a machine that was just ordered; it is told every claim that there
// is.
//
// Decision thread.

#pragma once

#include <vector>

#include "provision/lifecycle/claim_life.h"

namespace coppice::provision {

class Garbage {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    CloudCalls& cloud;
    ClaimLife& life;
  };
  explicit Garbage(Parts parts) : parts_(parts) {}

  // Begins a sweep if one is due, and a refresh of what the provider's reads are answered from.
  void Look(TimePoint now);
  // What the provider was told has changed: it is to judge that now, not in a minute.
  void RefreshSoon() { wanted_ = true; }
  // Before the first refresh nothing is known of what can be bought.
  bool refreshed() const { return refreshed_; }
  const Status& refresh_status() const { return refresh_status_; }

 private:
  Task<void> Sweep();
  Task<void> Refresh();

  const Parts parts_;
  TimePoint next_sweep_ = TimePoint::min();
  TimePoint next_refresh_ = TimePoint::min();
  bool sweeping_ = false;
  bool refreshing_ = false;
  bool wanted_ = false;
  bool refreshed_ = false;
  Status refresh_status_;
};

}  // namespace coppice::provision
