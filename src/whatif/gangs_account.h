// GangsAccount: what `coppice run --batch` tells of a model cluster beside the engines that it runs
// next to: which gangs come, start and end, why the others wait, what is bought for whom, who has to
// make room; the queues now and then; what it all came to.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "report/session_report.h"
#include "sim/model.h"
#include "whatif/gang_load.h"

namespace coppice::whatif {

class GangsAccount {
 public:
  struct Print {
    // A line per thing that happens: mark, what, why.
    std::function<void(char mark, const std::string& what, const std::string& why)> line;
    std::function<void(const std::string& line)> table;
    std::function<void(int machines)> ordered = nullptr;  // for gangs, by whoever sells them
  };
  // Hears of the gangs of `load` from now on; both outlive it.
  GangsAccount(sim::Model& model, GangLoad& load, Print print);
  GangsAccount(const GangsAccount&) = delete;
  GangsAccount& operator=(const GangsAccount&) = delete;

  // After each session.
  void Tell(const report::SessionReport& session);
  void Table();
  void Summary();

 private:
  void Came(const PlayedGang& gang);
  void Started(const PlayedGang& gang);
  void Ended(const PlayedGang& gang);
  void TellWaiting(const report::SessionReport& session);
  void TellEvictions(const report::SessionReport& session);
  // As it is called in the lines: of the gang that a group is of; of others the group's name.
  std::string NameOf(const std::string& group) const;
  bool HasStarted(const std::string& group) const;  // with fewer pods than it would like

  sim::Model& model_;
  GangLoad& load_;
  const Print print_;
  std::map<std::string, std::string> said_;  // of gangs that wait, by group
  std::map<std::string, std::string> bought_;
  std::string error_;
  std::optional<report::SessionReport> last_;  // with queues
  size_t came_ = 0;
  size_t started_ = 0;
  size_t run_ = 0;
  size_t given_up_ = 0;
  size_t evicted_ = 0;
  size_t sessions_ = 0;
  int machines_ = 0;
  Duration longest_wait_{};
  std::string longest_waiter_;
};

}  // namespace coppice::whatif
