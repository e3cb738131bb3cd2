// Sixteen threads through the handlers at once, over a cloud that makes and ends machines: what
// ThreadSanitizer looks at, and that reads stay consistent while the picture changes.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/pool.h"
#include "base/rng.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "externalgrpc.pb.h"
#include "rpc/node_group_server.h"
#include "test/support/must.h"

namespace coppice::rpc {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;

constexpr int kThreads = 16;
constexpr int kStepsPerThread = 200;
constexpr int kMaxSize = 50;

class NodeGroupServerThreadsTest : public testing::Test {
 protected:
  NodeGroupServerThreadsTest() {
    for (const grpc::Method& method : service_.methods) handlers_[method.name] = method.handler;
  }

  template <class Response, class Request>
  Result<Response> Ask(const std::string& method, const Request& request) const {
    const std::string bytes = request.SerializeAsString();
    const grpc::Answer answer = handlers_.at(method)(
        {.request = bytes, .deadline = Deadline::In(clock_, std::chrono::seconds(5))});
    if (!answer.status.ok()) return answer.status;
    Response response;
    if (!response.ParseFromString(std::string(answer.bytes.view())))
      return Internal("unreadable answer");
    return response;
  }

  // One random call; mutations may be refused, reads may not.
  void Step(Rng& rng) {
    const std::string group = rng.Chance(0.5) ? "a" : "b";
    switch (rng.Below(8)) {
      case 0:
        EXPECT_OK(Ask<pb::RefreshResponse>("Refresh", pb::RefreshRequest()));
        return;
      case 1: {
        pb::NodeGroupIncreaseSizeRequest request;
        request.set_id(group);
        request.set_delta(static_cast<int>(1 + rng.Below(3)));
        (void)Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", request);
        return;
      }
      case 2:
        return DeleteOne(group, rng);
      case 3: {
        pb::NodeGroupDecreaseTargetSizeRequest request;
        request.set_id(group);
        request.set_delta(-1);
        (void)Ask<pb::NodeGroupDecreaseTargetSizeResponse>("NodeGroupDecreaseTargetSize", request);
        return;
      }
      case 4: {
        pb::NodeGroupTargetSizeRequest request;
        request.set_id(group);
        const auto size = Ask<pb::NodeGroupTargetSizeResponse>("NodeGroupTargetSize", request);
        ASSERT_OK(size);
        EXPECT_GE(size->targetsize(), 0);
        EXPECT_LE(size->targetsize(), kMaxSize);
        return;
      }
      case 5:
        EXPECT_EQ(MUST(Ask<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()))
                      .nodegroups_size(),
                  2);
        return;
      default:
        return LookUpAll(group);
    }
  }

  pb::NodeGroupNodesResponse Nodes(const std::string& group) const {
    pb::NodeGroupNodesRequest request;
    request.set_id(group);
    return MUST(Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", request));
  }

  void DeleteOne(const std::string& group, Rng& rng) {
    const auto nodes = Nodes(group);
    if (nodes.instances().empty()) return;
    pb::NodeGroupDeleteNodesRequest request;
    request.set_id(group);
    const auto size = static_cast<uint64_t>(nodes.instances_size());
    request.add_nodes()->set_providerid(nodes.instances(static_cast<int>(rng.Below(size))).id());
    (void)Ask<pb::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", request);
  }

  // What is listed belongs to its group or to nobody any more, never to another.
  void LookUpAll(const std::string& group) const {
    const auto nodes = Nodes(group);  // named: the loop below must not outlive it
    for (const auto& instance : nodes.instances()) {
      pb::NodeGroupForNodeRequest request;
      request.mutable_node()->set_providerid(instance.id());
      const auto of = MUST(Ask<pb::NodeGroupForNodeResponse>("NodeGroupForNode", request));
      EXPECT_TRUE(of.nodegroup().id() == group || of.nodegroup().id().empty())
          << of.nodegroup().id();
    }
  }

  SystemClock clock_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  Metrics metrics_;
  cloud::FakeCloud cloud_{clock_};
  Pool workers_{10, 10'000};
  std::unique_ptr<cloud::CloudNodeGroups> groups_ = MUST(
      cloud::CloudNodeGroups::Create({.cloud = cloud_,
                                      .workers = workers_,
                                      .clock = clock_,
                                      .rng = rng_,
                                      .log = log_,
                                      .metrics = metrics_},
                                     {.cluster = "test", .audit = [](const cloud::AuditEntry&) {}},
                                     {{.name = "a", .max_size = kMaxSize, .flavor = "small"},
                                      {.name = "b", .max_size = kMaxSize, .flavor = "large"}}));
  grpc::Service service_ = NodeGroupService(*groups_);
  std::map<std::string, grpc::Handler> handlers_;
};

TEST_F(NodeGroupServerThreadsTest, MixedCallsOfSixteenThreadsAgree) {
  ASSERT_OK(groups_->Refresh(Deadline::Never()));
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      SeededRng rng(static_cast<uint64_t>(100 + i));
      for (int step = 0; step < kStepsPerThread; ++step) Step(rng);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(groups_->Refresh(Deadline::Never()));
  for (const char* group : {"a", "b"}) {
    const auto nodes = Nodes(group);
    const auto staying = std::ranges::count_if(nodes.instances(), [](const pb::Instance& instance) {
      return instance.status().instancestate() != pb::InstanceStatus::instanceDeleting;
    });
    EXPECT_LE(staying, kMaxSize) << group;
  }
  EXPECT_OK(groups_->Drain(Deadline::In(clock_, std::chrono::seconds(10))));
}

}  // namespace
}  // namespace coppice::rpc
