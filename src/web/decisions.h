// Decisions: what passes did or refused to do, a line each with its reason, and behind each line
// what was compared. Made from pass reports; kept newest first, bounded.
//
// Values; one thread at a time.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "report/json_out.h"
#include "report/pass_report.h"

namespace coppice::web {

struct Decision {
  uint64_t id = 0;
  TimePoint at;
  std::string kind;   // up, down, waits, trouble, gang
  std::string title;  // "general 3 -> 5"
  std::string why;
  std::string row;     // group or pool; may be empty
  std::string detail;  // JSON: what was compared; may be empty
  // Not shown: of what waits, whose it is (the same is not said of it twice in a row), and who
  // waits no longer because of it.
  std::string owner = {};
  std::vector<std::string> helps = {};

  std::string Brief() const;  // JSON without the detail
  std::string Whole() const;
};

class DecisionLog {
 public:
  explicit DecisionLog(size_t most_bytes = 8 << 20) : most_bytes_(most_bytes) {}

  // What the pass decided, oldest first; what is said of waiting pods only when it changes.
  std::vector<Decision> Add(const report::PassReport& report);
  // The same of others, who have made their decisions themselves.
  std::vector<Decision> Add(std::vector<Decision> made);

  // Newest first, those of `before` and later left out, and those after `until`. 0: from the newest.
  std::vector<const Decision*> List(uint64_t before, size_t limit,
                                    TimePoint until = TimePoint::max()) const;
  // Newest first. Of more than `limit` the newest of each kind in equal steps of time, so that what
  // is drawn along time has marks to its beginning.
  std::vector<const Decision*> Between(TimePoint from, TimePoint to, size_t limit) const;
  std::vector<const Decision*> About(const std::string& row, size_t limit) const;
  const Decision* Find(uint64_t id) const;

 private:
  void Keep(Decision decision, std::vector<Decision>& fresh);
  bool IsNew(const std::string& owner, const std::string& why);
  void AddScaleUp(const report::ScaleUp& up, TimePoint at, std::vector<Decision>& fresh);
  void AddScaleDown(const report::ScaleDown& down, TimePoint at, std::vector<Decision>& fresh);
  void AddWaiting(const report::ScaleUp& up, const report::Unhelped& unhelped, TimePoint at,
                  std::vector<Decision>& fresh);

  const size_t most_bytes_;
  size_t bytes_ = 0;
  uint64_t next_ = 1;
  std::deque<Decision> kept_;                // oldest first
  std::map<std::string, std::string> said_;  // by owner: what was last said of pods that wait
};

std::string OwnerOf(const model::Pod& pod);
void WriteDecisions(report::JsonOut& out, std::string_view key,
                    const std::vector<const Decision*>& list);
// "12 pods of web, 3 of api".
std::string ByOwner(const std::vector<report::PodPtr>& pods);

}  // namespace coppice::web
