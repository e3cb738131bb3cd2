// LeaderLease: at most one of several replicas acts. client-go's algorithm on a
// coordination.k8s.io Lease, so that an upstream autoscaler and we can stand for the same one.
//
// Beside the election it is the fence: nothing is written unless the lease is ours right now, and
// what is written ends before the lease could be somebody else's. The lease counts from before its
// renewal was sent, on our own clock, so that a slow answer shortens it rather than stretches it;
// and on one that counts on while the machine sleeps, for the others do not wait for us to wake up.
//
// Decision thread, but for the fence, which any thread may ask.

#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/boot_time.h"
#include "base/log.h"
#include "kube/client.h"

namespace coppice::kube {

struct LeaseOptions {
  std::string namespace_ = "kube-system";
  std::string name = "cluster-autoscaler";
  std::string identity;
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  BootTime since_boot = SinceBoot;  // what the fence goes by
};

// What a Lease's JSON says; the empty record for anything else.
struct LeaseRecord {
  std::string holder;
  int64_t duration_seconds = 0;
  std::string acquire_time;
  std::string renew_time;
  int64_t transitions = 0;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};
LeaseRecord ReadLease(std::string_view json);
// The Lease as it came with this record in it, and nothing else changed; from "" a new one.
std::string WriteLease(std::string_view json, const LeaseRecord& record,
                       const std::string& namespace_, const std::string& name);

class LeaderLease {
 public:
  LeaderLease(LeaseOptions options, Client& client, const Log& log);

  // Until we lead. Never gives up; fails only for what no waiting mends (no right, bad name).
  Task<Status> Acquire();
  // Renews until it can do so no more; then we lead no more. Spawn after Acquire.
  Task<Status> Hold();
  // Hands it over at once instead of letting others wait for its end.
  Task<void> Release();

  // The fence: any thread.
  bool leads() const { return options_.since_boot().count() < ours_until_; }
  // OK, or why nothing may be written now.
  Status MayWrite() const;
  // `deadline`, but before the lease ends.
  Deadline Within(Deadline deadline) const;

  const std::string& holder() const { return seen_.holder; }  // as last seen

 private:
  // One round: true if the lease is ours now.
  Task<Result<bool>> TryOnce(Duration timeout);
  // The write that makes or keeps it ours, after a read that says whether it may be.
  Task<Result<bool>> ReadAndWrite(Duration timeout, bool read);
  Task<Result<bool>> Write(Request request, LeaseRecord record, Duration began);
  void See(std::string_view body);
  void GiveUp() { ours_until_ = 0; }
  Request PutRequest(const LeaseRecord& record) const;

  LeaseOptions options_;
  Client& client_;
  const Log& log_;
  std::string path_;
  std::string raw_;  // the whole object as the server has it: what we do not know survives
  LeaseRecord seen_;
  TimePoint seen_at_;                    // when `seen_` last changed, on our clock
  std::atomic<int64_t> ours_until_ = 0;  // nanoseconds since boot; 0: not ours
  bool writing_ = false;                 // a write is under way
  bool released_ = false;                // what is answered now makes nothing ours again
};

}  // namespace coppice::kube
