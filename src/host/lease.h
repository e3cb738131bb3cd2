// Lease: at most one of several replicas acts. What the life of a process (life.h) asks of it; the
// fence that writes ask is the API server's own (kube/lease.h).
//
// Decision thread.

#pragma once

#include "base/status.h"
#include "base/task.h"
#include "kube/lease.h"

namespace coppice::host {

class Lease {
 public:
  virtual ~Lease() = default;
  // Until we lead; fails only for what no waiting mends.
  virtual Task<Status> Acquire() = 0;
  // Until we lead no more, and why.
  virtual Task<Status> Hold() = 0;
  // Hands it over at once instead of letting others wait for its end.
  virtual Task<void> Release() = 0;
  virtual bool leads() const = 0;
};

class KubeLease final : public Lease {
 public:
  explicit KubeLease(kube::LeaderLease& lease) : lease_(lease) {}
  Task<Status> Acquire() override { return lease_.Acquire(); }
  Task<Status> Hold() override { return lease_.Hold(); }
  Task<void> Release() override { return lease_.Release(); }
  bool leads() const override { return lease_.leads(); }

 private:
  kube::LeaderLease& lease_;
};

}  // namespace coppice::host
