// capacity: queues with explicit amounts. A queue may use up to its capability; what it uses beyond
// what it deserves can be taken back, down to its guarantee. With a hierarchy every ancestor's
// limits hold, too.

#include <algorithm>
#include <map>
#include <vector>

#include "batch/admission_text.h"
#include "batch/plugin.h"
#include "batch/search.h"
#include "batch/session.h"
#include "plugins/batch/capacity/queues.h"

namespace coppice::batch::capacity {
namespace {

class Capacity final : public Plugin,
                       public TellsNews,
                       public QueueOrder,
                       public VictimQueueOrder,
                       public Reclaimable,
                       public UnifiedEvictable,
                       public Preemptive,
                       public Allocatable,
                       public JobEnqueueable,
                       public JobEnqueued,
                       public EventHandler {
 public:
  explicit Capacity(const Arguments& arguments) {
    arguments.Get("ancestorReclaimLevel", reclaim_level_);
    reclaim_level_ = std::max(reclaim_level_, 0);
  }

  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    hierarchical_ = session.HierarchyEnabled("capacity");
    ready_ = hierarchical_ ? queues_.BuildTree(session) : queues_.BuildFlat(session);
    // A tree that does not hold together orders nothing, and everything else is refused.
    if (ready_) slots.queue_order = this;
    if (ready_ && hierarchical_) slots.victim_queue_order = this;
    slots.reclaimable = this;
    slots.unified_evictable = this;
    slots.preemptive = this;
    slots.allocatable = this;
    slots.job_enqueueable = this;
    slots.job_enqueued = this;
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  int CompareQueues(const QueueInfo& l, const QueueInfo& r) override {
    const int32_t priority_l = l.object.spec.priority;
    const int32_t priority_r = r.object.spec.priority;
    if (priority_l != priority_r) return priority_l > priority_r ? -1 : 1;
    const Attributes* left = queues_.Find(l);
    const Attributes* right = queues_.Find(r);
    if (!left || !right) return 0;
    if (hierarchical_) {
      const bool leaf_l = left->children.empty();
      const bool leaf_r = right->children.empty();
      if (leaf_l != leaf_r) return leaf_l ? -1 : 1;
      if (leaf_l) {
        // The ancestors just below the one that they share.
        const size_t below = queues_.CommonLevel(*left, *right) + 1;
        if (below < left->ancestors.size()) left = &queues_.at(left->ancestors[below]);
        if (below < right->ancestors.size()) right = &queues_.at(right->ancestors[below]);
      }
    }
    if (left->share != right->share) return left->share < right->share ? -1 : 1;
    const bool deserves_l = !left->deserved.IsEmpty();
    const bool deserves_r = !right->deserved.IsEmpty();
    return deserves_l == deserves_r ? 0 : (deserves_l ? -1 : 1);
  }

  // Relatives of the preemptor's queue give first.
  int CompareVictimQueues(const QueueInfo& l, const QueueInfo& r,
                          const QueueInfo& preemptor) override {
    const Attributes& own = *queues_.Find(preemptor);
    const size_t level_l = queues_.CommonLevel(*queues_.Find(l), own);
    const size_t level_r = queues_.CommonLevel(*queues_.Find(r), own);
    return level_l == level_r ? 0 : (level_l > level_r ? -1 : 1);
  }

  Victims ReclaimVictims(const Task& reclaimer, std::span<Task* const> candidates) override {
    Victims victims;
    const Attributes* own = reclaimer.job ? queues_.Find(*reclaimer.job->queue) : nullptr;
    if (!ready_ || !own) {
      victims.vote = -1;
      return victims;
    }
    std::map<const Attributes*, Resource> left;
    auto heap = VictimHeap(*session_, candidates, reclaimer);
    while (!heap.empty()) {
      Task* task = heap.Pop();
      const Attributes* other = task->job ? queues_.Find(*task->job->queue) : nullptr;
      if (!other || !HaveCommonName(task->req(), reclaimer.req(), false)) continue;
      if (MayTake(*task, reclaimer, *own, *other, left)) victims.tasks.push_back(task);
    }
    return victims;
  }

  Victims UnifiedVictims(const EvictionContext& context,
                         std::span<Task* const> candidates) override {
    if (context.kind == EvictionContext::Kind::kGangPreempt) {
      return {.tasks = {candidates.begin(), candidates.end()}};
    }
    Victims victims;
    if (!ready_) return {.vote = -1};
    std::map<const Attributes*, Resource> left;
    for (Task* task : candidates) {
      const Attributes& queue = *queues_.Find(*task->job->queue);
      Resource& rest = left.try_emplace(&queue, queue.allocated).first->second;
      if (!LeavesGuarantee(rest, *task, queue)) continue;
      if (HaveCommonName(task->req(), queue.deserved, true) && !Exceeds(rest, *task, queue)) {
        continue;
      }
      (void)rest.Sub(task->req());
      victims.tasks.push_back(task);
    }
    return victims;
  }

  bool MayReclaim(const QueueInfo& queue, std::span<Task* const> tasks) override {
    const Attributes* own = queues_.Find(queue);
    if (!ready_ || !queue.open() || !own) return false;
    Resource asked;
    for (const Task* task : tasks) asked.Add(task->req());
    const Resource future = Resource(own->allocated).Add(asked);
    if (!FitsWhereAsked(future, own->real_capability, asked)) return false;
    if (LessEqualSomewhereReal(future, own->deserved, &asked).yes) return true;
    for (int level = 1; hierarchical_ && level <= reclaim_level_; ++level) {
      const Attributes* above = queues_.AncestorAt(*own, level);
      if (!above || above->name == kRootQueue) continue;
      const Resource used = Resource(above->allocated).Add(asked);
      if (LessEqualSomewhereReal(used, above->deserved, &asked).yes) return true;
    }
    return false;
  }

  bool MayAllocate(const QueueInfo& queue, const Task& task) override {
    const Attributes* own = queues_.Find(queue);
    if (!queue.open() || !ready_ || !own || (hierarchical_ && !own->children.empty())) return false;
    const auto fits = [&](const Attributes& attributes) {
      return FitsWhereAsked(Resource(attributes.allocated).Add(task.req()),
                            attributes.real_capability, task.req());
    };
    if (!fits(*own)) return false;
    return std::ranges::all_of(own->ancestors,
                               [&](uint32_t index) { return fits(queues_.at(index)); });
  }

  int JobEnqueueableVote(const Job& job) override {
    const Attributes* own = queues_.Find(*job.queue);
    if (!ready_ || !own || (hierarchical_ && !own->children.empty())) return -1;
    if (!job.queue->open()) return -1;
    if (!job.HasMinResources()) return 1;
    for (const Attributes* attributes : PathUp(*own)) {
      const auto [wanted, sound] = Wanted(*attributes, job, true);
      if (!sound && session_->upstream_exact()) {
        session_->Fail(Internal("queue " + attributes->name + " has more to spare than it holds"));
        return -1;
      }
      const Dimensions fits =
          LessEqualWhereAsked(&wanted, &attributes->real_capability, &job.MinResources());
      if (fits.yes) continue;
      session_->RecordGroupEvent(
          job, "Normal", "Unschedulable",
          NamedResources("queue resource quota insufficient", "insufficient", fits.names));
      return -1;
    }
    return 1;
  }

  bool WouldAdmitAlone(const Job& job) override {
    const Attributes* own = queues_.Find(*job.queue);
    if (!ready_ || !own || (hierarchical_ && !own->children.empty()) || !job.queue->open())
      return false;
    const Resource& asked = job.MinResources();
    return std::ranges::all_of(PathUp(*own), [&](const Attributes* queue) {
      return FitsWhereAsked(Wanted(*queue, job, false).amount, queue->real_capability, asked) &&
             WithinCeiling(Wanted(*queue, job, true).amount, queue->capability, asked);
    });
  }

  void OnJobEnqueued(const Job& job) override {
    Attributes* own = queues_.Find(*job.queue);
    if (!own || !job.HasMinResources()) return;
    const Resource admitted = job.WithoutGated(job.MinResources());
    own->inqueue.Add(admitted);
    for (const uint32_t above : own->ancestors) queues_.at(above).inqueue.Add(admitted);
  }

  void TellNews(News& news) const override {
    if (!ready_) return;
    for (const QueueInfo* queue : session_->queues()) {
      const Attributes* own = queues_.Find(*queue);
      if (!own) continue;
      news.shares.push_back({queue, own->share, own->deserved, own->allocated, own->request,
                             own->inqueue, own->real_capability, own->share > 1});
    }
  }

  void OnAllocate(Event& event) override { Change(event.task, true); }
  void OnDeallocate(Event& event) override { Change(event.task, false); }

 private:
  // The queue, and those above it up to the root.
  std::vector<const Attributes*> PathUp(const Attributes& own) {
    std::vector<const Attributes*> path{&own};
    for (auto above = own.ancestors.rbegin(); above != own.ancestors.rend(); ++above)
      path.push_back(&queues_.at(*above));
    return path;
  }
  // What the queue would hold with the job, and with all that it was let in for.
  struct Wish {
    Resource amount;
    bool sound;  // false: the queue could give back more than it holds
  };
  static Wish Wanted(const Attributes& queue, const Job& job, bool with_inqueue) {
    Resource wanted = job.MinResources();
    wanted.Add(queue.allocated);
    if (with_inqueue) wanted.Add(queue.inqueue);
    const bool sound = wanted.Sub(queue.elastic);
    return {std::move(wanted), sound};
  }
  static bool LeavesGuarantee(const Resource& allocated, const Task& task,
                              const Attributes& queue) {
    Resource without = allocated;
    (void)without.Sub(task.req());
    return queue.guarantee.LessEqual(without, Missing::kZero);
  }
  static bool Exceeds(const Resource& allocated, const Task& task, const Attributes& queue) {
    return GreaterWhereRelevant(allocated, &queue.deserved, &task.req()).yes;
  }

  // Whether the task can be taken from its queue, and then from the ancestors that the reclaimer
  // does not share. `left` is what queues would hold without those that were taken already.
  bool MayTake(const Task& task, const Task& reclaimer, const Attributes& own,
               const Attributes& other, std::map<const Attributes*, Resource>& left) {
    Resource& rest = left.try_emplace(&other, other.allocated).first->second;
    if (!LeavesGuarantee(rest, task, other)) return false;
    const bool climbs = hierarchical_ && reclaim_level_ > 0;
    if (!HaveCommonName(task.req(), other.deserved, true)) {
      if (climbs && queues_.ShareAncestor(own, other, reclaim_level_) &&
          !HaveCommonName(reclaimer.req(), own.deserved, true)) {
        return false;
      }
    } else if (!Exceeds(rest, task, other)) {
      return false;
    }
    std::vector<Resource*> above;
    for (int level = 1; climbs && level <= reclaim_level_; ++level) {
      const Attributes* theirs = queues_.AncestorAt(other, level);
      if (!theirs || theirs->name == kRootQueue || theirs == queues_.AncestorAt(own, level)) {
        continue;
      }
      Resource& held = left.try_emplace(theirs, theirs->allocated).first->second;
      above.push_back(&held);
      if (HaveCommonName(task.req(), theirs->deserved, true) && !Exceeds(held, task, *theirs)) {
        return false;
      }
    }
    (void)rest.Sub(task.req());
    for (Resource* held : above) (void)held->Sub(task.req());
    return true;
  }

  void Change(const Task& task, bool added) {
    Attributes* own = task.job ? queues_.Find(*task.job->queue) : nullptr;
    if (!own) return;
    const auto apply = [&](Attributes& attributes) {
      if (added) {
        attributes.allocated.Add(task.req());
      } else if (!attributes.allocated.Sub(task.req()) && session_->upstream_exact()) {
        // A tree that does not hold together has not counted everybody, and upstream crashes.
        session_->Fail(
            Internal("queue " + std::string(attributes.name) + " gives back more than it holds"));
      }
    };
    apply(*own);
    Queues::UpdateShare(*own);
    for (const uint32_t above : own->ancestors) {
      apply(queues_.at(above));
      // Upstream leaves the ancestors' shares as they were when the session opened.
      if (!session_->upstream_exact()) Queues::UpdateShare(queues_.at(above));
    }
  }

  int reclaim_level_ = 0;
  Session* session_ = nullptr;
  bool hierarchical_ = false;
  bool ready_ = true;
  Queues queues_;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("capacity", FactoryOf<Capacity>()); }

}  // namespace coppice::batch::capacity
