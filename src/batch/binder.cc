#include "batch/binder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/on_worker.h"
#include "batch/bind_delegate.h"

namespace coppice::batch {
namespace {

constexpr std::string_view kBatchEngine = "batch";
// Upstream's rate limiter, and a minute where that has a thousand seconds.
constexpr BackoffOptions kBindAgain{.first = std::chrono::milliseconds(5),
                                    .longest = std::chrono::seconds(10)};
// So long a delegate has time until the API server shows what it has done.
constexpr Duration kDelegateLimit = std::chrono::seconds(30);
constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::minutes(1);

// Whether nobody knows yet if it happened, or the server was only busy: the same again.
bool MayBeTriedAgain(const Status& status) {
  switch (status.code()) {
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted:
    case Code::kInternal:
    case Code::kUnknown:
    case Code::kCancelled:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Binder::IsThere(const model::Pod& pod) const {
  const cluster::PodPtr now = parts_.own.FindPod(pod.metadata.namespace_, pod.metadata.name);
  return now != nullptr && now->metadata.uid == pod.metadata.uid;
}

Status Binder::Check(const Outcome::Bind& bind) const {
  const cluster::PodPtr pod = parts_.own.FindPod(bind.pod.namespace_, bind.pod.name);
  if (pod == nullptr || pod->metadata.uid != bind.pod.uid) return NotFound("the pod is gone");
  if (assumed_.contains(bind.pod.uid)) return AlreadyExists("the pod is being bound");
  if (!pod->spec.node_name.empty())
    return Status(Code::kAborted, "the pod is on node " + pod->spec.node_name);
  if (pod->metadata.deletion_timestamp) return Status(Code::kAborted, "the pod is being deleted");
  const cluster::NodePtr node = parts_.own.FindNode(bind.node);
  if (node == nullptr) return NotFound("the node " + bind.node + " is gone");
  if (parts_.own.held_nodes().HeldByAnother(bind.node, node->metadata.uid, kBatchEngine))
    return FailedPrecondition("the node " + bind.node + " is being taken down");
  return Status::Ok();
}

Status Binder::Begin(const Outcome::Bind& bind) {
  TRY(Check(bind));
  const cluster::PodPtr pod = parts_.own.FindPod(bind.pod.namespace_, bind.pod.name);
  Assumed& assumed = assumed_[bind.pod.uid];
  assumed = {.before = pod, .shown = nullptr, .node = bind.node};
  Show(assumed, pod);
  ++under_way_;
  parts_.executor.Spawn(Run(pod, bind));
  return Status::Ok();
}

void Binder::Show(Assumed& assumed, const cluster::PodPtr& pod) {
  auto shown = std::make_shared<model::Pod>(*pod);
  shown->spec.node_name = assumed.node;
  assumed.shown = std::move(shown);
  parts_.shared.UpsertPod(assumed.shown);
}

coppice::Task<void> Binder::Run(cluster::PodPtr pod, Outcome::Bind bind) {
  Status status;
  TimePoint began;
  {
    const Turnstile::Inside inside = co_await doors_.Enter();
    std::string node = bind.node;
    status = co_await Prepare(pod, std::move(node));
    began = parts_.executor.clock().Now();
    if (status.ok()) status = co_await Bind(pod, std::move(bind));
  }
  --under_way_;
  const std::string& uid = pod->metadata.uid;
  const TimePoint now = parts_.executor.clock().Now();
  if (const auto assumed = assumed_.find(uid); assumed != assumed_.end()) {
    assumed->second.state = status.ok()                        ? State::kBound
                            : status.code() == Code::kNotFound ? State::kGone
                                                               : State::kFailed;
  }
  if (status.ok()) {
    failures_.erase(uid);
  } else if (status.code() != Code::kNotFound) {
    Failure& failure = failures_[uid];
    Duration pause = kFirstPause;
    for (int i = 0; i < failure.attempts && pause < kLongestPause; ++i) pause *= 2;
    ++failure.attempts;
    failure.until = Later(now, std::min(pause, kLongestPause));
  }
  parts_.ended(pod, status, now - began);
}

coppice::Task<Status> Binder::Prepare(cluster::PodPtr pod, std::string node) {
  const Clock& clock = parts_.executor.clock();
  const TimePoint began = clock.Now();
  const Status volumes = co_await parts_.volumes.Bind(pod, std::move(node));
  if (!volumes.ok()) co_return volumes.Context("binding volumes");
  if (parts_.prepared) parts_.prepared(pod, clock.Now() - began);
  co_return Status::Ok();
}

coppice::Task<Status> Binder::Bind(cluster::PodPtr pod, Outcome::Bind bind) {
  if (bind.delegate != nullptr) {
    const std::optional<Status> done = co_await ByDelegate(pod, bind);
    if (done) co_return *done;
  }
  Backoff pause(kBindAgain, parts_.rng);
  const cluster::PodName name{bind.pod.namespace_, bind.pod.name, bind.pod.uid};
  while (true) {
    const Status status = co_await parts_.writer.Bind(name, bind.node, bind.annotations);
    if (!MayBeTriedAgain(status)) co_return status;
    parts_.log.Debug("a binding is tried again", {{"pod", bind.pod.key()},
                                                  {"node", bind.node},
                                                  {"attempts", pause.attempts() + 1},
                                                  {"error", status}});
    co_await parts_.executor.Sleep(pause.Next());
    // Gone meanwhile: its name may be somebody else's by now.
    if (!IsThere(*pod)) co_return NotFound("the pod is gone");
  }
}

// What the delegate says is held against the API server: an answer may be lost after the pod was
// bound, or come before. The binding by the scheduler itself goes to the same node, so that it does
// no harm if the delegate's happened after all.
coppice::Task<std::optional<Status>> Binder::ByDelegate(cluster::PodPtr pod, Outcome::Bind bind) {
  const Clock& clock = parts_.executor.clock();
  const TimePoint until = Later(clock.Now(), kDelegateLimit);
  const cluster::PodName name{bind.pod.namespace_, bind.pod.name, bind.pod.uid};
  Backoff pause(kBindAgain, parts_.rng);
  Status said = Unavailable("not asked yet");
  while (true) {
    if (!said.ok()) {
      const std::function<void()> ask = [&] { said = bind.delegate->Bind(bind); };
      if (parts_.workers != nullptr) {
        const Status taken = co_await OnWorker(*parts_.workers, parts_.executor, ask);
        if (!taken.ok()) said = taken;
      } else {
        ask();
      }
      if (said.code() == Code::kFailedPrecondition) co_return said.Context(bind.delegate->name());
      if (!said.ok() && bind.delegate->ignorable()) co_return std::nullopt;
    }
    const auto where = co_await parts_.writer.WhereIs(name);
    if (where.ok()) {
      if (!where->has_value()) co_return NotFound("the pod is gone");
      if (**where == bind.node) co_return Status::Ok();
      if (!(*where)->empty())
        co_return Status(Code::kAborted, bind.delegate->name() + " has put it on node " + **where);
      if (clock.Now() >= until) {
        co_return said.ok()
            ? FailedPrecondition(bind.delegate->name() +
                                 " says that it has bound the pod, and it is on no node")
            : said.Context(bind.delegate->name());
      }
    }
    co_await parts_.executor.Sleep(pause.Next());
    if (!IsThere(*pod)) co_return NotFound("the pod is gone");
  }
}

bool Binder::SettleOne(Assumed& assumed, TimePoint) {
  const model::ObjectMeta& meta = assumed.before->metadata;
  const cluster::PodPtr now = parts_.own.FindPod(meta.namespace_, meta.name);
  const bool there = now != nullptr && now->metadata.uid == meta.uid;
  switch (assumed.state) {
    case State::kGone:
      if (there && now == assumed.shown) parts_.shared.DeletePod(meta.namespace_, meta.name);
      return true;
    case State::kFailed:
      if (there && now == assumed.shown) parts_.shared.UpsertPod(assumed.before);
      return true;
    case State::kBinding:
    case State::kBound:
      if (!there) return assumed.state == State::kBound;  // else whoever binds it will find out
      if (now == assumed.shown) return false;
      if (!now->spec.node_name.empty()) return assumed.state == State::kBound;
      // An older version than ours: it was on its way when we decided.
      Show(assumed, now);
      return false;
  }
  return true;
}

void Binder::Settle(TimePoint now) {
  for (auto entry = assumed_.begin(); entry != assumed_.end();)
    entry = SettleOne(entry->second, now) ? assumed_.erase(entry) : std::next(entry);
  // Nobody asks for who is long gone.
  std::erase_if(failures_, [&](const auto& entry) {
    return Later(entry.second.until, std::chrono::minutes(10)) < now;
  });
}

bool Binder::HeldBack(const model::Pod& pod, TimePoint now) const {
  if (failures_.empty()) return false;
  const auto found = failures_.find(pod.metadata.uid);
  return found != failures_.end() && found->second.until > now;
}

}  // namespace coppice::batch
