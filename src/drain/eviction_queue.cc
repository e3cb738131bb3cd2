#include "drain/eviction_queue.h"

#include <algorithm>
#include <utility>

#include "model/pod_kinds.h"

namespace coppice::drain {

namespace {

constexpr Duration kFirstWait = std::chrono::milliseconds(100);
constexpr Duration kLongestWait = std::chrono::seconds(10);
constexpr Duration kForgetAfter = std::chrono::minutes(5);

int64_t GraceOf(const model::Pod& pod) {
  return pod.spec.termination_grace_period_seconds.value_or(model::kDefaultGraceSeconds);
}

cluster::PodName NameAndUid(const model::Pod& pod) {
  return {pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid};
}

}  // namespace

bool EvictionQueue::IsForced(const model::Pod& pod, TimePoint deadline, TimePoint now) {
  // One that is ending already: only if it would take longer than there is.
  if (pod.metadata.deletion_timestamp) return pod.metadata.deletion_timestamp->at > deadline;
  return now > deadline - std::chrono::seconds(GraceOf(pod));
}

TimePoint EvictionQueue::Want(const Wanted& wanted) {
  const TimePoint now = clock_.Now();
  Entry& entry = entries_[wanted.pod->metadata.uid];
  entry.wanted_at = now;
  if (wanted.deadline && (!entry.deadline || *wanted.deadline < *entry.deadline))
    entry.deadline = wanted.deadline;
  const TimePoint later = Later(now, kLongestWait);
  if (entry.busy) return later;
  if (entry.deadline && IsForced(*wanted.pod, *entry.deadline, now)) {
    if (entry.deleted && now < entry.next) return entry.next;
    entry.busy = true;
    hooks_.spawn(Delete(wanted.pod, *entry.deadline));
    return later;
  }
  TimePoint again = later;
  if (entry.deadline) {
    again = std::min(
        again, Later(*entry.deadline - std::chrono::seconds(GraceOf(*wanted.pod)), Duration(1)));
  }
  const bool ending = wanted.pod->metadata.deletion_timestamp.has_value();
  if (ending || entry.evicted || !wanted.may_evict) return again;
  if (now < entry.next) return std::min(again, entry.next);
  entry.busy = true;
  hooks_.spawn(Evict(wanted.pod));
  return again;
}

void EvictionQueue::Refused(Entry& entry) {
  Duration wait = kFirstWait;
  for (int i = 0; i < entry.refusals && wait < kLongestWait; ++i) wait *= 2;
  ++entry.refusals;
  entry.next = Later(clock_.Now(), std::min(wait, kLongestWait));
}

Task<void> EvictionQueue::Evict(cluster::PodPtr pod) {
  const Status status = co_await writer_.Evict(NameAndUid(*pod), GraceOf(*pod));
  Entry& entry = entries_[pod->metadata.uid];
  entry.busy = false;
  // NotFound: it is gone, or another has its name. Aborted: somebody else is at it.
  if (status.ok() || status.code() == Code::kNotFound || status.code() == Code::kAborted) {
    entry.evicted = status.code() != Code::kAborted;
    entry.refusals = 0;
    if (!entry.evicted) Refused(entry);
  } else {
    Refused(entry);
  }
  if (hooks_.answered) hooks_.answered(*pod, status);
}

Task<void> EvictionQueue::Delete(cluster::PodPtr pod, TimePoint deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::seconds>(deadline - clock_.Now()).count();
  if (hooks_.forced) hooks_.forced(*pod, deadline);
  const Status status = co_await writer_.DeletePod(NameAndUid(*pod), std::max<int64_t>(1, left));
  Entry& entry = entries_[pod->metadata.uid];
  entry.busy = false;
  entry.deleted = status.ok() || status.code() == Code::kNotFound;
  Refused(entry);
  if (hooks_.deleted) hooks_.deleted(*pod, status);
}

void EvictionQueue::ForgetOld() {
  const TimePoint now = clock_.Now();
  std::erase_if(entries_, [&](const auto& entry) {
    return !entry.second.busy && now - entry.second.wanted_at > kForgetAfter;
  });
}

}  // namespace coppice::drain
