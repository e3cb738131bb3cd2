#include "app/commands/demo_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "externalgrpc.pb.h"
#include "rpc/node_group_server.h"
#include "wire/wire.h"

namespace coppice::app {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;

// Cluster Autoscaler's own defaults.
constexpr auto kUnneededTime = std::chrono::minutes(10);
constexpr auto kBackoff = std::chrono::minutes(5);
constexpr auto kTimeout = std::chrono::seconds(5);
constexpr int kMaxDeletionsPerLoop = 3;

std::string Machines(int count) {
  return count == 1 ? "1 machine" : std::to_string(count) + " machines";
}

int64_t Whole(Duration duration) { return duration / std::chrono::seconds(1); }

}  // namespace

DemoClient::DemoClient(grpc::Channel& channel, const Clock& clock, Tell tell)
    : channel_(channel), clock_(clock), tell_(std::move(tell)), last_(clock.Now()) {}

template <class Response, class Request>
Result<Response> DemoClient::Ask(const char* method, const Request& request) {
  const auto start = std::chrono::steady_clock::now();
  const auto answer = channel_.Call("/" + std::string(rpc::kCloudProviderService) + "/" + method,
                                    request.SerializeAsString(), Deadline::In(clock_, kTimeout));
  totals_.wire_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++totals_.calls[method];
  if (!answer.ok()) return answer.status();
  Response response;
  if (!response.ParseFromString(*answer))
    return Internal(std::string(method) + ": unreadable answer");
  return response;
}

Status DemoClient::ListGroups() {
  const auto listed = TRY(Ask<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()));
  for (const auto& info : listed.nodegroups()) {
    auto it = std::ranges::find(groups_, info.id(), &Group::id);
    if (it == groups_.end()) {
      groups_.push_back({.id = info.id(), .min = info.minsize(), .max = info.maxsize()});
      it = groups_.end() - 1;
      pb::NodeGroupTemplateNodeInfoRequest request;
      request.set_id(info.id());
      const auto answer =
          TRY(Ask<pb::NodeGroupTemplateNodeInfoResponse>("NodeGroupTemplateNodeInfo", request));
      const auto node = TRY(wire::FromProto<model::Node>(answer.nodebytes()));
      if (const auto* cpu = node.status.allocatable.Find("cpu")) {
        it->node_cpus = static_cast<double>(cpu->MilliValue()) / 1'000;
      }
      tell_(it->id, fmt::format("{} to {} machines, each with {:.2f} CPUs for pods", it->min,
                                it->max, it->node_cpus));
    }
  }
  return Status::Ok();
}

// A machine that will not come: said once, deleted, and the group left alone for a while.
void DemoClient::GiveUp(Group& group, const std::string& id, const std::string& code,
                        const std::string& message, int error_class) {
  ++totals_.failed;
  group.backoff_until = clock_.Now() + kBackoff;
  group.ordered.erase(id);
  tell_(group.id,
        fmt::format("a machine is not coming ({}, {}): {}; no more of this group for 5 minutes",
                    code, error_class == 1 ? "out of resources" : "other", message));
  pb::NodeGroupDeleteNodesRequest request;
  request.set_id(group.id);
  request.add_nodes()->set_providerid(id);
  const auto deleted = Ask<pb::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request);
  if (!deleted.ok()) tell_(group.id, "could not clear it away: " + deleted.status().message());
}

