#include "plugins/node_groups/externalgrpc/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/pool.h"
#include "grpc/server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::node_groups::externalgrpc {
namespace {

using testing::HasSubstr;

// A server that says who it is.
class NamedServer {
 public:
  explicit NamedServer(std::string name,
                       std::shared_ptr<grpc::CertificateStore> certificates = {}) {
    std::vector<grpc::Service> services;
    services.push_back(
        {.name = "s.Provider",
         .methods = {{.name = "Who",
                      .handler = [name](const grpc::Call&) -> grpc::Answer { return name; }}}});
    server_ = MUST(grpc::Server::Start({.listen = "127.0.0.1:0",
                                        .certificates = certificates,
                                        .insecure = certificates == nullptr},
                                       std::move(services), workers_, clock_, log_));
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }

 private:
  SystemClock clock_;
  Log log_ = Log::Null();
  Pool workers_{1, 4};
  std::unique_ptr<grpc::Server> server_;
};

class LinkTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) { return dir.Write("cloud-config.yaml", text); }
  std::shared_ptr<Link> Open(const std::string& text) {
    return MUST(Link::Open(Write(text), clock, log));
  }
  std::string Who(Link& link) {
    const auto answer =
        link.Call("/s.Provider/Who", "", Deadline::In(clock, std::chrono::seconds(5)));
    return answer.ok() ? *answer : answer.status().ToString();
  }
  size_t Said(const std::string& what) {
    return static_cast<size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(what) != std::string::npos; }));
  }

  SystemClock clock;
  std::vector<std::string> lines;
  Log log{clock, [this](std::string_view line) { lines.emplace_back(line); }, LogFormat::kText};
  test::TempDirectory dir;
  NamedServer a{"a"};
  NamedServer b{"b"};
};

TEST_F(LinkTest, AnotherAddressIsAnotherConnection) {
  const auto link = Open("address: " + a.address() + "\n");
  EXPECT_EQ(Who(*link), "a");
  EXPECT_FALSE(link->Look().has_value());
  Write("address: " + b.address() + "\ngrpc_timeout: 7s\n");
  const auto changed = link->Look();
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->grpc_timeout, std::chrono::seconds(7));
  EXPECT_EQ(Who(*link), "b");
  EXPECT_FALSE(link->Look().has_value());
  EXPECT_EQ(Said("was read again"), 1u);
}

TEST_F(LinkTest, CertificatesAreTakenFromThenOn) {
  const test::TestAuthority authority;
  const test::PemPair pair = authority.Issue("provider", {"127.0.0.1"});
  auto store = MUST(grpc::CertificateStore::Open({.cert_file = dir.Write("tls.crt", pair.cert),
                                                  .key_file = dir.Write("tls.key", pair.key),
                                                  .parts = grpc::TlsParts::kIdentity},
                                                 log));
  const NamedServer secure("secure", std::move(store));
  const auto link = Open("address: " + a.address() + "\n");
  Write("address: " + secure.address() + "\ncacert: " + dir.At("ca.crt") + "\n");
  EXPECT_FALSE(link->Look().has_value());  // the file that it names is not there yet
  EXPECT_EQ(Who(*link), "a");
  dir.Write("ca.crt", authority.pem());
  EXPECT_TRUE(link->Look().has_value());
  EXPECT_EQ(Who(*link), "secure");
}

TEST_F(LinkTest, AFileThatCannotBeReadChangesNothingAndIsSaidOnce) {
  const auto link = Open("address: " + a.address() + "\n");
  Write("address: [\n");
  EXPECT_FALSE(link->Look().has_value());
  EXPECT_FALSE(link->Look().has_value());
  EXPECT_EQ(Who(*link), "a");
  EXPECT_EQ(Said("cannot be used"), 1u);
  Write("address: " + b.address() + "\n");
  EXPECT_TRUE(link->Look().has_value());
  EXPECT_EQ(Who(*link), "b");
}

TEST_F(LinkTest, WhatNeedsARestartIsSaidAndTheRestIsInForce) {
  const auto link = Open("address: " + a.address() + "\ngroup_prefix: x-\n");
  Write("address: " + b.address() + "\ngroup_prefix: y-\n");
  const auto changed = link->Look();
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->group_prefix, "x-");
  EXPECT_EQ(Who(*link), "b");
  EXPECT_EQ(Said("need a restart"), 1u);
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
