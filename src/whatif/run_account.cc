#include "whatif/run_account.h"

#include "whatif/run_words.h"

namespace coppice::whatif {
RunAccount::RunAccount(sim::Model& model, Print print)
    : model_(model),
      print_(std::move(print)),
      start_(model.agenda.Now()),
      charged_until_(start_),
      joined_before_(model.machines.joined()),
      joined_told_(joined_before_) {
  const auto flavors = model.cloud.Flavors(Deadline::Never());
  for (const cloud::GroupConfig& group : model.groups()) {
    price_[group.name] = group.price_per_hour.value_or(0);
    if (group.price_per_hour || !flavors.ok()) continue;
    const auto flavor = std::ranges::find(*flavors, group.flavor, &cloud::Flavor::name);
    if (flavor != flavors->end()) price_[group.name] = flavor->price_per_hour.value_or(0);
  }
  Charge();
}

void RunAccount::EndRepeats() {
  if (repeated_ > 0)
    print_(fmt::format("{:17}. the same {} more time{}", "", repeated_, repeated_ == 1 ? "" : "s"));
  repeated_ = 0;
  last_line_.clear();
}

void RunAccount::Line(char mark, const std::string& what, const std::string& why) {
  std::string line = fmt::format("{} {} {}", mark, what, why);
  if (line == last_line_) {
    ++repeated_;
    return;
  }
  EndRepeats();
  last_line_ = std::move(line);
  print_(AccountLine(start_, model_.agenda.Now(), mark, what, why));
}

void RunAccount::Charge() {
  const TimePoint now = model_.agenda.Now();
  for (const auto& [group, count] : count_) {
    spent_[group] += price_[group] * count * Hours(now - charged_until_);
  }
  charged_until_ = now;
  count_.clear();
  for (const cloud::Machine& machine : model_.cloud.Truth()) {
    const auto tag = machine.tags.find(cloud::kGroupTag);
    if (tag != machine.tags.end() && machine.state != cloud::MachineState::kDeleting)
      ++count_[tag->second];
  }
  double rate = 0;
  int machines = 0;
  for (const auto& [group, count] : count_) {
    rate += price_[group] * count;
    machines += count;
  }
  if (rate > peak_rate_) {
    peak_rate_ = rate;
    peak_machines_ = machines;
  }
}

void RunAccount::TellUnhelped(const report::Unhelped& unhelped) {
  std::map<std::string, std::vector<std::string>> groups_by_reason;
  for (const auto& [group, verdict] : unhelped.rejected)
    groups_by_reason[verdict.reason()].push_back(group);
  if (unhelped.skipped) {
    for (const auto& [group, reasons] : *unhelped.skipped)
      groups_by_reason[Join(reasons, ", ")].push_back(group);
  }
  std::vector<std::string> parts;
  for (const auto& [reason, groups] : groups_by_reason)
    parts.push_back(reason + " (" + Join(groups, ", ") + ")");
  std::string why = parts.empty() ? "no group has room" : Join(parts, "; ");
  if (!unhelped.misses.empty() && !unhelped.misses.front().changes.empty()) {
    why += "; " + unhelped.misses.front().group + " would take them if " +
           unhelped.misses.front().changes.front().text;
  }
  const std::string who = ByOwner(unhelped.pods);
  constexpr size_t kMostOwners = 1'000;  // each Job is another one; at worst a line comes again
  if (said_.size() >= kMostOwners) said_.clear();
  std::string& said = said_[OwnerOf(*unhelped.pods.front())];
  if (said == why) return;
  said = why;
  Line('.', who + " wait", why);
}

void RunAccount::TellScaleUp(const report::ScaleUp& scale_up) {
  if (scale_up.result == report::ScaleUpResult::kSuccessful) {
    std::string how;
    for (const report::ExpanderStep& step : scale_up.chosen_by) {
      const auto score = std::ranges::find(step.scores, scale_up.chosen, &report::Score::group);
      how += (how.empty() ? "" : ", then ") + step.expander;
      if (score != step.scores.end() && !score->text.empty()) how += ": " + score->text;
      if (!step.note.empty()) how += ": " + step.note;
    }
    if (how.empty() && scale_up.options.size() == 1) how = "the only group that helps";
    if (scale_up.options.size() > 1)
      how += fmt::format("{}best of {}", how.empty() ? "" : ", ", scale_up.options.size());
    for (const report::GroupResize& resize : scale_up.resizes) {
      bought_ += resize.to - resize.from;
      Line('+', fmt::format("{} {} -> {}", resize.group, resize.from, resize.to),
           scale_up.triggered.empty()
               ? "to its minimum"
               : "for " + ByOwner(scale_up.triggered) + (how.empty() ? "" : " (" + how + ")"));
    }
    for (const auto& pod : scale_up.triggered) said_.erase(OwnerOf(*pod));
  } else {
    // Options, and no choice: an expander that had nothing to choose by.
    for (const report::ExpanderStep& step : scale_up.chosen_by)
      if (!step.note.empty()) Line('!', step.expander + " did not choose", step.note);
  }
  for (const auto& unhelped : scale_up.unhelped) {
    if (!unhelped.pods.empty()) TellUnhelped(unhelped);
  }
}

void RunAccount::TellScaleDown(const report::ScaleDown& scale_down) {
  // Those that go together for the same reason are one line.
  std::vector<std::string> empty;
  for (const report::RemovedNode& node : scale_down.removed) {
    const std::string use =
        fmt::format("used {:.0f}% ({})", node.utilization.value * 100,
                    node.utilization.resource.empty() ? "cpu" : node.utilization.resource);
    if (node.evicted.empty()) {
      empty.push_back(node.node);
    } else {
      ++drained_;
      Line('-', node.node,
           use + ", unneeded long enough; " + ByOwner(node.evicted) + " fit elsewhere");
    }
  }
  if (empty.size() == 1) {
    Line('-', empty[0], "empty, and unneeded long enough");
  } else if (!empty.empty()) {
    Line('-', fmt::format("{} nodes", empty.size()),
         "empty, and unneeded long enough: " + Join(empty, ", "));
  }
  for (const report::DeletionOutcome& outcome : scale_down.outcomes) {
    if (outcome.ok()) {
      ++removed_;
    } else {
      ++failures_;
      Line('!', outcome.node + " stays", outcome.error);
    }
  }
}

void RunAccount::Event(const cluster::Event& event) {
  if (event.type != "Warning" || event.kind != "ConfigMap") return;
  ++failures_;
  Line('!', event.reason, event.text);
}

void RunAccount::Tell(const report::PassReport& pass) {
  Charge();
  TellArrivals();
  if (!pass.error.empty()) Line('!', "pass given up", pass.error);
  for (const report::ScaleUp& round : pass.earlier_rounds) TellScaleUp(round);
  TellScaleUp(pass.scale_up);
  TellScaleDown(pass.scale_down);
}

// What the last purchases came to: without it nothing is said until the next decision.
void RunAccount::TellArrivals() {
  const size_t joined = model_.machines.joined() - joined_told_;
  if (joined == 0) return;
  const size_t started = model_.scheduler.bound() - bound_told_;
  joined_told_ += joined;
  bound_told_ += started;
  Line('*', fmt::format("{} node{} joined", joined, joined == 1 ? "" : "s"),
       fmt::format("{} pod{} started since, {} wait", started, started == 1 ? "" : "s",
                   model_.Pending().size()));
}

void RunAccount::Table(const report::PassReport& pass) {
  if (!pass.status) return;
  EndRepeats();
  size_t pods = 0;
  for (const auto* entry : model_.cluster.objects().Pods())
    pods += entry->pod->spec.node_name.empty() ? 0 : 1;
  print_("");
  print_(fmt::format("  {:<16} {:>4} {:>4} {:>6} {:>5} {:>6} {:>8} {:>8} {:>8}  {}", "group", "min",
                     "max", "target", "ready", "coming", "unneeded", "per hour", "spent", "state"));
  for (const report::GroupStatus& group : pass.status->groups) {
    const auto coming = pass.upcoming.find(group.group);
    const std::string state = !group.backoff_code.empty() ? "backed off: " + group.backoff_code
                              : group.healthy             ? ""
                                                          : "unhealthy";
    print_(fmt::format("  {:<16} {:>4} {:>4} {:>6} {:>5} {:>6} {:>8} {:>8.3f} {:>8.2f}  {}",
                       group.group, group.min, group.max, group.target, group.counts.ready,
                       coming == pass.upcoming.end() ? 0 : coming->second, group.candidates,
                       price_[group.group] * count_[group.group], spent_[group.group], state));
  }
  print_(fmt::format("  {} pods run, {} wait", pods, model_.Pending().size()));
  print_("");
}

double RunAccount::spent() const {
  double spent = 0;
  for (const auto& [group, sum] : spent_) spent += sum;
  return spent;
}

void RunAccount::Summary(double real_seconds) {
  Charge();
  EndRepeats();
  // Who still waits has waited, too.
  Duration longest = model_.scheduler.longest_wait();
  std::string longest_waiter = model_.scheduler.longest_waiter();
  for (const auto& pod : model_.Pending()) {
    const Duration wait = model_.agenda.Now() - pod->metadata.creation_timestamp->at;
    if (wait <= longest) continue;
    longest = wait;
    longest_waiter = pod->metadata.name + ", which still waits";
  }
  const Duration time = model_.agenda.Now() - start_;
  const double spent = this->spent();
  const double fixed = peak_rate_ * Hours(time);
  print_("");
  print_(fmt::format("Summary of {:.1f} simulated hours ({:.0f} s of yours)", Hours(time),
                     real_seconds));
  print_(fmt::format("  nodes      {} ordered, {} joined, {} removed ({} of them drained), {} now",
                     bought_, model_.machines.joined() - joined_before_, removed_, drained_,
                     model_.cluster.objects().node_count()));
  print_(fmt::format(
      "  cost       {:.2f}; always as many machines as at the busiest moment ({}): {:.2f}; saved "
      "{:.0f}%",
      spent, peak_machines_, fixed, fixed > 0 ? 100 * (1 - spent / fixed) : 0));
  print_(fmt::format("  pods       {} started; the longest wait was {} ({}); {} wait now",
                     model_.scheduler.bound(), Short(longest),
                     longest_waiter.empty() ? "nobody" : longest_waiter, model_.Pending().size()));
  print_(fmt::format("  trouble    {} times something refused or failed, as above", failures_));
}

}  // namespace coppice::whatif