Status DemoClient::Observe(Group& group) {
  pb::NodeGroupTargetSizeRequest size;
  size.set_id(group.id);
  group.target =
      TRY(Ask<pb::NodeGroupTargetSizeResponse>("NodeGroupTargetSize", size)).targetsize();
  pb::NodeGroupNodesRequest nodes;
  nodes.set_id(group.id);
  const auto listed = TRY(Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", nodes));
  group.running = group.creating = 0;
  std::set<std::string> now;
  int arrived = 0;
  Duration slowest{};
  for (const auto& instance : listed.instances()) {
    const auto& status = instance.status();
    if (status.instancestate() == pb::InstanceStatus::instanceCreating) {
      if (!status.errorinfo().errorcode().empty()) {
        GiveUp(group, instance.id(), status.errorinfo().errorcode(),
               status.errorinfo().errormessage(), status.errorinfo().instanceerrorclass());
        continue;
      }
      ++group.creating;
      group.ordered.try_emplace(instance.id(), clock_.Now());
    } else if (status.instancestate() == pb::InstanceStatus::instanceRunning) {
      ++group.running;
      now.insert(instance.id());
      if (!group.seen.try_emplace(instance.id(), clock_.Now()).second) continue;
      const auto order = group.ordered.extract(instance.id());
      if (!order.empty()) slowest = std::max(slowest, clock_.Now() - order.mapped());
      ++arrived;
    }
  }
  std::erase_if(group.seen, [&](const auto& entry) { return !now.contains(entry.first); });
  if (arrived > 0) {
    totals_.arrived += arrived;
    tell_(group.id, fmt::format("{} up and running after {} s", Machines(arrived), Whole(slowest)));
  }
  return Status::Ok();
}

void DemoClient::Grow(Group& group, int wanted) {
  const int delta = std::min(wanted, group.max) - group.target;
  if (delta <= 0 || clock_.Now() < group.backoff_until) return;
  tell_(group.id, fmt::format("load of {} CPUs wants {}, there are {}: asks for {} more",
                              group.load_cpus, Machines(wanted), group.target, delta));
  pb::NodeGroupIncreaseSizeRequest request;
  request.set_id(group.id);
  request.set_delta(delta);
  const auto grown = Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", request);
  totals_.ordered += delta;
  if (!grown.ok()) {
    ++totals_.refused;
    group.backoff_until = clock_.Now() + kBackoff;
    tell_(group.id,
          "refused: " + grown.status().ToString() + "; no more of this group for 5 minutes");
  }
}

void DemoClient::Shrink(Group& group, int wanted) {
  const int keep = std::max(wanted, group.min);
  if (group.running <= keep || group.creating > 0) {
    group.fits_since = TimePoint::max();
    return;
  }
  if (group.fits_since == TimePoint::max()) group.fits_since = clock_.Now();
  if (clock_.Now() - group.fits_since < kUnneededTime) return;
  std::vector<std::pair<TimePoint, std::string>> by_age;
  for (const auto& [id, since] : group.seen) by_age.emplace_back(since, id);
  std::ranges::sort(by_age, std::greater<>());
  by_age.resize(static_cast<size_t>(std::min(group.running - keep, kMaxDeletionsPerLoop)));
  tell_(group.id,
        fmt::format("load of {} CPUs has fitted on {} for 10 minutes: deletes {}", group.load_cpus,
                    Machines(keep), Machines(static_cast<int>(by_age.size()))));
  for (const auto& [since, id] : by_age) {
    pb::NodeGroupDeleteNodesRequest request;  // one call per node, as upstream does
    request.set_id(group.id);
    request.add_nodes()->set_providerid(id);
    const auto deleted = Ask<pb::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request);
    if (deleted.ok()) {
      ++totals_.deleted;
    } else {
      tell_(group.id, "not deleted: " + deleted.status().ToString());
    }
  }
}

// What the running machines cost for the time since the last loop, as the provider prices one of
// them.
void DemoClient::AddCost(Group& group, Duration since) {
  if (group.seen.empty()) return;
  pb::PricingNodePriceRequest request;
  request.mutable_node()->set_providerid(group.seen.begin()->first);
  request.mutable_starttimestamp()->set_seconds(0);
  request.mutable_endtimestamp()->set_seconds(Whole(since));
  const auto price = Ask<pb::PricingNodePriceResponse>("PricingNodePrice", request);
  if (price.ok()) group.cost += price->price() * group.running;
}

Status DemoClient::Loop(const std::function<int(const std::string& group)>& load_of) {
  const auto refreshed = Ask<pb::RefreshResponse>("Refresh", pb::RefreshRequest());
  if (!refreshed.ok()) {
    tell_("cloud", "could not be listed, this loop does nothing: " + refreshed.status().message());
    return Status::Ok();
  }
  TRY(ListGroups());
  const Duration since = clock_.Now() - last_;
  last_ = clock_.Now();
  int running = 0;
  for (Group& group : groups_) {
    TRY(Observe(group));
    AddCost(group, since);
    running += group.running;
    group.load_cpus = load_of(group.id);
    const int wanted =
        static_cast<int>(std::ceil(group.load_cpus / std::max(group.node_cpus, 0.01)));
    Grow(group, wanted);
    Shrink(group, wanted);
  }
  totals_.peak = std::max(totals_.peak, running);
  return Status::Ok();
}

}  // namespace coppice::app
