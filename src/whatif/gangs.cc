#include "whatif/gangs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "batch/task.h"
#include "report/batch_text.h"
#include "whatif/shortened.h"

namespace coppice::whatif {
namespace {

constexpr size_t kGangsShown = 10;  // a paragraph each

}  // namespace

// To whom nothing happens: what a session decides is read from its report.
class GangLook::Nobody final : public cluster::Writer {
 public:
  Task<Status> ChangeNode(std::string, cluster::NodeChange) override { co_return Refused(); }
  Task<Status> Evict(cluster::PodName, int64_t) override { co_return Refused(); }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    co_return Refused();
  }
  void Emit(cluster::Event) override {}

 private:
  static Status Refused() { return FailedPrecondition("this is a look at a dump"); }
};

GangLook::GangLook(Parts parts) : parts_(std::move(parts)), writer_(std::make_unique<Nobody>()) {
  batch::SchedulerFlags flags;
  flags.buying.only_quotes = true;
  scheduler_ =
      std::make_unique<batch::Scheduler>(batch::Scheduler::Parts{.flags = std::move(flags),
                                                                 .world = parts_.world,
                                                                 .writer = *writer_,
                                                                 .executor = parts_.executor,
                                                                 .rng = parts_.rng,
                                                                 .plugins = parts_.plugins,
                                                                 .filters = parts_.filters,
                                                                 .log = parts_.log,
                                                                 .metrics = parts_.metrics});
}

GangLook::~GangLook() = default;

void GangLook::AddMissingQueues(cluster::World& world, std::vector<std::string>& notes) {
  std::set<std::string> missing;
  for (const auto& group : world.objects<model::PodGroup>().List()) {
    const std::string& queue =
        group->spec.queue.empty() ? batch::Options().default_queue : group->spec.queue;
    if (world.objects<model::Queue>().Find(queue) == nullptr) missing.insert(queue);
  }
  for (const std::string& name : missing) {
    model::Queue queue;
    queue.metadata.name = name;
    queue.spec.weight = 1;
    queue.status.state = "Open";
    world.Upsert(std::make_shared<const model::Queue>(std::move(queue)));
    notes.push_back("the Queue " + name + " is not in the dump: one without limits is taken");
  }
}

Result<GangsPlan> GangLook::Look(TimePoint now) {
  if (!scheduler_->open()) TRY(scheduler_->Open(parts_.sellers));
  const auto report = parts_.executor.BlockOn(scheduler_->Pass(now));
  if (!report->error.empty()) return Internal("the session failed: " + report->error);
  parts_.executor.RunUntilIdle();  // what machines would cost is asked for after the session
  GangsPlan plan;
  std::map<std::string, std::pair<size_t, std::set<std::string>>> starting;
  for (const auto& placement : report->placements) {
    const size_t slash = placement.pod.find('/');
    const cluster::PodPtr pod =
        parts_.world.FindPod(placement.pod.substr(0, slash), placement.pod.substr(slash + 1));
    if (pod == nullptr) continue;
    auto& [pods, nodes] = starting[batch::JobIdOf(*pod)];
    ++pods;
    nodes.insert(placement.node);
  }
  for (const auto& [gang, where] : starting)
    plan.starting.push_back({gang, where.first, where.second.size()});
  plan.waiting = scheduler_->Gangs();
  return plan;
}

bool GangsPlan::everybody_helped() const {
  using State = report::WaitingGang::State;
  return std::ranges::none_of(waiting, [](const report::WaitingGang& gang) {
    return gang.state == State::kBlocked || gang.state == State::kRefused;
  });
}

std::string AsText(const GangsPlan& plan, bool whole) {
  std::string text;
  const Shortened starting(plan.starting.size(), kGangsShown, whole);
  for (size_t i = 0; i < starting.shown(); ++i) {
    const GangsPlan::Starting& one = plan.starting[i];
    text += fmt::format("  {} starts on what is there: {} on {}\n", one.gang,
                        Count(one.pods, "pod"), Count(one.nodes, "node"));
  }
  text += starting.Rest("  ", "starting gang");
  const Shortened waiting(plan.waiting.size(), kGangsShown, whole);
  for (size_t i = 0; i < waiting.shown(); ++i) {
    const std::string paragraph = report::GangText(plan.waiting[i]);
    for (size_t at = 0; at < paragraph.size();) {
      const size_t end = paragraph.find('\n', at);
      text += "  " + paragraph.substr(at, end - at + 1);
      at = end + 1;
    }
  }
  return text + waiting.Rest("  ", "waiting gang");
}

}  // namespace coppice::whatif
