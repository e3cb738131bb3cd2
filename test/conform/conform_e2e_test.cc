// `coppice conform` as its users meet it: the program, over the network, against our own servers and
// against the examples in Python, which speak gRPC and HTTP with other people's libraries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "test/e2e/child.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool HavePythonsGrpc() {
  static const bool have =
      std::system(
          "/usr/bin/python3 -c 'import grpc, google.protobuf' >/dev/null 2>&1 && "
          "command -v protoc >/dev/null") == 0;
  return have;
}

class ConformE2eTest : public testing::Test {
 protected:
  ConformE2eTest() {
    for (const char* who : {"server", "client"}) {
      const PemPair pair = authority_.Issue(who, {"localhost", "127.0.0.1"});
      dir_.Write(std::string(who) + ".crt", pair.cert);
      dir_.Write(std::string(who) + ".key", pair.key);
    }
    dir_.Write("ca.crt", authority_.pem());
  }

  // Starts a server; its address, from the number behind `before` in the line that has it.
  std::string Start(const std::vector<std::string>& command, const std::string& before) {
    server_ = std::make_unique<Child>(command);
    const auto line = server_->WaitForLine(before);
    EXPECT_TRUE(line.has_value()) << server_->output();
    if (!line) return "";
    const size_t at = line->find(before) + before.size();
    return "127.0.0.1:" + std::to_string(std::atoi(line->c_str() + at));
  }

  struct Said {
    int code = 0;
    std::string text;
  };
  Said Conform(std::vector<std::string> args) {
    args.insert(args.begin(), {COPPICE_BINARY, "conform"});
    args.push_back("--timeout=30s");  // a busy machine is no failure of the server
    Child child(args);
    Said said;
    said.code = child.Wait();
    said.text = child.output();
    return said;
  }
  std::vector<std::string> Tls() const {
    return {"--ca=" + dir_.At("ca.crt"), "--cert=" + dir_.At("client.crt"),
            "--key=" + dir_.At("client.key")};
  }
  std::string Protoc(const std::string& sources) const {
    EXPECT_EQ(std::system(("protoc --python_out=" + dir_.path().string() + " " + sources).c_str()),
              0);
    return "--messages=" + dir_.path().string();
  }

  TestAuthority authority_;
  TempDirectory dir_;
  std::unique_ptr<Child> server_;
};

TEST_F(ConformE2eTest, OurProviderPassesWithMachinesThatBoot) {
  const std::string config = dir_.Write("provider.yaml", R"(listen: "127.0.0.1:0"
clusterTag: conform
cloud: {kind: simulated, bootTime: 50ms}
nodeGroups:
  - {name: first, minSize: 0, maxSize: 4, flavor: medium-4-16, zone: north1}
  - {name: second, minSize: 0, maxSize: 4, flavor: small-2-4, zone: south1, options: {scaleDownUnneededTime: 5m}}
)");
  const std::string address = Start({COPPICE_BINARY, "provider", "--config=" + config, "--insecure",
                                     "--metrics-addr=127.0.0.1:0"},
                                    "\"port\":");
  const Said said =
      Conform({"provider", address, "--grow=second", "--junit=" + dir_.At("out.xml")});
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, HasSubstr("passed  leaves-nothing")) << said.text;
  EXPECT_THAT(said.text, HasSubstr("passed  order-cut-short")) << said.text;
  std::ifstream file(dir_.At("out.xml"));
  std::stringstream xml;
  xml << file.rdbuf();
  EXPECT_THAT(xml.str(), HasSubstr("<testsuite name=\"coppice conform provider\""));
}

TEST_F(ConformE2eTest, OurCloudPasses) {
  const std::string config = dir_.Write("cloud.yaml", R"(listen: "127.0.0.1:0"
clusterTag: conform
cloud: {kind: simulated, bootTime: 50ms}
)");
  const std::string address =
      Start({COPPICE_BINARY, "provider", "--serve=cloud", "--config=" + config, "--insecure",
             "--metrics-addr=127.0.0.1:0"},
            "\"port\":");
  const Said said = Conform({"cloud", address, "--grow=small-2-4", "--zone=south1"});
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, HasSubstr("passed  leaves-nothing")) << said.text;
  EXPECT_THAT(said.text, Not(HasSubstr("n/a"))) << said.text;
}

TEST_F(ConformE2eTest, OurExpanderPasses) {
  const std::string address =
      Start({COPPICE_BINARY, "expander", "--listen=127.0.0.1:0", "--strategy=least-waste",
             "--cert=" + dir_.At("server.crt"), "--key=" + dir_.At("server.key")},
            "\"port\":");
  const Said said = Conform({"expander", address, "--ca=" + dir_.At("ca.crt")});
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, Not(HasSubstr("n/a"))) << said.text;
}

