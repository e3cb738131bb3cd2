// CombinedNodeGroups: several providers behind one loop.
//
// Refresh asks all of them at once. One that fails does not stop the others: its groups keep their
// last good answers, changes to them are refused with the reason, and Refresh is OK as long as one
// provider answers; who is broken, since when and why is logged, counted and in Health(). One that
// hangs is waited for in full once; from then on the others wait only briefly for it.
//
// Group ids are the providers' own and never changed: ids are in expander rules, back-offs and
// dashboards. Two providers that give one id to two groups are refused at the start, by name. A
// duplicate that comes up later is left out, with an error in the log, and the group that was there
// first stays. (The externalgrpc client has `group_prefix` for providers that cannot be changed.)
//
// A node belongs to the provider that lists its machine; when none does, they are asked in their
// order. Any thread.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "cloud/node_groups.h"
#include "cloud/published.h"

namespace coppice::cloud {

struct ProviderHealth {
  std::string provider;
  Status failure;                     // of its newest Refresh; OK: it answers
  std::optional<TimePoint> answered;  // when it last did; nullopt: never
  size_t groups = 0;                  // that are in use
};

class CombinedNodeGroups final : public NodeGroups {
 public:
  struct Member {
    std::string name;  // as the operator calls it; unique
    std::unique_ptr<NodeGroups> groups;
  };
  struct Context {
    Clock& clock;
    const Log& log;
    Metrics& metrics;
    // How long a Refresh waits for a provider that failed the last time, once the others are done.
    Duration patience = std::chrono::seconds(2);
  };

  // InvalidArgument: no member, or two of one name.
  static Result<std::unique_ptr<CombinedNodeGroups>> Create(std::vector<Member> members,
                                                            const Context& context);
  ~CombinedNodeGroups() override;

  std::vector<ProviderHealth> Health() const;

  uint64_t Version() const override;
  std::vector<GroupInfo> Groups() override;
  Result<std::optional<std::string>> GroupOf(const NodeRef& node) override;
  Result<bool> HasInstance(const NodeRef& node) override;
  Result<int> TargetSize(std::string_view group) override;
  Result<std::vector<Instance>> Instances(std::string_view group) override;
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override;
  Result<std::optional<ScalingOptions>> Options(std::string_view group,
                                                const ScalingOptions& defaults) override;
  bool OrdersMayOverlap(std::string_view group) override;
  Status Increase(std::string_view group, int delta, Deadline deadline) override;
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override;
  Status Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                Deadline deadline) override;
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override;
  void TellNodes(const EachNode& nodes) override;
  Status Refresh(Deadline deadline) override;
  Status Cleanup() override;
  std::string GpuLabel() override;
  std::vector<std::string> GpuTypes() override;
  void LearnPrices(const PriceQuestions& questions, Deadline deadline) override;
  // Of a template's node by the group in its name, else of the first provider that has a price.
  Result<double> NodePrice(const NodeRef& node, const std::map<std::string, std::string>& labels,
                           TimePoint start, TimePoint end) override;
  // The lowest that a provider asks.
  Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) override;

 private:
  struct Provider;
  struct Routes;

  CombinedNodeGroups(std::vector<Member> members, const Context& context);
  Result<Provider*> Route(std::string_view group) const;
  Result<Provider*> RouteChange(std::string_view group) const;
  static Provider* PriceRoute(const Routes& routes, const NodeRef& node);  // null: ask them all
  void StartRefresh(Provider& provider, Deadline deadline);
  void AwaitRefreshes(Deadline deadline);
  Status Rebuild();
  Status Verdict();

  const Context context_;
  std::vector<std::unique_ptr<Provider>> providers_;
  Published<Routes> routes_;

  mutable Mutex mutex_;  // of what Provider keeps
  std::condition_variable ended_;
  std::timed_mutex refresh_mutex_;  // one Refresh at a time
  Pool workers_;                    // last: its threads use all of the above
};

}  // namespace coppice::cloud
