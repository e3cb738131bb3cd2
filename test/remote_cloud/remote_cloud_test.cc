// A cloud in another process, from the client's plug-in to our own server: all that is asked of a
// cloud, and of node claims on it, holds over the wire.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/cloud_node_claims_fixture.h"
#include "cloud/fake_cloud.h"
#include "grpc/channel.h"
#include "grpc/server.h"
#include "plugins/clouds/remote/options.h"
#include "plugins/clouds/remote/remote_cloud.h"
#include "rpc/cloud_server.h"
#include "test/conformance/cloud_suite.h"
#include "test/conformance/node_claims_suite.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::clouds::remote {
void Register(cloud::CloudRegistry& registry);
}  // namespace coppice::clouds::remote

namespace coppice::test {
namespace {

using clouds::remote::CallFunction;
using clouds::remote::RemoteCloud;

// The server's handlers, called without a socket.
CallFunction Calls(const grpc::Service& service) {
  return [service](const std::string& method, std::string_view request,
                   Deadline deadline) -> Result<std::string> {
    for (const grpc::Method& one : service.methods) {
      if (service.PathOf(one) != method) continue;
      const grpc::Answer answer = one.handler({method, request, deadline, nullptr});
      if (!answer.status.ok()) return answer.status;
      return std::string(answer.bytes.view());
    }
    return Unimplemented("no method " + method);
  };
}

// The same answer to whatever is asked.
CallFunction Says(Result<std::string> answer) {
  return [answer](const std::string&, std::string_view, Deadline) { return answer; };
}

}  // namespace

struct ServedFake {
  ServedFake() { EXPECT_OK(remote.Flavors(Deadline::Never()).status()); }
  FakeClock fake_clock;
  cloud::FakeCloud fake{fake_clock};
  Log log = Log::Null();
  grpc::Service service = rpc::CloudService(fake, log);
  RemoteCloud remote{Calls(service), ""};
};

}  // namespace coppice::test

namespace coppice::conformance {

struct RemoteCloudUnderTest : test::ServedFake {
  static constexpr bool kCallerLooks = true;  // the fake buys whatever it is told to
  cloud::Cloud& cloud() { return remote; }
  Clock& clock() { return fake_clock; }
  cloud::MachineSpec ASpec(const std::string& name) {
    return {.name = name, .flavor = "small", .zone = "zone1", .image = "debian"};
  }
  cloud::ProviderId AnUnknownId() { return "fake://99999999"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Remote, CloudSuite, RemoteCloudUnderTest);

class RemoteClaimsUnderTest : public test::ServedFake {
 public:
  RemoteClaimsUnderTest() {
    fake.on_list = [this] { return Next(list_); };
    fake.on_create = [this](const cloud::MachineSpec&) { return Next(create_); };
    fake.on_flavors = [this] { return Next(nothing_); };
    claims_ = cloud::CloudNodeClaims::Create({remote, workers_, fake_clock, rng_, log, metrics_},
                                             {.name = "remote", .cluster = "prod"});
    claims_->SetClasses({cloud::AClass()});
  }
  cloud::NodeClaims& claims() { return *claims_; }
  Clock& clock() { return fake_clock; }
  model::NodePool Pool() { return cloud::APool(); }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return calls_; }
  void LoseNextCreate() { create_ = {.status = Unavailable("the line is dead")}; }
  void RefuseNextCreate() { create_ = {.status = Unavailable("later"), .happens = false}; }
  void FailNextList() { list_ = {.status = Unavailable("half a page")}; }

 private:
  cloud::FakeAnswer Next(cloud::FakeAnswer& answer) {
    ++calls_;
    return std::exchange(answer, {});
  }
  InlineWorkers workers_;
  SeededRng rng_{7};
  Metrics metrics_;
  int calls_ = 0;
  cloud::FakeAnswer create_, list_, nothing_;
  std::unique_ptr<cloud::CloudNodeClaims> claims_;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Remote, NodeClaimsSuite, RemoteClaimsUnderTest);

}  // namespace coppice::conformance

