// The stage on which a scenario is played: a model cluster, a cloud that does as it is told, and
// the real engine. README.md has the words; here is what each does.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/main.h"
#include "autoscale/autoscaler_metrics.h"
#include "base/fake_clock.h"
#include "sim/model.h"
#include "test/scenario/script.h"
#include "whatif/model_host.h"

namespace coppice::scenario {

class Stage {
 public:
  explicit Stage(const app::Plugins& plugins, const fit::Chain& filters);
  ~Stage();

  // Plays one scenario; what was expected and not so, one sentence each with its line.
  static std::vector<std::string> Play(const Scenario& scenario, const app::Plugins& plugins,
                                       const fit::Chain& filters);

 private:
  Status Do(const Line& line);
  Status Prepare(const Line& line, bool& done);  // before the engine starts
  Status Start();

  // What there is and what happens (actions.cc).
  Status AddGroup(const Line& line);
  Status AddNodes(const Line& line);
  Status AddPods(const Line& line);
  Status ChangeNode(const Line& line);
  Status TellCloud(const Line& line);
  Status TellEvictions(const Line& line);
  Result<model::Pod> PodFrom(const Line& line) const;
  void Hook();

  // Time.
  void Pass();
  Status Passes(const Line& line);
  Status MoveTo(const std::string& time);

  // What is expected (expectations.cc): "" or what is wrong.
  std::string Expect(const Line& line);
  std::string ExpectCounts(const Line& line) const;
  std::string ExpectNode(const Line& line) const;
  std::string ExpectPods(const Line& line) const;
  std::string ExpectEvent(const Line& line, bool absent) const;
  std::string ExpectStays(const Line& line) const;
  std::string ExpectReason(const Line& line) const;
  std::string ExpectMetric(const Line& line) const;

  const app::Plugins& plugins_;
  const fit::Chain& filters_;
  FakeClock clock_;
  const TimePoint zero_;
  Metrics metrics_;
  const Log log_ = Log::Null();

  // Collected until the engine starts.
  std::vector<std::string> flags_;
  std::vector<cloud::GroupConfig> groups_;
  std::vector<cloud::Flavor> flavors_;
  sim::MachineTimes times_;
  Duration boot_ = std::chrono::seconds(60);
  Duration list_lag_{};

  std::unique_ptr<sim::Model> model_;
  std::unique_ptr<whatif::ModelHost> host_;
  std::unique_ptr<autoscale::AutoscalerMetrics> numbers_;
  Duration scan_ = std::chrono::seconds(10);

  // What the cloud and the API server have been told, by group or workload.
  std::map<std::string, Status> refuse_;
  std::set<std::string> fail_boots_;
  std::map<std::string, int> bad_boots_left_;
  std::set<std::string> never_join_;
  std::map<std::string, int> joins_left_;  // so many still join, the others never
  std::set<std::string> never_ready_;
  bool hide_flavors_ = false;
  std::map<std::string, std::string> registers_with_;  // group: taint
  Status keep_machines_;
  bool away_ = false;
  std::set<std::string> refuse_evictions_;
  std::set<std::string> hang_;
  bool refuse_changes_ = false;

  // What came of it since the last pass or row of passes began.
  std::shared_ptr<const report::PassReport> last_;
  std::string changed_;  // a pod whose object a pass has changed, which none may
  std::map<std::string, int> bought_;
  std::set<std::string> removed_;
  std::set<std::string> deleted_machines_;
  std::set<std::string> evicted_;  // workloads
  std::vector<cluster::Event> events_;
};

}  // namespace coppice::scenario
