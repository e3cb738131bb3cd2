// RunAccount: what `coppice run` tells of a model cluster: a line per decision with its reason, a
// table of the groups now and then, and what it all came to.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "report/pass_report.h"
#include "sim/model.h"
#include "whatif/model_host.h"

namespace coppice::whatif {

class RunAccount {
 public:
  using Print = std::function<void(const std::string& line)>;

  RunAccount(sim::Model& model, Print print);

  void Tell(const report::PassReport& pass);
  void Event(const cluster::Event& event);
  void Line(char mark, const std::string& what, const std::string& why);
  // One that is no decision: of a table, of a summary.
  void Text(const std::string& line) { print_(line); }
  // Says what is left to say of repeated lines; before anything that is no line.
  void EndRepeats();
  // Machines that somebody else than the autoscaler's scale-up has ordered of its groups.
  void Ordered(int machines) { bought_ += machines; }
  // Money: called whenever time has passed.
  void Charge();
  void Table(const report::PassReport& pass);
  void Summary(double real_seconds);
  double spent() const;

 private:
  void TellScaleUp(const report::ScaleUp& scale_up);
  void TellUnhelped(const report::Unhelped& unhelped);
  void TellScaleDown(const report::ScaleDown& scale_down);
  void TellArrivals();

  sim::Model& model_;
  const Print print_;
  const TimePoint start_;
  std::map<std::string, double> price_;  // of a machine of the group, per hour
  std::map<std::string, int> count_;     // machines now
  double peak_rate_ = 0;                 // of all machines at one time, per hour
  int peak_machines_ = 0;
  std::map<std::string, double> spent_;
  TimePoint charged_until_;
  std::map<std::string, std::string> said_;  // what was last said of pods that wait
  size_t joined_before_ = 0;
  size_t joined_told_ = 0;
  size_t bound_told_ = 0;
  std::string last_line_;  // without its time
  int repeated_ = 0;       // how often it came again, and was not printed
  int bought_ = 0;
  int removed_ = 0;
  int drained_ = 0;
  int failures_ = 0;
};

}  // namespace coppice::whatif
