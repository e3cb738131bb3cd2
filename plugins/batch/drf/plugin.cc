// drf: who has the smallest part of what it has most of comes first. With a hierarchy, queues are
// compared along the tree that their annotations describe.

#include <cmath>
#include <map>
#include <vector>

#include "batch/plugin.h"
#include "batch/session.h"
#include "plugins/batch/drf/hierarchy.h"

namespace coppice::batch::drf {
namespace {

constexpr double kShareDelta = 0.000001;

class Drf final : public Plugin,
                  public TellsNews,
                  public Preemptable,
                  public Reclaimable,
                  public QueueOrder,
                  public JobOrder,
                  public EventHandler {
 public:
  Status Open(Session& session, Slots& slots) override {
    session_ = &session;
    tree_ = Hierarchy(session.total());
    hierarchical_ = session.HierarchyEnabled("drf");
    jobs_.resize(session.jobs().size());
    for (const Job* job : session.jobs()) {
      Attributes& own = Of(*job);
      own.allocated = job->allocated;
      UpdateShare(own);
      if (!hierarchical_) continue;
      total_allocated_.Add(own.allocated);
      if (!tree_.Update(*job, own, total_allocated_) && session.upstream_exact()) {
        // Upstream looks for the weight behind the end of the list and crashes.
        session.Fail(Internal("queue " + job->queue->name + " has more levels than weights"));
      }
    }
    slots.preemptable = this;
    slots.job_order = this;
    if (hierarchical_) {
      slots.queue_order = this;
      slots.reclaimable = this;
    }
    session.AddEventHandler(*this);
    return Status::Ok();
  }

  void TellNews(News& news) const override {
    for (const Job* job : session_->jobs()) {
      news.jobs.push_back({job->namespace_, job->name, jobs_[job->index].share});
    }
  }

  // With the preemptor's task its job would still have no more than the victim's without its own.
  Victims PreemptVictims(const Task& preemptor, std::span<Task* const> candidates) override {
    Victims victims;
    if (!preemptor.job) return victims;
    Resource with = Of(*preemptor.job).allocated;
    const double share = DominantShare(with.Add(preemptor.req()), session_->total());
    std::map<const Job*, Resource> left;
    for (Task* task : candidates) {
      if (!task->job) continue;
      Resource& rest = left.try_emplace(task->job, Of(*task->job).allocated).first->second;
      (void)rest.Sub(task->req());
      const double other = DominantShare(rest, session_->total());
      if (share < other || std::abs(share - other) <= kShareDelta) victims.tasks.push_back(task);
    }
    return victims;
  }

  int CompareQueues(const QueueInfo& l, const QueueInfo& r) override {
    const double order = tree_.Compare(l, r);
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
  }

  // With the task placed and the candidate gone, the reclaimer's queue would still come first.
  Victims ReclaimVictims(const Task& reclaimer, std::span<Task* const> candidates) override {
    Victims victims;
    if (!reclaimer.job) return victims;
    Hierarchy trial = tree_.Clone();
    Resource total = total_allocated_;
    total.Add(reclaimer.req());
    Attributes own{.allocated = Of(*reclaimer.job).allocated};
    own.allocated.Add(reclaimer.req());
    UpdateShare(own);
    (void)trial.Update(*reclaimer.job, own, total);
    for (Task* task : candidates) {
      if (!task->job) continue;
      (void)total.Sub(task->req());
      Attributes other{.allocated = Of(*task->job).allocated};
      (void)other.allocated.Sub(task->req());
      UpdateShare(other);
      (void)trial.Update(*task->job, other, total);
      const double order = trial.Compare(*reclaimer.job->queue, *task->job->queue);
      total.Add(task->req());
      other.allocated.Add(task->req());
      UpdateShare(other);
      (void)trial.Update(*task->job, other, total);
      if (order < 0) victims.tasks.push_back(task);
    }
    return victims;
  }

  int CompareJobs(const Job& l, const Job& r) override {
    const double share_l = Of(l).share;
    const double share_r = Of(r).share;
    return share_l == share_r ? 0 : (share_l < share_r ? -1 : 1);
  }

  void OnAllocate(Event& event) override { Change(event.task, true); }
  void OnDeallocate(Event& event) override { Change(event.task, false); }

 private:
  Attributes& Of(const Job& job) { return jobs_[job.index]; }
  void UpdateShare(Attributes& attributes) const {
    attributes.share = DominantShare(attributes.allocated, session_->total());
  }

  void Change(const Task& task, bool added) {
    if (!task.job) return;
    Attributes& own = Of(*task.job);
    const auto apply = [&](Resource& resource) {
      if (added) {
        resource.Add(task.req());
      } else if (!resource.Sub(task.req()) && session_->upstream_exact()) {
        // It was told twice that the task has gone, and upstream crashes.
        session_->Fail(Internal("job " + task.job->id + " gives back more than it holds"));
      }
    };
    apply(own.allocated);
    UpdateShare(own);
    if (!hierarchical_) return;
    apply(total_allocated_);
    (void)tree_.Update(*task.job, own, total_allocated_);
  }

  Session* session_ = nullptr;
  bool hierarchical_ = false;
  std::vector<Attributes> jobs_;  // by Job::index
  Resource total_allocated_;
  Hierarchy tree_;
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("drf", FactoryOf<Drf>()); }

}  // namespace coppice::batch::drf
