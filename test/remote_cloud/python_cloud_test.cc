// The example in Python, which speaks gRPC with somebody else's library, driven by our client: the
// verbs and how they refuse, then node groups and node claims on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/pool.h"
#include "cloud/cloud_node_claims_fixture.h"
#include "cloud/cloud_node_groups.h"
#include "grpc/channel.h"
#include "plugins/clouds/remote/remote_cloud.h"
#include "test/e2e/child.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

constexpr char kCloudExample[] = "examples/cloud-python";

bool HavePython() {
  static const bool have =
      std::system(
          "/usr/bin/python3 -c 'import grpc, google.protobuf' >/dev/null 2>&1 && "
          "command -v protoc >/dev/null") == 0;
  return have;
}

const TempDirectory& CloudMessages() {
  static const TempDirectory dir;
  static const int made =
      std::system(("protoc --python_out=" + dir.path().string() + " -I proto cloud.proto").c_str());
  EXPECT_EQ(made, 0);
  return dir;
}

}  // namespace

// One server per case: its machines are its own.
class PythonCloud {
 public:
  PythonCloud() {
    if (!HavePython()) return;
    server_ = std::make_unique<Child>(std::vector<std::string>{
        "/usr/bin/python3", std::string(kCloudExample) + "/server.py", "--listen=127.0.0.1:0",
        "--messages=" + CloudMessages().path().string()});
    const auto line = server_->WaitForLine("serving on port ");
    EXPECT_TRUE(line.has_value()) << server_->output();
    if (!line) return;
    channel_ = std::make_shared<grpc::Channel>(
        grpc::ChannelOptions{.address = "127.0.0.1:" + line->substr(line->rfind(' ') + 1)},
        real_clock_);
    remote_ = std::make_unique<clouds::remote::RemoteCloud>(
        [channel = channel_](const std::string& method, std::string_view request, Deadline by) {
          return channel->Call(method, request, by);
        },
        "");
    EXPECT_OK(remote_->Flavors(Deadline::In(real_clock_, std::chrono::seconds(20))).status());
  }

  cloud::Cloud& cloud() { return *remote_; }
  Clock& clock() { return real_clock_; }

 private:
  SystemClock real_clock_;
  std::unique_ptr<Child> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<clouds::remote::RemoteCloud> remote_;
};

TEST(PythonCloudTest, KeepsThePromisesOfTheVerbs) {
  if (!HavePython()) GTEST_SKIP() << "no python3-grpcio or protoc";
  PythonCloud python;
  cloud::Cloud& cloud = python.cloud();
  const auto soon = [&] { return Deadline::In(python.clock(), std::chrono::seconds(20)); };
  const cloud::MachineSpec spec{
      .name = "one", .flavor = "small", .zone = "north", .tags = {{"k", "v"}}};
  const auto made = MUST(cloud.Create(spec, soon()));
  EXPECT_TRUE(cloud.OwnsId(made.id));
  EXPECT_FALSE(cloud.OwnsId("aws:///eu-west-1a/i-0123456789abcdef0"));
  EXPECT_EQ(MUST(cloud.Create(spec, soon())).id, made.id) << "bought once";
  EXPECT_EQ(MUST(cloud.List({{"k", "v"}}, soon())).size(), 1u);
  EXPECT_EQ(MUST(cloud.List({{"k", "other"}}, soon())).size(), 0u);
  EXPECT_EQ(
      cloud.Create({.name = "two", .flavor = "no-such-flavor", .zone = "north"}, soon()).code(),
      Code::kInvalidArgument);
  EXPECT_TRUE(
      MUST(cloud.Validate({.name = "g", .flavor = "large", .zone = "south"}, soon())).empty());
  EXPECT_EQ(MUST(cloud.Validate({.name = "g", .flavor = "large", .zone = "west"}, soon())).size(),
            1u);
  const auto flavors = MUST(cloud.Flavors(soon()));
  ASSERT_EQ(flavors.size(), 3u);
  EXPECT_EQ(flavors[0].offerings.size(), 4u);
  EXPECT_EQ(cloud.GpuLabel(), "pretend.example/gpu");
  EXPECT_OK(cloud.Delete(made.id, soon()));
  EXPECT_EQ(cloud.Delete(made.id, soon()).code(), Code::kNotFound);
}

TEST(PythonCloudTest, SellsToNodeGroupsAndToNodeClaims) {
  if (!HavePython()) GTEST_SKIP() << "no python3-grpcio or protoc";
  PythonCloud python;
  Pool workers(4, 100);
  SeededRng rng(7);
  const Log log = Log::Null();
  Metrics metrics;
  const auto soon = [&] { return Deadline::In(python.clock(), std::chrono::seconds(20)); };

  const auto groups = MUST(cloud::CloudNodeGroups::Create(
      {python.cloud(), workers, python.clock(), rng, log, metrics}, {.cluster = "prod"},
      {{.name = "web", .max_size = 5, .flavor = "medium", .zone = "north"}}));
  ASSERT_OK(groups->Refresh(soon()));
  ASSERT_OK(groups->Increase("web", 2, soon()));
  EXPECT_EQ(MUST(groups->TargetSize("web")), 2);

  const auto claims = cloud::CloudNodeClaims::Create(
      {python.cloud(), workers, python.clock(), rng, log, metrics}, {.cluster = "prod"});
  claims->SetClasses({cloud::AClass()});
  ASSERT_OK(claims->Refresh(soon()));
  ASSERT_TRUE(claims->ClassStates().front().ready) << claims->ClassStates().front().message;
  model::NodeClaim claim = cloud::AClaim("one");
  ASSERT_OK(cloud::TakeOver(MUST(claims->Create(claim, soon())), claim));
  EXPECT_EQ(*claim.metadata.labels.Find(model::kInstanceTypeLabel), "small");
  EXPECT_EQ(*claim.metadata.labels.Find(model::kCapacityTypeLabel), "spot");
  EXPECT_EQ(MUST(claims->List(soon())).size(), 1u);
  EXPECT_EQ(MUST(claims->Create(claim, soon())).status.provider_id, claim.status.provider_id);

  ASSERT_OK(groups->Refresh(soon()));
  EXPECT_EQ(MUST(groups->TargetSize("web")), 2) << "the claim's machine is not the group's";
  ASSERT_OK(claims->Delete(claim, soon()));
  EXPECT_EQ(claims->Delete(claim, soon()).code(), Code::kNotFound);
  EXPECT_OK(groups->Drain(soon()));
  EXPECT_OK(claims->Drain(soon()));
}

}  // namespace coppice::test
