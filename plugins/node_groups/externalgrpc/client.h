// Client: cloud::NodeGroups over anybody's externalgrpc provider.
//
// Refresh asks the provider for everything that a pass needs, many questions at a time and no
// longer than its deadline, and swaps the picture that reads are answered from. A failure never
// empties the picture: the last good answers stay, marked stale, and Refresh says since when. What
// cannot be asked ahead (the group of a node that no group lists, options with other defaults than
// announced, prices) is asked once when it is first wanted, within a small budget of time per
// Refresh, and from then on by Refresh.
//
// A change is judged by what the provider says afterwards: its target is read again, also when the
// answer was lost, for then it may have happened all the same.
//
// Any thread.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "cloud/node_groups.h"
#include "cloud/node_groups_context.h"
#include "cloud/published.h"
#include "plugins/node_groups/externalgrpc/asked.h"
#include "plugins/node_groups/externalgrpc/cloud_config.h"
#include "plugins/node_groups/externalgrpc/messages.h"
#include "plugins/node_groups/externalgrpc/picture.h"
#include "plugins/node_groups/externalgrpc/remote.h"

namespace coppice::node_groups::externalgrpc {

// How long reads between two Refreshes may wait for the provider, all together. Reads are on the
// thread that decides; what does not fit is asked in the next Refresh.
inline constexpr Duration kReadBudget = std::chrono::seconds(10);

class Client final : public cloud::NodeGroups {
 public:
  struct Parts {
    CloudConfig config;
    Remote::Transport transport;
    Clock& clock;
    const Log& log;
    Metrics& metrics;
    std::string name = "externalgrpc";  // in logs, metrics and messages
    cloud::ScalingOptions group_defaults = {};
  };
  explicit Client(Parts parts);
  // From a cloud-config file. Does not connect yet: a provider that is away shows in Refresh.
  static Result<std::unique_ptr<Client>> Open(const cloud::NodeGroupsContext& context);
  ~Client() override;

  // What reads are answered from; for tests and for who wants to know how old it is.
  std::shared_ptr<const Picture> picture() const { return picture_.Load(); }

  uint64_t Version() const override { return picture_.Load()->version; }
  std::vector<cloud::GroupInfo> Groups() override;
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef& node) override;
  Result<bool> HasInstance(const cloud::NodeRef& node) override;
  Result<int> TargetSize(std::string_view group) override;
  Result<std::vector<cloud::Instance>> Instances(std::string_view group) override;
  Result<std::shared_ptr<const model::Node>> Template(std::string_view group) override;
  Result<std::optional<cloud::ScalingOptions>> Options(
      std::string_view group, const cloud::ScalingOptions& defaults) override;
  Status Increase(std::string_view group, int delta, Deadline deadline) override;
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override;
  Status Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                Deadline deadline) override;
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override;
  Status Refresh(Deadline deadline) override;
  Status Cleanup() override;
  std::string GpuLabel() override;
  std::vector<std::string> GpuTypes() override;
  Result<double> NodePrice(const cloud::NodeRef& node,
                           const std::map<std::string, std::string>& labels, TimePoint start,
                           TimePoint end) override;
  Result<double> PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) override;

 private:
  using MaybeOptions = std::optional<cloud::ScalingOptions>;
  using Pieces = std::vector<std::function<void()>>;
  struct GroupAnswers;  // what one Refresh brought of a group
  struct RefreshState;  // all of one Refresh

  TimePoint Now() const { return parts_.clock.Now(); }
  uint64_t NextTicket() { return ++tickets_; }
  Deadline ReadDeadline(Deadline within) const;
  Result<GroupPtr> Find(std::string_view group);
  // Before the first Refresh of the engine somebody may want to know: then we read now, once.
  std::shared_ptr<const Picture> Read();
  void NoteOddities(const std::string& group, const Oddities& oddities);

  // One question each; blocking.
  Attempt<int> AskTarget(const std::string& remote_id, Deadline deadline);
  Attempt<externalgrpc::Instances> AskInstances(const std::string& remote_id, Deadline deadline);
  Attempt<NodeTemplate> AskTemplate(const GroupView* before, const std::string& remote_id,
                                    Deadline deadline);
  Result<std::string> AskGroupOf(const std::string& request, Deadline deadline);
  Attempt<MaybeOptions> AskOptions(const std::string& remote_id,
                                   const cloud::ScalingOptions& defaults, Deadline deadline);

  // Questions between Refreshes.
  Moment MomentOf(const Picture& picture, Duration ttl) const;
  Deadline SpendingDeadline() const;
  void Spend(TimePoint since);
  void AskAllOptions(const cloud::ScalingOptions& defaults);
  Result<double> AskPrice(Asked<std::string, double>& prices, Method method, const std::string& key,
                          const std::function<std::string()>& request);

  // Refresh.
  Status RefreshNow(Deadline deadline);
  Status AskForRefresh(Deadline deadline);
  Status ListGroups(RefreshState& state);
  Pieces PlanOf(RefreshState& state);
  void AddGroupPieces(RefreshState& state, Pieces& pieces);
  void AddAskedPieces(RefreshState& state, Pieces& pieces);
  void AddTemplatePieces(RefreshState& state, Pieces& pieces);
  Status Publish(RefreshState& state);
  Status Verdict(const RefreshState& state, const Picture& picture) const;
  Status Failed(const Status& failure);
  void Show(const Picture& picture);

  // Changes.
  struct Change;
  Status Carry(const GroupView& view, const Change& change, Deadline deadline);
  Status LookAgainIfStale(GroupPtr& view, Deadline deadline);
  Status CheckOwnership(const GroupView& view, const std::vector<cloud::NodeRef>& nodes);
  bool AllGone(const std::string& remote_id, const std::vector<cloud::NodeRef>& nodes,
               Deadline deadline);
  void ChangeGroup(const std::string& remote_id, const std::function<void(GroupView&)>& change);

  const Parts parts_;
  Remote remote_;
  std::atomic<uint64_t> tickets_{0};
  std::atomic<uint64_t> generation_{1};
  std::atomic<int64_t> budget_;  // nanoseconds left to wait in reads

  std::mutex publish_mutex_;
  cloud::Published<Picture> picture_;

  Asked<std::string, std::string> groups_of_nodes_;  // answer: the provider's id, "" for none
  Asked<std::string, double> node_prices_;
  Asked<std::string, double> pod_prices_;

  std::mutex options_mutex_;  // held while the options of all groups are asked for
  std::mutex wanted_mutex_;
  cloud::ScalingOptions wanted_defaults_;  // what the next Refresh asks options with

  std::mutex oddities_mutex_;
  std::set<std::string> oddities_;  // said already

  std::mutex refresh_mutex_;
  std::condition_variable refreshed_;
  bool refreshing_ = false;
  uint64_t started_ = 0;
  uint64_t finished_ = 0;
  Status last_refresh_;

  Pool workers_;  // last: its threads use all of the above and end first
};

}  // namespace coppice::node_groups::externalgrpc
