#include "drain/evictor.h"

#include <algorithm>

#include "base/go_sort.h"
#include "base/strings.h"
#include "model/pod_kinds.h"
#include "model/resources.h"

namespace coppice::drain {

namespace {

constexpr Duration kRetry = std::chrono::seconds(10);
constexpr Duration kPoll = std::chrono::seconds(5);
constexpr Duration kHeadroom =
    std::chrono::seconds(30);  // beyond the grace period, for kubelet and API server

// A DaemonSet pod says itself whether it wants to be evicted; else the option does.
bool WantsEviction(const model::Pod& pod, const std::string& prefix, bool by_default) {
  if (prefix.empty()) return by_default;
  const std::string* said = pod.metadata.annotations.Find(prefix + "enable-ds-eviction");
  return said == nullptr ? by_default : *said == "true";
}

void SortPods(const std::vector<cluster::PodPtr>& pods, const std::string& prefix,
              bool evict_daemon_sets, std::vector<cluster::PodPtr>& ordinary,
              std::vector<cluster::PodPtr>& daemon_set) {
  for (const cluster::PodPtr& pod : pods) {
    if (model::IsMirrorPod(*pod)) continue;
    if (!model::IsDaemonSetPod(*pod)) {
      ordinary.push_back(pod);
    } else if (WantsEviction(*pod, prefix, evict_daemon_sets)) {
      daemon_set.push_back(pod);
    }
  }
}

cluster::PodName NameOf(const model::Pod& pod) {
  return {pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid};
}

}  // namespace

cluster::Event PodEvent(const model::Pod& pod, std::string type, std::string reason,
                        std::string text) {
  return {"Pod",           pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid,
          std::move(type), std::move(reason),       std::move(text)};
}

Evictor::Evictor(EvictionOptions options, cluster::Writer& writer, Executor& executor)
    : options_(std::move(options)), writer_(writer), executor_(executor) {}

std::vector<Evictor::Tier> Evictor::TiersOf(std::vector<cluster::PodPtr> must_go,
                                            std::vector<cluster::PodPtr> may_stay) const {
  if (options_.tiers.empty()) {
    return {{options_.max_graceful_termination_seconds, std::move(must_go), std::move(may_stay)}};
  }
  std::vector<PriorityTier> config = options_.tiers;
  GoSort(config,
         [](const PriorityTier& a, const PriorityTier& b) { return a.priority < b.priority; });
  std::vector<Tier> tiers;
  for (const PriorityTier& tier : config)
    tiers.push_back({tier.shutdown_grace_period_seconds, {}, {}});
  // The highest tier that the pod's priority reaches; below the lowest, the lowest. Of several
  // tiers of one priority, as upstream finds them: the first for pods of just that priority, the
  // last for those above it.
  const auto tier_of = [&](const model::Pod& pod) -> Tier& {
    const int32_t priority = model::PriorityOf(pod);
    const auto reached = std::ranges::lower_bound(config, priority, {}, &PriorityTier::priority);
    auto at = static_cast<size_t>(reached - config.begin());
    if (at > 0 && (at == config.size() || config[at].priority > priority)) --at;
    return tiers[at];
  };
  for (cluster::PodPtr& pod : must_go) tier_of(*pod).must_go.push_back(std::move(pod));
  for (cluster::PodPtr& pod : may_stay) tier_of(*pod).may_stay.push_back(std::move(pod));
  return tiers;
}

Task<Status> Evictor::Drain(std::string node, std::vector<cluster::PodPtr> pods) {
  std::vector<cluster::PodPtr> ordinary;
  std::vector<cluster::PodPtr> daemon_set;
  SortPods(pods, options_.annotation_prefix, options_.daemon_sets_of_occupied_nodes, ordinary,
           daemon_set);
  if (!options_.tiers.empty()) {  // tiers order DaemonSet pods, too, so they are waited for
    std::ranges::move(daemon_set, std::back_inserter(ordinary));
    daemon_set.clear();
  }
  std::vector<Tier> tiers = TiersOf(std::move(ordinary), std::move(daemon_set));
  co_return co_await DrainTiers(std::move(node), std::move(tiers));
}

Task<void> Evictor::EvictDaemonSetPods(std::string node, std::vector<cluster::PodPtr> pods) {
  std::vector<cluster::PodPtr> ordinary;
  std::vector<cluster::PodPtr> daemon_set;
  SortPods(pods, options_.annotation_prefix, options_.daemon_sets_of_empty_nodes, ordinary,
           daemon_set);
  std::vector<cluster::PodPtr> none;
  std::vector<Tier> tiers = TiersOf(std::move(none), std::move(daemon_set));
  const Status ignored = co_await DrainTiers(std::move(node), std::move(tiers));
  (void)ignored;  // best effort, as upstream has it
}

Task<Status> Evictor::DrainTiers(std::string node, std::vector<Tier> tiers) {
  for (Tier& tier : tiers) {
    if (tier.must_go.empty() && tier.may_stay.empty()) continue;
    Status status = co_await EvictTier(node, tier);
    if (!status.ok()) co_return status;
    status = co_await WaitUntilGone(node, tier);
    if (!status.ok()) co_return status;
  }
  co_return Status::Ok();
}

Task<Status> Evictor::EvictTier(std::string node, Tier tier) {
  const TimePoint retry_until = executor_.clock().Now() + options_.max_pod_eviction_time;
  std::vector<Task<Status>> evictions;
  for (const auto& pod : tier.must_go) {
    evictions.push_back(EvictOne(pod, retry_until, tier.grace_limit_seconds, true));
  }
  for (const auto& pod : tier.may_stay) {
    evictions.push_back(EvictOne(pod, retry_until, tier.grace_limit_seconds, false));
  }
  const std::vector<Status> results = co_await WhenAll(std::move(evictions));
  std::vector<std::string> errors;
  for (size_t i = 0; i < tier.must_go.size(); ++i) {
    if (!results[i].ok()) errors.push_back(results[i].message());
  }
  if (errors.empty()) co_return Status::Ok();
  co_return Status(
      Code::kUnavailable,
      "Failed to drain node /" + node + ", due to following errors: [" + Join(errors, " ") + "]");
}

Task<Status> Evictor::EvictOne(cluster::PodPtr pod, TimePoint retry_until,
                               int64_t grace_limit_seconds, bool must_go) {
  cluster::Event attempt =
      PodEvent(*pod, "Normal", options_.evicting_reason, options_.evicting_text);
  writer_.Emit(std::move(attempt));
  int64_t grace = pod->spec.termination_grace_period_seconds.value_or(model::kDefaultGraceSeconds);
  if (grace_limit_seconds > 0) grace = std::min(grace, grace_limit_seconds);
  Status last;
  do {
    last = co_await writer_.Evict(NameOf(*pod), grace);
    if (last.ok() || last.code() == Code::kNotFound) co_return Status::Ok();
    co_await executor_.Sleep(kRetry);
  } while (executor_.clock().Now() < retry_until);
  if (must_go) {
    cluster::Event failed = PodEvent(*pod, "Warning", options_.failed_reason, options_.failed_text);
    writer_.Emit(std::move(failed));
  }
  co_return Status(Code::kDeadlineExceeded,
                   "failed to evict pod " + pod->metadata.namespace_ + "/" + pod->metadata.name +
                       " within allowed timeout (last error: " + last.message() + ")");
}

Task<Status> Evictor::WaitUntilGone(std::string node, Tier tier) {
  const TimePoint give_up =
      executor_.clock().Now() + std::chrono::seconds(tier.grace_limit_seconds) + kHeadroom;
  while (executor_.clock().Now() < give_up) {
    bool all_gone = true;
    for (const auto& pod : tier.must_go) {
      const auto where = co_await writer_.WhereIs(NameOf(*pod));
      // A pod of the same name on another node is its successor.
      if (!where.ok() || (where->has_value() && **where == node)) {
        all_gone = false;
        break;
      }
    }
    if (all_gone) co_return Status::Ok();
    co_await executor_.Sleep(kPoll);
  }
  co_return Status(Code::kDeadlineExceeded,
                   "Failed to drain node /" + node + ": pods remaining after timeout");
}

}  // namespace coppice::drain
