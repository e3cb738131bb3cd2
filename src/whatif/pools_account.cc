#include "whatif/pools_account.h"

#include <utility>

#include "cloud/pricing.h"
#include "whatif/run_words.h"

namespace coppice::whatif {

PoolsAccount::PoolsAccount(sim::Model& model, Print print)
    : model_(model), print_(std::move(print)), start_(model.agenda.Now()), charged_until_(start_) {
  if (auto flavors = model.cloud.Flavors(Deadline::Never()); flavors.ok())
    flavors_ = *std::move(flavors);
  model.cloud.hooks.deleted = [this](const cloud::ProviderId& id) { ended_by_us_.insert(id); };
}

void PoolsAccount::Line(char mark, const std::string& what, const std::string& why) {
  print_(AccountLine(start_, model_.agenda.Now(), mark, what, why));
}

double PoolsAccount::PriceOf(const cloud::Machine& machine) const {
  const auto flavor = std::ranges::find(flavors_, machine.flavor, &cloud::Flavor::name);
  if (flavor == flavors_.end()) return 0;
  return cloud::FlavorPricePerHour(*flavor, machine.zone, machine.capacity_type).value_or(0);
}

void PoolsAccount::Charge() {
  const TimePoint now = model_.agenda.Now();
  double rate = 0;
  for (const auto& [id, machine] : machines_) {
    spent_[machine.pool] += machine.price * Hours(now - charged_until_);
    rate += machine.price;
  }
  charged_until_ = now;
  if (rate > peak_rate_) {
    peak_rate_ = rate;
    peak_machines_ = machines_.size();
  }
  std::map<cloud::ProviderId, Known> there;
  for (const cloud::Machine& machine : model_.cloud.Truth()) {
    const auto pool = machine.tags.find(cloud::kPoolTag);
    if (pool == machine.tags.end() || machine.state == cloud::MachineState::kDeleting) continue;
    there[machine.id] = {machine.name, pool->second,
                         fmt::format("{} in {}{}", machine.flavor, machine.zone,
                                     machine.capacity_type == cloud::kSpotCapacity ? ", spot" : ""),
                         PriceOf(machine)};
  }
  for (const auto& [id, machine] : machines_) {
    if (there.contains(id) || ended_by_us_.erase(id) > 0) continue;
    ++reclaimed_;
    Line('!', machine.name, "taken back by the cloud (" + machine.what + ")");
  }
  machines_ = std::move(there);
}

void PoolsAccount::TellBought(const report::Provisioning& provisioning) {
  for (const report::PlannedMachine& machine : provisioning.machines) {
    if (!machine.error.empty()) {
      Line('!', "pool " + machine.pool, "a claim could not be made: " + machine.error);
      continue;
    }
    ++bought_;
    Line('+', machine.claim,
         fmt::format("for {} ({}{}, from {:.4f} an hour)", ByOwner(machine.pods),
                     machine.types.empty() ? "" : machine.types.front(),
                     machine.type_count > 1
                         ? fmt::format(" or one of {} others", machine.type_count - 1)
                         : "",
                     machine.price));
    for (const auto& pod : machine.pods) said_.erase(OwnerOf(*pod));
  }
}

void PoolsAccount::TellWaiting(const report::Provisioning& provisioning) {
  for (const report::UnplacedPod& unplaced : provisioning.unplaced) {
    std::string why = unplaced.text;
    if (!unplaced.misses.empty())
      why = "pool " + unplaced.misses.front().pool + ": " + unplaced.misses.front().text;
    constexpr size_t kMostOwners = 1'000;
    if (said_.size() >= kMostOwners) said_.clear();
    std::string& said = said_[OwnerOf(*unplaced.pod)];
    if (said == why) continue;
    said = why;
    Line('.', "pods of " + OwnerOf(*unplaced.pod) + " wait", why);
  }
}

void PoolsAccount::TellCommands(const report::ProvisionReport& report) {
  for (const report::DisruptionCommand& command : report.commands) {
    const bool ends = command.stage == "Done" || command.stage == "Deleting";
    const bool given_up = command.stage == "Abandoned" || command.stage == "RolledBack";
    if ((!ends && !given_up) || !told_commands_.insert(command.id).second) continue;
    if (given_up) {
      ++abandoned_;
      Line('.', Join(command.nodes, ", ") + " stays", command.reason + ": " + command.text);
      continue;
    }
    gone_[command.reason] += static_cast<int>(command.nodes.size());
    saved_rate_ += command.savings;
    std::string why = command.reason;
    if (!command.replacements.empty()) why += ", replaced by " + Join(command.replacements, ", ");
    if (command.savings > 0) why += fmt::format(", saves {:.4f} an hour", command.savings);
    Line('-', Join(command.nodes, ", "), why);
  }
}

void PoolsAccount::Tell(const report::ProvisionReport& report) {
  Charge();
  if (!report.error.empty() && report.error != last_.error)
    Line('!', "pass given up", report.error);
  if (report.provisioning && report.provisioning->at != told_provisioning_) {
    told_provisioning_ = report.provisioning->at;
    TellBought(*report.provisioning);
    TellWaiting(*report.provisioning);
  }
  TellCommands(report);
  last_ = report;
}

void PoolsAccount::Table() {
  print_("");
  print_(fmt::format("  {:<16} {:>6} {:>6} {:>10} {:>9} {:>9}  {}", "pool", "nodes", "coming",
                     "on spot", "per hour", "spent", "state"));
  for (const report::PoolState& pool : last_.pools) {
    size_t coming = 0;
    size_t spot = 0;
    double rate = 0;
    for (const report::ClaimState& claim : last_.claims) {
      if (claim.pool != pool.name) continue;
      if (claim.stage == "Launching" || claim.stage == "Registering" ||
          claim.stage == "Initializing")
        ++coming;
      if (claim.capacity_type == cloud::kSpotCapacity) ++spot;
    }
    for (const auto& [id, machine] : machines_) {
      if (machine.pool == pool.name) rate += machine.price;
    }
    print_(fmt::format("  {:<16} {:>6} {:>6} {:>10} {:>9.3f} {:>9.2f}  {}", pool.name, pool.nodes,
                       coming, spot, rate, spent_[pool.name],
                       pool.ready ? "" : "buys nothing: " + pool.text));
  }
  size_t pods = 0;
  for (const auto* entry : model_.cluster.objects().Pods())
    pods += entry->pod->spec.node_name.empty() ? 0 : 1;
  print_(fmt::format("  {} pods run, {} wait", pods, model_.Pending().size()));
  print_("");
}

double PoolsAccount::spent() const {
  double spent = 0;
  for (const auto& [pool, sum] : spent_) spent += sum;
  return spent;
}

void PoolsAccount::Summary(double real_seconds, double groups) {
  Charge();
  const Duration time = model_.agenda.Now() - start_;
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : gone_) reasons.push_back(fmt::format("{} {}", count, reason));
  print_("");
  print_(fmt::format("Summary of {:.1f} simulated hours ({:.0f} s of yours)", Hours(time),
                     real_seconds));
  print_(fmt::format(
      "  machines   {} bought for pods, {} taken away ({}), {} taken back by the "
      "cloud, {} now",
      bought_,
      [&] {
        int all = 0;
        for (const auto& [reason, count] : gone_) all += count;
        return all;
      }(),
      reasons.empty() ? "none" : Join(reasons, ", "), reclaimed_, machines_.size()));
  print_(
      fmt::format("  cost       {:.2f}; always as many machines as at the dearest moment ({}): "
                  "{:.2f}",
                  spent(), peak_machines_, peak_rate_ * Hours(time)));
  if (groups >= 0) {
    print_(fmt::format("             {:.2f} with node groups and the same load: pools save {:.0f}%",
                       groups, groups > 0 ? 100 * (1 - spent() / groups) : 0));
  }
  print_(fmt::format(
      "  pods       {} started; the longest wait was {} ({}); {} wait now",
      model_.scheduler.bound(), Short(model_.scheduler.longest_wait()),
      model_.scheduler.longest_waiter().empty() ? "nobody" : model_.scheduler.longest_waiter(),
      model_.Pending().size()));
  print_(fmt::format("  moves      {} were begun and given up, for the world had changed meanwhile",
                     abandoned_));
}

}  // namespace coppice::whatif
