// Story: what the dashboard knows: the picture of now, the deltas that led to it, decisions, passes,
// and the day before. Told by one thread (board.h), asked by any; a lock inside, which the decision
// thread never takes.

#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "report/json_out.h"
#include "report/session_report.h"
#include "web/decisions.h"
#include "web/gangs.h"
#include "web/history.h"
#include "web/picture.h"
#include "web/pools.h"

namespace coppice::web {

// What there is to know about the process beside the cluster; gathered by whoever puts it together.
struct PassInfo {
  std::shared_ptr<const report::PassReport> report;
  Duration took{};  // by the wall
};

class Story {
 public:
  // Deltas are numbered from `first_seq` on. Where processes follow each other it is to differ from
  // one to the next by more than a process has deltas: a page that comes back with a number of the
  // one before would else be told what does not follow from what it shows.
  explicit Story(HistoryOptions history = {}, uint64_t first_seq = 0)
      : first_seq_(first_seq), seq_(first_seq), history_(history) {}

  // ---- Telling.

  // The decisions of the pass as JSON, oldest first.
  std::vector<std::string> Pass(const PassInfo& pass);
  std::vector<std::string> Pools(std::shared_ptr<const report::ProvisionReport> report);
  std::vector<std::string> Session(std::shared_ptr<const report::SessionReport> session);
  // The delta as JSON; absent: nothing has changed.
  std::optional<std::string> Saw(const Seen& seen);

  // ---- Asking. JSON, or a status that says why not.

  std::string State() const;
  Result<std::string> StateAt(TimePoint when) const;
  // What came after `seq` (0: all of it), one document each; absent: too long ago, or a number of
  // another process; ask for the state anew.
  std::optional<std::vector<std::string>> Since(uint64_t seq) const;
  uint64_t seq() const;
  std::string Timeline(std::optional<TimePoint> from, std::optional<TimePoint> to,
                       size_t points) const;
  std::string Decisions(uint64_t before, size_t limit,
                        std::optional<TimePoint> until = std::nullopt) const;
  Result<std::string> Decision(uint64_t id) const;
  Result<std::string> Pod(std::string_view namespace_, std::string_view name) const;
  Result<std::string> Node(std::string_view name) const;
  Result<std::string> Row(const std::string& name) const;
  Result<std::string> Claim(std::string_view name) const;
  Result<std::string> Gang(std::string_view name) const;
  Result<std::string> LastPass() const;
  Result<std::string> LastPools() const;
  // Passes, and what this object holds itself: fields of an object that the caller has open.
  void WriteHealth(report::JsonOut& out) const;

 private:
  // A pass of an engine beside node groups, for the health page.
  struct EnginePass {
    TimePoint at;
    Duration took{};
    std::string error;
    std::vector<report::Stage> stages;
  };
  static void Keep(EnginePass pass, std::deque<EnginePass>& passes);
  static void Write(report::JsonOut& out, const std::deque<EnginePass>& passes);
  void Remember(const std::shared_ptr<const report::PassReport>& report) COPPICE_REQUIRES(mutex_);
  void Remember(const std::shared_ptr<const report::ProvisionReport>& report)
      COPPICE_REQUIRES(mutex_);
  void Note(const std::vector<report::PodPtr>& pods, const Told& told) COPPICE_REQUIRES(mutex_);
  void NoteGangs(const Seen& seen) COPPICE_REQUIRES(mutex_);
  void Prune(const Seen& seen) COPPICE_REQUIRES(mutex_);

  const uint64_t first_seq_;
  mutable Mutex mutex_;
  uint64_t seq_ COPPICE_GUARDED_BY(mutex_);
  TimePoint at_ COPPICE_GUARDED_BY(mutex_){};
  Picture now_ COPPICE_GUARDED_BY(mutex_);
  std::deque<std::pair<uint64_t, std::string>> recent_
      COPPICE_GUARDED_BY(mutex_);  // deltas, for who comes back
  size_t recent_bytes_ COPPICE_GUARDED_BY(mutex_) = 0;
  ToldPods told_ COPPICE_GUARDED_BY(mutex_);
  std::shared_ptr<const report::PassReport> last_ COPPICE_GUARDED_BY(mutex_);
  PoolTeller pool_teller_ COPPICE_GUARDED_BY(mutex_);
  std::shared_ptr<const report::ProvisionReport> pools_ COPPICE_GUARDED_BY(mutex_);
  GangTeller gang_teller_ COPPICE_GUARDED_BY(mutex_);
  std::shared_ptr<const report::SessionReport> session_ COPPICE_GUARDED_BY(mutex_);
  std::deque<PassInfo> passes_ COPPICE_GUARDED_BY(mutex_);  // without reports; newest last
  std::deque<EnginePass> pool_passes_ COPPICE_GUARDED_BY(mutex_);
  std::deque<EnginePass> sessions_ COPPICE_GUARDED_BY(mutex_);
  DecisionLog decisions_ COPPICE_GUARDED_BY(mutex_);
  History history_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::web
