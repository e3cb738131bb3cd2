#include "test/scenario/stage.h"

#include <algorithm>

#include "base/go_duration.h"
#include "base/strings.h"
#include "cloud/fake_cloud.h"

namespace coppice::scenario {

Stage::Stage(const app::Plugins& plugins, const fit::Chain& filters)
    : plugins_(plugins), filters_(filters), zero_(clock_.Now()) {}

Stage::~Stage() = default;

std::vector<std::string> Stage::Play(const Scenario& scenario, const app::Plugins& plugins,
                                     const fit::Chain& filters) {
  Stage stage(plugins, filters);
  std::vector<std::string> wrong;
  for (const Line& line : scenario.lines) {
    const std::string where = "line " + std::to_string(line.number) + ": ";
    if (line.word(0) == "expect") {
      const std::string complaint = stage.model_ ? stage.Expect(line) : "nothing is there yet";
      if (!complaint.empty()) wrong.push_back(where + complaint);
      continue;
    }
    const Status done = stage.Do(line);
    if (!done.ok()) {
      wrong.push_back(where + done.message());
      return wrong;
    }
  }
  return wrong;
}

Status Stage::Prepare(const Line& line, bool& done) {
  const std::string verb = line.word(0);
  done = true;
  if (verb == "flags") {
    flags_.insert(flags_.end(), line.words.begin() + 1, line.words.end());
    return Status::Ok();
  }
  if (verb == "refused-flags") {  // refused-flags FLAG... "text"
    const std::vector<std::string> args(line.words.begin() + 1, line.words.end() - 1);
    const auto parsed = autoscale::ParseFlags(args);
    if (parsed.ok()) return InvalidArgument("the flags are taken");
    if (parsed.status().message().find(line.words.back()) == std::string::npos)
      return InvalidArgument("refused, but with: " + parsed.status().message());
    return Status::Ok();
  }
  if (verb == "group") return AddGroup(line);
  if (verb == "times") {
    boot_ = TRY(line.Time("boot", boot_));
    times_.joins_after = TRY(line.Time("join", times_.joins_after));
    times_.ready_after = TRY(line.Time("ready", times_.ready_after));
    times_.gone_after = TRY(line.Time("gone", times_.gone_after));
    list_lag_ = TRY(line.Time("list-lag", list_lag_));
    return Status::Ok();
  }
  done = false;
  return Status::Ok();
}

Status Stage::Start() {
  if (model_ == nullptr) {
    auto cloud = std::make_unique<cloud::FakeCloud>(clock_);
    cloud->set_flavors(flavors_);
    cloud->set_boot_time(boot_);
    cloud->draw_lag = [lag = list_lag_] { return lag; };
    cloud->on_flavors = [this] {
      return cloud::FakeAnswer{.status = hide_flavors_ ? Unavailable("no flavors") : Status::Ok()};
    };
    model_ = TRY(sim::Model::Create({.clock = clock_,
                                     .filters = filters_,
                                     .cloud = std::move(cloud),
                                     .groups = groups_,
                                     .times = times_}));
    Hook();
  }
  return Status::Ok();
}

Status Stage::Do(const Line& line) {
  const std::string verb = line.word(0);
  bool done = false;
  if (model_ == nullptr) {
    TRY(Prepare(line, done));
    if (done) return Status::Ok();
    TRY(Start());
  }
  if (verb == "nodes") return AddNodes(line);
  if (verb == "pods") return AddPods(line);
  if (verb == "node") return ChangeNode(line);
  if (verb == "cloud") return TellCloud(line);
  if (verb == "evictions") return TellEvictions(line);
  if (verb == "api") {
    refuse_changes_ = line.word(1) == "refuses";
    return Status::Ok();
  }
  if (verb == "scale") {
    model_->controllers.Scale(line.word(1), std::atoi(line.word(3).c_str()));
    return Status::Ok();
  }
  if (verb == "delete") {
    if (!model_->controllers.Has(line.word(1))) return NotFound("no pods " + line.word(1));
    model_->controllers.Delete(line.word(1));
    return Status::Ok();
  }
  if (verb == "budget") {
    const auto number = [&](const char* key) -> std::optional<int> {
      return line.Find(key) ? std::optional<int>(line.Int(key, 0)) : std::nullopt;
    };
    model_->controllers.SetBudget(line.word(1), number("min"), number("max"));
    return Status::Ok();
  }
  if (verb == "configmap") {
    model::ConfigMap map;
    map.metadata.name = line.word(1);
    map.metadata.namespace_ = "kube-system";
    std::string text = line.word(3);
    for (size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n"))
      text.replace(at, 2, "\n");
    map.data[line.word(2)] = text;
    model_->cluster.Upsert(std::move(map));
    return Status::Ok();
  }
  if (verb == "at") return MoveTo(line.word(1));

  // From here on the engine is needed.
  if (host_ == nullptr) {
    auto parsed = TRY(autoscale::ParseFlags(flags_));
    scan_ = parsed.options.scan_interval;
    model_->agenda.RunDue();
    numbers_ = std::make_unique<autoscale::AutoscalerMetrics>(metrics_, parsed.ForMetrics());
    host_ = TRY(whatif::ModelHost::Create({.model = *model_,
                                           .clock = clock_,
                                           .plugins = plugins_,
                                           .flags = std::move(parsed),
                                           .log = log_,
                                           .metrics = metrics_}));
  }
  if (verb == "pass") {
    bought_.clear(), removed_.clear(), evicted_.clear(), events_.clear(), deleted_machines_.clear();
    Pass();
    return Status::Ok();
  }
  if (verb == "passes") return Passes(line);
  if (verb == "restart") return host_->Restart();
  if (verb == "view") {
    if (line.word(1) == "freezes") host_->view().Freeze();
    if (line.word(1) == "thaws") host_->view().Thaw();
    return Status::Ok();
  }
  return InvalidArgument("what is '" + verb + "'?");
}

void Stage::Pass() {
  std::vector<std::pair<sim::PodPtr, model::Pod>> before;
  for (const auto* entry : model_->cluster.objects().Pods())
    before.emplace_back(entry->pod, *entry->pod);
  const TimePoint began = clock_.Now();
  last_ = host_->Pass();
  for (const auto& [pod, copy] : before) {
    if (!(*pod == copy)) changed_ = copy.metadata.name;
  }
  numbers_->PassEnded(*last_, {host_->world(), host_->groups(), host_->engine().templates()}, began,
                      clock_.Now());
  const auto count = [this](const report::ScaleUp& up) {
    if (up.result != report::ScaleUpResult::kSuccessful) return;
    for (const auto& resize : up.resizes) {
      if (std::ranges::find(up.failed_groups, resize.group) == up.failed_groups.end())
        bought_[resize.group] += resize.to - resize.from;
    }
  };
  for (const report::ScaleUp& round : last_->earlier_rounds) count(round);
  count(last_->scale_up);
  for (const auto& node : last_->scale_down.removed) removed_.insert(node.node);
  host_->AdvanceTo(clock_.Now());
}

// passes every 10s until 5m
Status Stage::Passes(const Line& line) {
  const Duration every = TRY(ParseGoDuration(line.word(2)));
  const Duration until = TRY(ParseGoDuration(line.word(4)));
  if (every <= Duration::zero()) return InvalidArgument("passes every TIME until TIME");
  bought_.clear(), removed_.clear(), evicted_.clear(), events_.clear(), deleted_machines_.clear();
  while (clock_.Now() < zero_ + until) {
    host_->AdvanceTo(std::min(zero_ + until, clock_.Now() + every));
    Pass();
  }
  return Status::Ok();
}

Status Stage::MoveTo(const std::string& time) {
  const TimePoint when = zero_ + TRY(ParseGoDuration(time));
  if (when < clock_.Now()) return InvalidArgument("time does not run backwards");
  if (host_) {
    host_->AdvanceTo(when);
    return Status::Ok();
  }
  for (model_->agenda.RunDue(); model_->agenda.next() && *model_->agenda.next() <= when;
       model_->agenda.RunDue()) {
    clock_.Set(*model_->agenda.next());
  }
  clock_.Set(when);
  return Status::Ok();
}

}  // namespace coppice::scenario