namespace coppice::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(RemoteCloudTest, FlavorsAndGridsCrossUnchanged) {
  rpc::CloudDescription description{
      .flavors = cloud::SpotFlavors(),
      .grid = cloud::FlavorGrid{.spot_factor = 0.5, .zones = {"zone1"}},
      .gpu_label = "fake.example/gpu",
      .id_prefix = "fake://"};
  cloud::Flavor odd{.name = "odd",
                    .cpu_millis = 1500,
                    .memory_bytes = 1 << 20,
                    .architecture = "arm64",
                    .gpu_type = "T",
                    .gpu_count = 1,
                    .in_stock = false,
                    .operating_system = "windows",
                    .max_pods = 30,
                    .resources = {{"example.com/fpga", 2}}};
  odd.offerings.push_back({.zone = "z", .in_stock = false});
  description.flavors.push_back(odd);
  const auto bytes = rpc::SerializeFlavorsResponse(description);
  EXPECT_EQ(MUST(rpc::ParseFlavorsResponse(bytes)), description);
}

TEST(RemoteCloudTest, MachinesAndOrdersCrossUnchanged) {
  std::vector<cloud::Machine> machines(2);
  machines[0] = {.id = "a://1",
                 .name = "one",
                 .flavor = "small",
                 .zone = "z",
                 .tags = {{"k", "v"}},
                 .state = cloud::MachineState::kFailed,
                 .error = cloud::MachineError{cloud::ErrorClass::kOutOfResources, "QUOTA", "text"},
                 .created_at = TimePoint(std::chrono::milliseconds(1'767'225'600'123)),
                 .capacity_type = "spot",
                 .image = "debian"};
  machines[1] = {.id = "a://2", .state = cloud::MachineState::kStopped};
  EXPECT_EQ(MUST(rpc::ParseListResponse(rpc::SerializeListResponse(machines))), machines);
  const cloud::MachineSpec spec{.name = "n",
                                .flavor = "f",
                                .zone = "z",
                                .image = "i",
                                .disk_bytes = 7,
                                .tags = {{"a", "b"}},
                                .user_data = std::string("\0\xff", 2),
                                .extra = {{"c", "d"}},
                                .capacity_type = "spot"};
  const auto read = MUST(rpc::ParseCreateRequest(rpc::SerializeCreateRequest(spec)));
  EXPECT_EQ(read.name, spec.name);
  EXPECT_EQ(read.disk_bytes, spec.disk_bytes);
  EXPECT_EQ(read.tags, spec.tags);
  EXPECT_EQ(read.user_data, spec.user_data);
  EXPECT_EQ(read.extra, spec.extra);
  EXPECT_EQ(read.capacity_type, spec.capacity_type);
}

TEST(RemoteCloudTest, WhatAGroupSaysReachesTheCloudBehindTheServer) {
  const cloud::GroupConfig group{.name = "web",
                                 .flavor = "small",
                                 .volume_size_gb = 20,
                                 .ssh_keys = {"one", "two"},
                                 .server_group_uuids = {"s"},
                                 .use_public_network = true,
                                 .network_uuid = "n",
                                 .subnet_uuid = "u",
                                 .extra = {{"own", "value"}}};
  const auto read = rpc::GroupOfSpec(rpc::SpecOfGroup(group));
  EXPECT_EQ(read.ssh_keys, group.ssh_keys);
  EXPECT_EQ(read.server_group_uuids, group.server_group_uuids);
  EXPECT_EQ(read.network_uuid, "n");
  EXPECT_EQ(read.subnet_uuid, "u");
  EXPECT_TRUE(read.use_public_network);
  EXPECT_FALSE(read.use_private_network);
  EXPECT_EQ(read.volume_size_gb, 20);
  EXPECT_EQ(read.extra, group.extra);
}

TEST(RemoteCloudTest, AnAnswerThatMakesNoSenseMayHaveDoneSomething) {
  RemoteCloud garbled(Says(std::string("\xff\xff garbage")), "");
  EXPECT_EQ(garbled.Create({.name = "a"}, Deadline::Never()).code(), Code::kUnavailable);
  EXPECT_EQ(garbled.List({}, Deadline::Never()).code(), Code::kUnavailable);
  RemoteCloud empty(Says(std::string()), "");
  EXPECT_THAT(empty.Create({.name = "a"}, Deadline::Never()).status().message(),
              HasSubstr("has no id"));
  const std::vector<cloud::Machine> twice = {{.id = "a://1"}, {.id = "a://1"}};
  RemoteCloud doubled(Says(rpc::SerializeListResponse(twice)), "");
  EXPECT_THAT(doubled.List({}, Deadline::Never()).status().message(), HasSubstr("twice"));
}

