// Client: cloud::NodeGroups over anybody's externalgrpc provider.
//
// Refresh asks the provider for everything that a pass needs, many questions at a time and no
// longer than its deadline, and swaps the picture that reads are answered from. A failure never
// empties the picture: the last good answers stay, marked stale, and Refresh says since when. A
// read never asks. What nobody could know ahead (the group of a node that no group lists, options
// with other defaults than announced) is noted when it is first wanted and asked by the next
// Refresh, and until then not known; prices are asked by LearnPrices.
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
#include "grpc/expiry_watch.h"
#include "plugins/node_groups/externalgrpc/asked.h"
#include "plugins/node_groups/externalgrpc/cloud_config.h"
#include "plugins/node_groups/externalgrpc/link.h"
#include "plugins/node_groups/externalgrpc/messages.h"
#include "plugins/node_groups/externalgrpc/picture.h"
#include "plugins/node_groups/externalgrpc/remote.h"

namespace coppice::node_groups::externalgrpc {

class Client final : public cloud::NodeGroups {
 public:
  struct Parts {
    CloudConfig config;
    Remote::Transport transport;
    // Asked at the start of every Refresh: another configuration, if there is one. Null: it stays.
    std::function<std::optional<CloudConfig>()> look = nullptr;
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
  bool OrdersMayOverlap(std::string_view) override { return config()->overlapping_orders; }
  Status Increase(std::string_view group, int delta, Deadline deadline) override;
  Status IncreaseAtomically(std::string_view group, int delta, Deadline deadline) override;
  Status Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                Deadline deadline) override;
  Status DecreaseTarget(std::string_view group, int delta, Deadline deadline) override;
  void TellNodes(const cloud::EachNode& nodes) override;
  Status Refresh(Deadline deadline) override;
  Status Cleanup() override;
  std::string GpuLabel() override;
  std::vector<std::string> GpuTypes() override;
  void LearnPrices(const cloud::PriceQuestions& questions, Deadline deadline) override;
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
  Result<GroupPtr> Find(std::string_view group) const;
  Result<GroupPtr> FindIn(const Picture& picture, std::string_view group) const;
  void Sweep(Pieces pieces);
  void NoteOddities(const std::string& group, const Oddities& oddities);

  // One question each; blocking.
  Attempt<int> AskTarget(const std::string& remote_id, Deadline deadline);
  Attempt<externalgrpc::Instances> AskInstances(const std::string& remote_id, Deadline deadline);
  Attempt<NodeTemplate> AskTemplate(const GroupView* before, const std::string& remote_id,
                                    Deadline deadline);
  Result<std::string> AskGroupOf(const std::string& request, Deadline deadline);
  Attempt<MaybeOptions> AskOptions(const std::string& remote_id,
                                   const cloud::ScalingOptions& defaults, Deadline deadline);

  // What nobody could know ahead.
  std::optional<Result<std::string>> Want(const cloud::NodeRef& node);
  Result<std::optional<std::string>> Named(const Picture& picture,
                                           const Result<std::string>& remote_id) const;
  Result<std::optional<std::string>> AskOwner(const cloud::NodeRef& node, Deadline deadline);
  void AskPrices(Asked<double>& prices, Method method, std::vector<Question> questions,
                 Deadline deadline);
  Result<double> PriceOf(const Asked<double>& prices, Method method, const std::string& key) const;

  // Refresh.
  Status RefreshNow(Deadline deadline);
  Status AskForRefresh(Deadline deadline);
  Status ListGroups(RefreshState& state);
  Pieces PlanOf(RefreshState& state);
  void AddGroupPieces(RefreshState& state, Pieces& pieces);
  void AddGpuPieces(RefreshState& state, Pieces& pieces);
  void AddRenewals(RefreshState& state, Pieces& pieces);
  Pieces NewNodesOf(RefreshState& state);
  void AddTemplatePieces(RefreshState& state, Pieces& pieces);
  Status Publish(RefreshState& state);
  Status Verdict(const RefreshState& state, const Picture& picture) const;
  Status Failed(const Status& failure);
  void Show(const Picture& picture);
  void ShowCertificate();

  // Changes.
  struct Change;
  Status Carry(const GroupView& view, const Change& change, Deadline deadline);
  Status LookAgainIfStale(GroupPtr& view, Deadline deadline);
  Status CheckOwnership(const GroupView& view, const std::vector<cloud::NodeRef>& nodes,
                        Deadline deadline);
  bool AllGone(const std::string& remote_id, const std::vector<cloud::NodeRef>& nodes,
               Deadline deadline);
  void ChangeGroup(const std::string& remote_id, const std::function<void(GroupView&)>& change);

  std::shared_ptr<const CloudConfig> config() const { return config_.Load(); }

  const Parts parts_;
  grpc::CertificateExpiry expiry_{parts_.clock, parts_.log, parts_.metrics,
                                  "coppice_externalgrpc_"};
  Remote remote_;
  cloud::Published<CloudConfig> config_;  // as last read
  std::atomic<uint64_t> tickets_{0};
  std::atomic<uint64_t> generation_{1};

  std::mutex publish_mutex_;
  cloud::Published<Picture> picture_;

  Asked<std::string> groups_of_nodes_;  // answer: the provider's id, "" for none
  Asked<double> node_prices_;
  Asked<double> pod_prices_;

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