TEST_F(ConformE2eTest, OurExtenderPasses) {
  const std::string address =
      Start({COPPICE_BINARY, "extender", "--listen=127.0.0.1:0"}, "listening on port ");
  const Said said = Conform({"extender", "http://" + address});
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, Not(HasSubstr("n/a"))) << said.text;
}

TEST_F(ConformE2eTest, ThePythonProviderPasses) {
  if (!HavePythonsGrpc()) GTEST_SKIP() << "no python3-grpcio or protoc";
  const std::string messages =
      Protoc("-I proto -I examples/provider-python externalgrpc.proto node.proto");
  const std::string address =
      Start({"/usr/bin/python3", "examples/provider-python/server.py", "--listen=127.0.0.1:0",
             "--groups=examples/provider-python/groups.json", "--cert=" + dir_.At("server.crt"),
             "--key=" + dir_.At("server.key"), "--ca=" + dir_.At("ca.crt"), messages},
            "serving on port ");
  // By the file that an autoscaler would be given.
  const std::string config =
      dir_.Write("cloud-config.yaml", "address: " + address + "\nkey: " + dir_.At("client.key") +
                                          "\ncert: " + dir_.At("client.crt") +
                                          "\ncacert: " + dir_.At("ca.crt") + "\n");
  const Said said = Conform({"provider", "--cloud-config=" + config, "--grow=first"});
  EXPECT_EQ(said.code, 0) << said.text;
}

TEST_F(ConformE2eTest, ThePythonProviderOfOneEraIsFound) {
  if (!HavePythonsGrpc()) GTEST_SKIP() << "no python3-grpcio or protoc";
  const std::string messages =
      Protoc("-I proto -I examples/provider-python externalgrpc.proto node.proto");
  const std::string address =
      Start({"/usr/bin/python3", "examples/provider-python/server.py", "--listen=127.0.0.1:0",
             "--groups=examples/provider-python/groups.json", "--cert=" + dir_.At("server.crt"),
             "--key=" + dir_.At("server.key"), "--ca=" + dir_.At("ca.crt"), messages, "--eras=new"},
            "serving on port ");
  std::vector<std::string> args = Tls();
  args.insert(args.begin(), {"provider", address});
  const Said said = Conform(args);
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_THAT(said.text, HasSubstr("FAILED  template-both-eras: group 'first' fills nodeBytes"));
  EXPECT_THAT(said.text, HasSubstr("1 failed"));
}

TEST_F(ConformE2eTest, ThePythonCloudPasses) {
  if (!HavePythonsGrpc()) GTEST_SKIP() << "no python3-grpcio or protoc";
  const std::string messages = Protoc("-I proto cloud.proto");
  const std::string address =
      Start({"/usr/bin/python3", "examples/cloud-python/server.py", "--listen=127.0.0.1:0",
             "--cert=" + dir_.At("server.crt"), "--key=" + dir_.At("server.key"),
             "--ca=" + dir_.At("ca.crt"), messages},
            "serving on port ");
  std::vector<std::string> args = Tls();
  args.insert(args.begin(), {"cloud", address, "--grow=small", "--zone=north"});
  const Said said = Conform(args);
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, HasSubstr("passed  leaves-nothing")) << said.text;
  EXPECT_THAT(said.text, Not(HasSubstr("n/a"))) << said.text;
}

TEST_F(ConformE2eTest, ThePythonExpanderPasses) {
  if (!HavePythonsGrpc()) GTEST_SKIP() << "no python3-grpcio or protoc";
  const std::string messages = Protoc("-I examples/expander-python expander.proto");
  const std::string address =
      Start({"/usr/bin/python3", "examples/expander-python/server.py", "--listen=127.0.0.1:0",
             "--cert=" + dir_.At("server.crt"), "--key=" + dir_.At("server.key"), messages},
            "serving on port ");
  const Said said = Conform({"expander", address, "--ca=" + dir_.At("ca.crt")});
  EXPECT_EQ(said.code, 0) << said.text;
}

TEST_F(ConformE2eTest, ThePythonExtenderPasses) {
  if (std::system("/usr/bin/python3 -c 'import http.server' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no python3";
  }
  const std::string address =
      Start({"/usr/bin/python3", "examples/extender-python/server.py", "--listen=127.0.0.1:0"},
            "listening on 127.0.0.1:");
  const Said said = Conform({"extender", "http://" + address});
  EXPECT_EQ(said.code, 0) << said.text;
}

TEST_F(ConformE2eTest, NobodyThereIsNoVerdict) {
  const Said said = Conform({"expander", "127.0.0.1:1"});
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_THAT(said.text, HasSubstr("nobody answers"));
}

}  // namespace
}  // namespace coppice::test
