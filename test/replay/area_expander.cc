// Expanders: which options survive each filter of the chain.

#include <algorithm>
#include <memory>

#include "base/fake_clock.h"
#include "expand/chain.h"
#include "test/replay/case_groups.h"
#include "test/replay/objects.h"
#include "test/replay/parts.h"
#include "test/replay/replay.h"

namespace coppice::replay {

namespace {

constexpr char kPriorityMap[] = "cluster-autoscaler-priority-expander";

struct CaseOption {
  model::Node node;
  bool has_node = false;
  std::vector<model::Pod> pods;
};

// The options of a case, and what they point to.
class ListedOptions {
 public:
  explicit ListedOptions(const Json& cases) {
    for (const Json& json : cases) Add(json);
    for (const auto& option : options_) pointers_.push_back(&option);
  }
  ListedOptions(const ListedOptions&) = delete;
  ListedOptions& operator=(const ListedOptions&) = delete;
  const std::vector<expand::Option>& all() const { return options_; }
  const expand::Options& pointers() const { return pointers_; }

 private:
  void Add(const Json& json) {
    auto stored = std::make_unique<CaseOption>();
    if (json.contains("templateNode") && !json["templateNode"].is_null()) {
      stored->node = Object<model::Node>(json["templateNode"]);
      stored->has_node = true;
    }
    for (const Json& entry : json.value("pods", Json::array())) {
      const auto pod = Object<model::Pod>(entry.at("pod"));
      for (int i = 0; i < entry.at("count").get<int>(); ++i) stored->pods.push_back(pod);
    }
    expand::Option option;
    option.group = json.at("group");
    option.node_count = json.value("nodeCount", 0);
    option.exists = json.value("exists", true);
    option.node = stored->has_node ? &stored->node : nullptr;
    for (const model::Pod& pod : stored->pods) option.pods.push_back(&pod);
    options_.push_back(std::move(option));
    storage_.push_back(std::move(stored));
  }

  std::vector<std::unique_ptr<CaseOption>> storage_;
  std::vector<expand::Option> options_;
  expand::Options pointers_;
};

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

}  // namespace

void expander(const Json& c, Report& report) {
  FakeClock clock;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  CaseGroups groups(Json::array(), [](Json) {});
  groups.pricing = c.value("pricing", Json::object());
  const expand::ExpanderContext context{clock, rng, log, metrics, &groups};
  const Json& expect = c.at("expect");

  auto chain = expand::Chain::Create(Split(c.at("expander").get<std::string>(), ','),
                                     ThePlugins().expanders, context);
  const bool theirs_failed = expect.contains("startupError") && !expect["startupError"].is_null();
  if (!chain.ok() || theirs_failed) {
    const std::string ours = chain.ok() ? "" : chain.status().message();
    const std::string theirs = theirs_failed ? expect["startupError"].get<std::string>() : "";
    if (!ours.starts_with(theirs) || theirs.empty()) report.Differs("startupError", theirs, ours);
    return;
  }

  const ListedOptions options(c.at("options"));

  std::vector<std::string> events;
  expand::Surroundings around;
  around.cluster_nodes = groups.pricing.value("clusterNodeCount", size_t{0});
  around.config_map = [&](std::string_view name, std::string_view) -> Result<std::string> {
    if (name != kPriorityMap || !c.value("priorityConfigMapExists", false))
      return NotFound("no map");
    if (c.value("prioritiesKeyMissing", false)) return FailedPrecondition("no key");
    return c.value("priorityConfigMap", std::string());
  };
  around.warn = [&](std::string_view reason, const std::string&) {
    events.push_back("Warning " + std::string(reason));
  };

  const expand::Choice choice = chain->Choose(options.pointers(), around, true);
  Json steps = Json::array();
  std::vector<std::string> survivors;
  for (const auto& step : choice.steps) {
    if (step.expander == "random") continue;
    survivors = Sorted(step.survivors);
    steps.push_back({{"filter", step.expander}, {"survivors", survivors}});
  }
  if (choice.steps.empty() || choice.steps.front().expander == "random") {
    survivors.clear();
    for (const auto& option : options.all()) survivors.push_back(option.group);
    survivors = Sorted(survivors);
  }
  Json their_steps = expect.value("steps", Json::array());
  for (Json& step : their_steps) {
    if (!step.contains("survivors") || step["survivors"].is_null())
      step["survivors"] = Json::array();
  }
  if (their_steps != steps) report.Differs("steps", their_steps.dump(), steps.dump());
  Json their_survivors = expect.value("survivors", Json::array());
  if (their_survivors.is_null()) their_survivors = Json::array();
  if (their_survivors != Json(survivors)) {
    report.Differs("survivors", their_survivors.dump(), Json(survivors).dump());
  }
  const Json chosen = survivors.empty()       ? Json()
                      : survivors.size() == 1 ? Json(survivors[0])
                                              : Json("random");
  const Json their_choice = expect.value("chosen", Json());
  if (their_choice != chosen) report.Differs("chosen", their_choice.dump(), chosen.dump());
  Json their_events = expect.value("events", Json::array());
  if (their_events.is_null()) their_events = Json::array();
  if (their_events != Json(Sorted(events))) {
    report.Differs("events", their_events.dump(), Json(Sorted(events)).dump());
  }
}

}  // namespace coppice::replay
