// Story: what the dashboard knows: the picture of now, the deltas that led to it, decisions, passes,
// and the day before. Told by one thread (board.h), asked by any; a lock inside, which the decision
// thread never takes.

#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

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
  explicit Story(HistoryOptions history = {}) : history_(history) {}

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
  // What came after `seq`, one document each; absent: too long ago, ask for the state anew.
  std::optional<std::vector<std::string>> Since(uint64_t seq) const;
  uint64_t seq() const;
  std::string Timeline(std::optional<TimePoint> from, std::optional<TimePoint> to,
                       size_t points) const;
  std::string Decisions(uint64_t before, size_t limit) const;
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
  void Remember(const std::shared_ptr<const report::PassReport>& report);
  void Remember(const std::shared_ptr<const report::ProvisionReport>& report);
  void Note(const std::vector<report::PodPtr>& pods, const Told& told);
  void NoteGangs(const Seen& seen);
  void Prune(const Seen& seen);

  mutable std::mutex mutex_;
  uint64_t seq_ = 0;
  TimePoint at_{};
  Picture now_;
  std::deque<std::pair<uint64_t, std::string>> recent_;  // deltas, for who comes back
  size_t recent_bytes_ = 0;
  ToldPods told_;
  std::shared_ptr<const report::PassReport> last_;
  PoolTeller pool_teller_;
  std::shared_ptr<const report::ProvisionReport> pools_;
  GangTeller gang_teller_;
  std::shared_ptr<const report::SessionReport> session_;
  std::deque<PassInfo> passes_;  // without reports; newest last
  DecisionLog decisions_;
  History history_;
};

}  // namespace coppice::web
