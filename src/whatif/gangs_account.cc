#include "whatif/gangs_account.h"

#include <algorithm>
#include <utility>

#include "report/batch_text.h"
#include "whatif/run_words.h"

namespace coppice::whatif {
namespace {

using report::SessionReport;
using report::WaitingGang;

std::string Pods(size_t count) { return fmt::format("{} pod{}", count, count == 1 ? "" : "s"); }

std::string Cores(double millis) { return fmt::format("{:.3g}", millis / 1000); }

int MachinesOf(const WaitingGang& gang) {
  int machines = 0;
  for (const WaitingGang::Lot& lot : gang.lots) machines += lot.machines;
  return machines;
}

// "research/g3-5f0c" is of "g3".
std::string_view PlayedNameOf(std::string_view group) {
  const std::string_view name = group.substr(group.find('/') + 1);
  return name.substr(0, name.find('-'));
}

}  // namespace

GangsAccount::GangsAccount(sim::Model& model, GangLoad& load, Print print)
    : model_(model), load_(load), print_(std::move(print)) {
  load_.came = [this](const PlayedGang& gang) { Came(gang); };
  load_.started = [this](const PlayedGang& gang) { Started(gang); };
  load_.ended = [this](const PlayedGang& gang) { Ended(gang); };
}

std::string GangsAccount::NameOf(const std::string& group) const {
  const std::string name(PlayedNameOf(group));
  return "gang " + (load_.gangs().contains(name) ? name : group);
}

bool GangsAccount::HasStarted(const std::string& group) const {
  const auto gang = load_.gangs().find(std::string(PlayedNameOf(group)));
  return gang != load_.gangs().end() && gang->second.started.has_value();
}

void GangsAccount::Came(const PlayedGang& gang) {
  ++came_;
  std::string how = fmt::format(
      "{} of {} cpu each in queue {}, of priority {}", Pods(static_cast<size_t>(gang.size)),
      Cores(static_cast<double>(gang.cpu_millis)), gang.queue, gang.priority);
  if (gang.min < gang.size) how += fmt::format("; {} of them are enough to start", gang.min);
  print_.line('>', fmt::format("gang {} comes{}", gang.name, gang.as_job ? ", as a Job" : ""), how);
}

void GangsAccount::Started(const PlayedGang& gang) {
  ++started_;
  const Duration waited = *gang.started - gang.came;
  if (waited > longest_wait_) {
    longest_wait_ = waited;
    longest_waiter_ = gang.name;
  }
  print_.line('=', fmt::format("gang {} starts", gang.name),
              fmt::format("{} of its {} have a node, after {}", load_.BoundOf(gang),
                          Pods(static_cast<size_t>(gang.size)), Short(waited)));
}

void GangsAccount::Ended(const PlayedGang& gang) {
  if (gang.started) {
    ++run_;
    print_.line('<', fmt::format("gang {} ends", gang.name),
                "has run for " + Short(model_.agenda.Now() - *gang.started));
    return;
  }
  ++given_up_;
  print_.line('<', fmt::format("gang {} is given up", gang.name),
              "has waited for " + Short(model_.agenda.Now() - gang.came));
}

void GangsAccount::TellWaiting(const SessionReport& session) {
  std::map<std::string, std::string> said;
  std::map<std::string, std::string> bought;
  for (const WaitingGang& gang : session.gangs) {
    if (gang.state == WaitingGang::State::kOrdered) {
      const std::string what = report::MachinesText(gang);
      if (!bought_.contains(gang.gang) && !what.empty()) {
        machines_ += MachinesOf(gang);
        if (print_.ordered) print_.ordered(MachinesOf(gang));
        print_.line('+', what, "for " + NameOf(gang.gang));
      }
      bought[gang.gang] = what;
    } else if (gang.state != WaitingGang::State::kWaits &&
               gang.state != WaitingGang::State::kHeld) {
      const auto before = said_.find(gang.gang);
      if (before == said_.end() || before->second != gang.why)
        print_.line('.', NameOf(gang.gang) + (HasStarted(gang.gang) ? " wants more" : " waits"),
                    gang.why);
      said[gang.gang] = gang.why;
    }
  }
  said_ = std::move(said);
  bought_ = std::move(bought);
}

// One line per gang that had to give and per reason; others are told one by one.
void GangsAccount::TellEvictions(const SessionReport& session) {
  std::map<std::pair<std::string, std::string>, size_t> evicted;
  for (const SessionReport::Eviction& one : session.evictions) {
    ++evicted_;
    const bool ours = one.pod.starts_with(std::string(GangLoad::kNamespace) + "/");
    if (ours) {
      ++evicted[{std::string(PlayedNameOf(one.pod)), one.why}];
    } else {
      print_.line('!', one.pod + " evicted", one.why);
    }
  }
  for (const auto& [who, pods] : evicted)
    print_.line('!', fmt::format("{} of gang {} evicted", Pods(pods), who.first), who.second);
}

void GangsAccount::Tell(const SessionReport& session) {
  ++sessions_;
  if (std::exchange(error_, session.error) != session.error && !session.error.empty())
    print_.line('!', "session given up", session.error);
  TellWaiting(session);
  TellEvictions(session);
  // They are looked at now and then, and not in each session.
  if (!session.queues.empty() || !last_) last_ = session;
}

void GangsAccount::Table() {
  if (!last_) return;
  print_.table(fmt::format("  {:<16} {:>6} {:>8} {:>8} {:>10} {:>8} {:>6}", "queue", "weight",
                           "running", "waiting", "cpu held", "of", "share"));
  for (const SessionReport::Queue& queue : last_->queues) {
    const auto cpu =
        std::ranges::find(queue.amounts, std::string("cpu"), &SessionReport::Amount::resource);
    const bool known = cpu != queue.amounts.end();
    const auto waiting =
        std::ranges::count(last_->waiting, queue.name, &SessionReport::Waiting::queue);
    print_.table(fmt::format("  {:<16} {:>6} {:>8} {:>8} {:>10} {:>8} {:>6}", queue.name,
                             queue.weight, queue.running, waiting, known ? Cores(cpu->held) : "0",
                             known && cpu->deserved >= 0 ? Cores(cpu->deserved) : "",
                             queue.share >= 0 ? fmt::format("{:.0f}%", queue.share * 100) : ""));
  }
  print_.table("");
}

void GangsAccount::Summary() {
  for (const auto& [name, gang] : load_.gangs()) {
    const Duration waits = model_.agenda.Now() - gang.came;
    if (gang.started || waits <= longest_wait_) continue;
    longest_wait_ = waits;
    longest_waiter_ = name + ", which still waits";
  }
  print_.table(
      fmt::format("  gangs      {} came, {} started, {} have run, {} were given up, {} now; the "
                  "longest wait was {} ({})",
                  came_, started_, run_, given_up_, load_.gangs().size(), Short(longest_wait_),
                  longest_waiter_.empty() ? "nobody" : longest_waiter_));
  print_.table(
      fmt::format("             {} sessions; {} machines were ordered for gangs; {} evicted",
                  sessions_, machines_, Pods(evicted_)));
}

}  // namespace coppice::whatif
