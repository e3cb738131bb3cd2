// JobController: Volcano Jobs into pods and a group, and what becomes of the pods into the job's
// phase. In the place of Volcano's own where that does not run.
//
// Goes by what is, not by what happened: each look compares a job with its pods and does what is
// missing, so that a process may end at any moment. Pods are made at once, whether the job's queue
// has let it in or not: whoever buys machines has to see what is wanted. Which pods have failed and
// were answered for, and which have gone without our doing, is remembered in the process only.
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/executor.h"
#include "base/log.h"
#include "batch/controllers/volcano_job.h"
#include "batch/turnstile.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::batch {

class JobController {
 public:
  struct Parts {
    cluster::World& world;  // with VolcanoJobs, PodGroups and EndedPods
    cluster::Writer& writer;
    Executor& executor;
    const Log& log;
    std::function<void()> wake;  // look again soon
    // A pod was made so long after its job. Null: nobody counts.
    std::function<void(Duration after)> pod_made = nullptr;
  };
  explicit JobController(Parts parts)
      : parts_(std::move(parts)), doors_(parts_.executor, kAtOnce) {}

  void Sync(TimePoint now);
  // When a look is worth it without news; max: never.
  TimePoint Next() const { return next_; }
  size_t under_way() const { return under_way_; }

 private:
  static constexpr size_t kAtOnce = 64;
  static constexpr Duration kAgain = std::chrono::seconds(1);

  struct Memory {
    std::string seen;                          // version of the job whose status we have overtaken
    bool writing = false;                      // a status is under way
    std::set<std::string> busy;                // pods that are being made or deleted, by name
    std::map<std::string, std::string> known;  // pods that there were: uid by name
    std::set<std::string> removed;             // uids that we have deleted
    std::set<std::string> answered;            // uids of failed pods that a policy was asked about
    std::set<std::string> completed;           // tasks
    std::map<std::string, std::optional<int32_t>> exit_codes;  // by uid; absent: being asked for
    TimePoint try_again;
    bool told_ignored = false;
    // What a policy with a timeout wants done, by the seat's name (of a task: "task NAME").
    struct Delayed {
      std::string action;
      std::string event;  // PodPending, ...
      std::string uid;    // of the pod
      std::string why;
      TimePoint due;
    };
    std::map<std::string, Delayed> delayed;
  };
  // One pod of a job, as it is now.
  struct Seat {
    const JobTask* task = nullptr;
    std::string name;
    int32_t index = 0;
    cluster::PodPtr pod;  // null: there is none
    bool ended = false;
    bool stale = false;  // of an earlier version of the job: to go
  };
  struct Decision {
    std::string phase;
    std::string reason;
    bool count_retry = false;
  };

  void SyncOne(const std::shared_ptr<const VolcanoJob>& job, TimePoint now);
  std::vector<Seat> SeatsOf(const VolcanoJob& job) const;
  static VolcanoJobStatus Tally(const VolcanoJob& job, const std::vector<Seat>& seats);
  std::optional<Decision> Decide(const VolcanoJob& job, const std::vector<Seat>& seats,
                                 const VolcanoJobStatus& now, Memory& memory);
  std::optional<Decision> Answer(const VolcanoJob& job, const std::vector<Seat>& seats,
                                 Memory& memory);
  // Does what the policies want done about an event, or notes when to.
  std::optional<Decision> Meet(const VolcanoJob& job, const JobTask& task, std::string_view event,
                               std::optional<int32_t> exit_code, const std::vector<Seat>& seats,
                               const Seat* about, Memory& memory, const std::string& why);
  std::optional<Decision> DoDelayed(const VolcanoJob& job, const std::vector<Seat>& seats,
                                    Memory& memory);
  std::optional<Decision> Act(const VolcanoJob& job, const std::string& action,
                              const std::vector<Seat>& seats, const Seat* about, Memory& memory,
                              const std::string& why);
  void Make(const VolcanoJob& job, const std::vector<Seat>& seats, Memory& memory, TimePoint now);
  bool MayStart(const VolcanoJob& job, const JobTask& task, const std::vector<Seat>& seats) const;
  // True if nobody is left.
  bool Remove(const VolcanoJob& job, const std::vector<Seat>& seats, bool ended_too,
              Memory& memory);
  void RemovePod(const VolcanoJob& job, const Seat& seat, Memory& memory);
  void PutJobStatus(const VolcanoJob& job, VolcanoJobStatus status, const std::string& reason,
                    TimePoint now);
  void Note(const VolcanoJob& job, std::string type, std::string reason, std::string text);
  void LookAt(TimePoint when) { next_ = std::min(next_, when); }

  coppice::Task<void> Create(std::string uid, std::string job, std::string key,
                             cluster::ObjectName object, std::string json,
                             std::optional<model::Time> since);
  coppice::Task<void> DeletePod(std::string uid, cluster::PodName pod);
  coppice::Task<void> Write(std::string uid, cluster::ObjectName object, std::string patch);
  coppice::Task<void> AskExitCode(std::string uid, cluster::PodName pod);
  coppice::Task<void> DeleteJob(std::string uid, cluster::ObjectName object);

  const Parts parts_;
  Turnstile doors_;
  std::map<std::string, Memory> memory_;  // by uid of the job
  TimePoint next_ = TimePoint::max();
  size_t under_way_ = 0;
};

}  // namespace coppice::batch
