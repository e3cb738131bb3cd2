// proportion: the cluster is shared among queues by weight; none gets more than it asks for or may
// have, and what one leaves goes to the others.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "batch/admission_text.h"
#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::proportion {
namespace {

struct Attributes {
  int32_t weight = 0;
  double share = 0;
  bool met = false;
  Resource deserved;
  Resource allocated;
  Resource request;
  Resource elastic;
  Resource inqueue;
  Resource guarantee;
  Resource capability;  // as the queue says
  Resource real_capability;
};

class Proportion final : public Plugin,
                         public TellsNews,
                         public QueueOrder,
                         public Reclaimable,
                         public Overused,
                         public Allocatable,
                         public Preemptive,
                         public JobEnqueueable,
                         public JobEnqueued,
                         public EventHandler {
 public:
  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    queues_.resize(session.queues().size());
    Resource guaranteed;
    for (const QueueInfo* queue : session.queues()) {
      guaranteed.Add(Resource::From(queue->object.spec.guarantee.resource));
    }
    for (const Job* job : session.jobs()) {
      auto& own = queues_[job->queue->index];
      if (!own) own = Make(*job->queue, guaranteed);
      Count(*own, *job);
    }
    Divide();
    slots.queue_order = this;
    slots.reclaimable = this;
    slots.overused = this;
    slots.allocatable = this;
    slots.preemptive = this;
    slots.job_enqueueable = this;
    slots.job_enqueued = this;
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  int CompareQueues(const QueueInfo& l, const QueueInfo& r) override {
    const int32_t priority_l = l.object.spec.priority;
    const int32_t priority_r = r.object.spec.priority;
    if (priority_l != priority_r) return priority_l > priority_r ? -1 : 1;
    const double share_l = ShareOf(l);
    const double share_r = ShareOf(r);
    return share_l == share_r ? 0 : (share_l < share_r ? -1 : 1);
  }

  // While the victim's queue holds more than it deserves of something.
  Victims ReclaimVictims(const Task&, std::span<Task* const> candidates) override {
    Victims victims;
    std::map<const QueueInfo*, Resource> left;
    for (Task* task : candidates) {
      if (!task->job) continue;
      const Attributes* own = Of(*task->job->queue);
      if (!own) continue;
      Resource& rest = left.try_emplace(task->job->queue, own->allocated).first->second;
      if (rest.LessEqual(own->deserved, Missing::kZero)) continue;
      (void)rest.Sub(task->req());
      victims.tasks.push_back(task);
    }
    return victims;
  }

  bool IsOverused(const QueueInfo& queue) override {
    const Attributes* own = Of(queue);
    return own && own->deserved.LessEqual(own->allocated, Missing::kZero);
  }

  bool MayAllocate(const QueueInfo& queue, const Task& task) override {
    return FitsDeserved(queue, task.req());
  }
  bool MayReclaim(const QueueInfo& queue, std::span<Task* const> tasks) override {
    Resource asked;
    for (const Task* task : tasks) asked.Add(task->req());
    return FitsDeserved(queue, asked);
  }

  int JobEnqueueableVote(const Job& job) override {
    if (!job.queue->open()) return -1;
    if (!job.HasMinResources()) return 1;
    const Attributes& own = *Of(*job.queue);
    const auto [wanted, sound] = Wanted(own, job, true);
    if (!sound && session_->upstream_exact()) {
      session_->Fail(Internal("queue " + job.queue->name + " has more to spare than it holds"));
      return -1;
    }
    const Dimensions fits = LessEqualWhereAsked(&wanted, &own.real_capability, &job.MinResources());
    if (fits.yes) return 1;
    session_->RecordGroupEvent(
        job, "Normal", "Unschedulable",
        NamedResources("queue resource quota insufficient", "insufficient", fits.names));
    return -1;
  }

  bool WouldAdmitAlone(const Job& job) override {
    const Attributes& own = *Of(*job.queue);
    const Resource& asked = job.MinResources();
    return job.queue->open() &&
           FitsWhereAsked(Wanted(own, job, false).amount, own.real_capability, asked) &&
           WithinCeiling(Wanted(own, job, true).amount, own.capability, asked);
  }

  void OnJobEnqueued(const Job& job) override {
    if (!job.HasMinResources()) return;
    Of(*job.queue)->inqueue.Add(job.WithoutGated(job.MinResources()));
  }

  void TellNews(News& news) const override {
    for (const QueueInfo* queue : session_->queues()) {
      const auto& own = queues_[queue->index];
      if (!own) continue;
      const bool overused = own->deserved.LessEqual(own->allocated, Missing::kZero);
      news.shares.push_back({queue, own->share, own->deserved, own->allocated, own->request,
                             own->inqueue, own->real_capability, overused});
    }
  }

  void OnAllocate(Event& event) override { Change(event.task, true); }
  void OnDeallocate(Event& event) override { Change(event.task, false); }

 private:
  // What the queue would hold with the job, and with all that it was let in for.
  struct Wish {
    Resource amount;
    bool sound;  // false: the queue could give back more than it holds
  };
  static Wish Wanted(const Attributes& own, const Job& job, bool with_inqueue) {
    Resource wanted = job.MinResources();
    wanted.Add(own.allocated);
    if (with_inqueue) wanted.Add(own.inqueue);
    const bool sound = wanted.Sub(own.elastic);
    return {std::move(wanted), sound};
  }

  Attributes* Of(const QueueInfo& queue) {
    auto& own = queues_[queue.index];
    return own ? &*own : nullptr;
  }
  double ShareOf(const QueueInfo& queue) {
    const Attributes* own = Of(queue);
    return own ? own->share : 0;
  }

  Attributes Make(const QueueInfo& queue, const Resource& guaranteed) const {
    const model::QueueSpec& spec = queue.object.spec;
    Attributes own{.weight = queue.weight, .guarantee = Resource::From(spec.guarantee.resource)};
    own.real_capability = ExceededPart(session_->total(), guaranteed);
    own.real_capability.Add(own.guarantee);
    if (!spec.capability.empty()) {
      Resource capability = Resource::From(spec.capability);
      constexpr double kUnlimited = std::numeric_limits<double>::max();
      if (capability.cpu <= 0) capability.cpu = kUnlimited;
      if (capability.memory <= 0) capability.memory = kUnlimited;
      own.real_capability.CapBy(capability, Missing::kInfinity);
      own.capability = std::move(capability);
    }
    return own;
  }

  static void Count(Attributes& own, const Job& job) {
    const bool holds = job.counts.Allocated() > 0;
    if (holds) own.allocated.Add(job.allocated);
    if (holds || job.counts.of(TaskStatus::kPending) > 0) own.request.Add(job.Requested());
    const std::string& phase = job.group.status.phase;
    const bool counts = phase == "Inqueue" ||
                        (phase == "Running" && job.counts.Allocated() >= job.group.spec.min_member);
    if (counts && job.HasMinResources()) own.inqueue.Add(job.WithoutGated(job.InqueueResource()));
    own.elastic.Add(job.Elastic());
  }

  // Water filling: what is left is handed out by weight to those that are not content yet.
  void Divide() {
    Resource remaining = session_->total();
    for (;;) {
      int64_t weights = 0;
      for (const auto& own : queues_) weights += own && !own->met ? own->weight : 0;
      if (weights == 0) return;
      const Resource before = remaining;
      Resource increased;
      Resource decreased;
      for (auto& own : queues_) {
        if (!own || own->met) continue;
        const ResourceDiff diff =
            Pour(*own, remaining, static_cast<double>(own->weight) / static_cast<double>(weights));
        increased.Add(diff.increased);
        decreased.Add(diff.decreased);
      }
      remaining = ExceededPart(Resource(remaining).Add(decreased), increased);
      if (remaining.IsEmpty() || SameAmounts(remaining, before)) return;
    }
  }

  static ResourceDiff Pour(Attributes& own, const Resource& remaining, double part) {
    const Resource before = own.deserved;
    own.deserved.Add(Resource(remaining).Scale(part));
    own.deserved.CapBy(own.real_capability, Missing::kInfinity);
    own.deserved.CapBy(own.request, Missing::kZero);
    own.deserved = Max(own.deserved, own.guarantee);
    UpdateShare(own);
    own.met =
        own.request.LessEqual(own.deserved, Missing::kZero) || SameAmounts(own.deserved, before);
    return ResourceDiff::Of(own.deserved, before, Missing::kZero);
  }

  // As upstream compares them: no scalars and an empty set of them are the same.
  static bool SameAmounts(const Resource& a, const Resource& b) {
    return a.cpu == b.cpu && a.memory == b.memory && a.max_tasks == b.max_tasks &&
           a.scalars() == b.scalars();
  }

  static void UpdateShare(Attributes& own) {
    own.share = DominantShare(own.allocated, own.deserved);
  }

  bool FitsDeserved(const QueueInfo& queue, const Resource& asked) {
    const Attributes* own = Of(queue);
    if (!queue.open() || !own) return false;
    return FitsWhereAsked(Resource(own->allocated).Add(asked), own->deserved, asked);
  }

  void Change(const Task& task, bool added) {
    if (!task.job) return;
    Attributes* own = Of(*task.job->queue);
    if (!own) return;
    if (added) {
      own->allocated.Add(task.req());
    } else if (!own->allocated.Sub(task.req()) && session_->upstream_exact()) {
      // It was told twice that the task has gone, and upstream crashes.
      session_->Fail(Internal("queue " + task.job->queue->name + " gives back more than it holds"));
    }
    UpdateShare(*own);
  }

  Session* session_ = nullptr;
  std::vector<std::optional<Attributes>> queues_;  // by QueueInfo::index; only of queues with jobs
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("proportion", FactoryOf<Proportion>()); }

}  // namespace coppice::batch::proportion
