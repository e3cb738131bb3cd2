#include "batch/leavers.h"

#include <iterator>
#include <utility>

#include "base/backoff.h"
#include "model/pod_kinds.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

constexpr int kMostAttempts = 5;
constexpr BackoffOptions kDeleteAgain{.first = std::chrono::milliseconds(100),
                                      .longest = std::chrono::seconds(5)};

// As upstream's evictor leaves a pod.
cluster::PodStatusChange LeavingStatus(const std::string& reason, TimePoint now) {
  model::PodCondition ready{.type = "Ready",
                            .status = "False",
                            .last_transition_time = model::Time{now},
                            .reason = "Evict",
                            .message = reason};
  model::PodCondition target{.type = "DisruptionTarget",
                             .status = "True",
                             .last_transition_time = model::Time{now},
                             .reason = "PreemptionByScheduler",
                             .message = reason};
  return {.conditions = {std::move(ready), std::move(target)}};
}

}  // namespace

Status Leavers::Begin(const Outcome::Eviction& eviction, bool by_budget, TimePoint now) {
  const cluster::PodPtr pod = parts_.own.FindPod(eviction.pod.namespace_, eviction.pod.name);
  if (pod == nullptr || pod->metadata.uid != eviction.pod.uid) return NotFound("the pod is gone");
  if (pod->metadata.deletion_timestamp) return AlreadyExists("the pod is being deleted");
  if (pod->metadata.unreadable)
    return FailedPrecondition("the pod cannot be read: " + pod->metadata.unreadable->what);
  if (leavers_.contains(eviction.pod.uid)) return AlreadyExists("the pod is being evicted");
  Leaver& leaver = leavers_[eviction.pod.uid];
  leaver.before = pod;
  Show(leaver, pod, now);
  ++under_way_;
  parts_.executor.Spawn(Run(pod, eviction.reason, by_budget));
  return Status::Ok();
}

void Leavers::Show(Leaver& leaver, const cluster::PodPtr& pod, TimePoint now) {
  auto shown = std::make_shared<model::Pod>(*pod);
  shown->metadata.deletion_timestamp = model::Time{now};
  leaver.shown = std::move(shown);
  parts_.own.UpsertPod(leaver.shown);
}

coppice::Task<void> Leavers::Run(cluster::PodPtr pod, std::string reason, bool by_budget) {
  const Status status = co_await Remove(pod, std::move(reason), by_budget);
  --under_way_;
  const bool goes = status.ok() || status.code() == Code::kNotFound;
  if (const auto leaver = leavers_.find(pod->metadata.uid); leaver != leavers_.end())
    leaver->second.state = goes ? State::kGoing : State::kStays;
  if (!goes) {
    parts_.log.Warning(
        "a pod could not be evicted",
        {{"pod", pod->metadata.namespace_ + "/" + pod->metadata.name}, {"error", status}});
  }
  parts_.ended(status);
}

coppice::Task<Status> Leavers::Remove(cluster::PodPtr pod, std::string reason, bool by_budget) {
  const Turnstile::Inside inside = co_await doors_.Enter();
  const cluster::PodName name{pod->metadata.namespace_, pod->metadata.name, pod->metadata.uid};
  parts_.writer.Emit({.kind = "Pod",
                      .namespace_ = name.namespace_,
                      .name = name.name,
                      .uid = name.uid,
                      .type = "Warning",
                      .reason = "Evict",
                      .text = reason});
  // Upstream takes a pod that has these conditions already for evicted, and never deletes it.
  if (!by_budget) {
    cluster::PodStatusChange told = LeavingStatus(reason, parts_.executor.clock().Now());
    const Status ignored = co_await parts_.writer.ChangePodStatus(name, std::move(told));
    if (ignored.code() == Code::kNotFound) co_return ignored;
  }
  const int64_t grace =
      pod->spec.termination_grace_period_seconds.value_or(model::kDefaultGraceSeconds);
  Backoff pause(kDeleteAgain, parts_.rng);
  Status status;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt > 0) co_await parts_.executor.Sleep(pause.Next());
    // Not as one expression: g++ 12 destroys a value twice.
    if (by_budget) {
      status = co_await parts_.writer.Evict(name, grace);
    } else {
      status = co_await parts_.writer.DeletePod(name, grace);
    }
    if (status.ok() || status.code() == Code::kNotFound) co_return status;
    // A budget says no: the next session looks for somebody else.
    if (status.code() == Code::kResourceExhausted) co_return status;
  }
  co_return status;
}

bool Leavers::SettleOne(Leaver& leaver, TimePoint now) {
  const model::ObjectMeta& meta = leaver.before->metadata;
  const cluster::PodPtr pod = parts_.own.FindPod(meta.namespace_, meta.name);
  const bool there = pod != nullptr && pod->metadata.uid == meta.uid;
  switch (leaver.state) {
    case State::kStays:
      if (there && pod == leaver.shown) parts_.own.UpsertPod(leaver.before);
      return true;
    case State::kAsking:
    case State::kGoing:
      if (!there) return leaver.state == State::kGoing;
      if (pod == leaver.shown) return false;
      if (pod->metadata.deletion_timestamp) return leaver.state == State::kGoing;
      Show(leaver, pod, now);
      return false;
  }
  return true;
}

void Leavers::Settle(TimePoint now) {
  for (auto entry = leavers_.begin(); entry != leavers_.end();)
    entry = SettleOne(entry->second, now) ? leavers_.erase(entry) : std::next(entry);
}

}  // namespace coppice::batch