TEST(RemoteCloudTest, MachinesThatWereNotAskedForAreLeftOut) {
  const std::vector<cloud::Machine> all = {{.id = "a://1", .tags = {{"k", "ours"}}},
                                           {.id = "a://2", .tags = {{"k", "theirs"}}}};
  RemoteCloud careless(Says(rpc::SerializeListResponse(all)), "");
  const auto listed = MUST(careless.List({{"k", "ours"}}, Deadline::Never()));
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].id, "a://1");
}

TEST(RemoteCloudTest, AServerWithoutValidateIsCheckedByItsFlavors) {
  ServedFake served;
  const auto all = Calls(served.service);
  RemoteCloud remote(
      [all](const std::string& method, std::string_view request,
            Deadline deadline) -> Result<std::string> {
        if (method.ends_with("/Validate")) return Unimplemented("not here");
        return all(method, request, deadline);
      },
      "");
  EXPECT_THAT(
      MUST(remote.Validate({.name = "g", .flavor = "no", .zone = "zone1"}, Deadline::Never())),
      SizeIs(1));
}

TEST(RemoteCloudTest, OverMutualTlsByNameFromAFile) {
  FakeClock fake_clock;
  SystemClock clock;
  const Log log = Log::Null();
  cloud::FakeCloud fake(fake_clock);
  TestAuthority authority;
  TempDirectory dir;
  WriteMutualTls(authority, dir);
  InlineWorkers workers;
  std::vector<grpc::Service> services;
  services.push_back(rpc::CloudService(fake, log));
  const auto store = MUST(grpc::CertificateStore::Open({.cert_file = dir.At("server.crt"),
                                                        .key_file = dir.At("server.key"),
                                                        .ca_file = dir.At("ca.crt")},
                                                       log));
  const auto server = MUST(grpc::Server::Start({.listen = "127.0.0.1:0", .certificates = store},
                                               std::move(services), workers, clock, log));
  cloud::CloudRegistry registry("cloud");
  clouds::remote::Register(registry);
  SeededRng rng(1);
  Metrics metrics;
  const auto open = [&](const std::string& text) -> Result<std::unique_ptr<cloud::Cloud>> {
    yaml::Problems problems;
    return registry.Make(
        "remote",
        cloud::CloudContext{clock, rng, log, metrics, MUST(yaml::Parse(text, "c.yaml")), problems});
  };
  const std::string address = "address: localhost:" + std::to_string(server->port()) + "\n";
  const auto remote =
      MUST(open(address + "cert: " + dir.At("client.crt") + "\nkey: " + dir.At("client.key") +
                "\ncacert: " + dir.At("ca.crt") + "\n"));
  const Deadline soon = Deadline::In(clock, std::chrono::seconds(20));
  const auto made = MUST(remote->Create({.name = "one", .flavor = "small"}, soon));
  EXPECT_THAT(MUST(remote->List({}, soon)), SizeIs(1));
  EXPECT_OK(remote->Delete(made.id, soon));
  EXPECT_EQ(remote->Delete(made.id, soon).code(), Code::kNotFound);
  const auto stranger = MUST(open(address));
  EXPECT_FALSE(stranger->List({}, Deadline::In(clock, std::chrono::seconds(5))).ok())
      << "plaintext is not served";
}

TEST(RemoteOptionsTest, MistakesAreNamedWithTheirPlace) {
  const auto complaint = [](const std::string& text) {
    yaml::Problems problems;
    clouds::remote::ReadOptions(MUST(yaml::Parse(text, "c.yaml")), problems);
    return problems.ToStatus().message();
  };
  EXPECT_EQ(complaint("address: localhost:1"), "");
  EXPECT_EQ(complaint("address: unix:/run/cloud.sock"), "");
  EXPECT_THAT(complaint("{}"), HasSubstr("address: is required"));
  EXPECT_THAT(complaint("address: nowhere"), HasSubstr("is not host:port"));
  EXPECT_THAT(complaint("address: cloud.example:1"), HasSubstr("unencrypted"));
  EXPECT_EQ(complaint("{address: 'cloud.example:1', plaintext: true}"), "");
  EXPECT_THAT(complaint("{address: 'a:1', cert: x, cacert: y}"), HasSubstr("belong together"));
  EXPECT_THAT(complaint("{address: 'a:1', cert: x, key: z}"), HasSubstr("cacert"));
}

}  // namespace
}  // namespace coppice::test
