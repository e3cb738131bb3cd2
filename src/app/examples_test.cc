// What is shipped to start from starts, and `coppice validate` says of a file what `coppice
// provider` does with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/main.h"
#include "provider/provider.h"
#include "test/support/test_certificates.h"

namespace coppice::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

Ended RunProgram(std::vector<std::string> arguments) {
  Plugins plugins;
  RegisterDiscoveredPlugins(plugins);
  arguments.insert(arguments.begin(), "coppice");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ended ended;
  ended.code = Main(static_cast<int>(argv.size()), argv.data(), plugins);
  ended.out = testing::internal::GetCapturedStdout();
  ended.err = testing::internal::GetCapturedStderr();
  return ended;
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ExamplesTest : public testing::Test {
 protected:
  ExamplesTest() { RegisterDiscoveredPlugins(plugins_); }

  // As `coppice provider --insecure` begins. Empty: it serves.
  std::string WhyNoProvider(const std::string& config) {
    Metrics metrics;
    const auto provider = provider::Provider::Start(
        {.config_path = config, .metrics_addr = "", .insecure = true},
        {.clouds = plugins_.clouds, .clock = clock_, .rng = rng_, .log = log_, .metrics = metrics});
    return provider.ok() ? "" : provider.status().message();
  }

  Plugins plugins_;
  SystemClock clock_;
  SeededRng rng_{1};
  const Log log_ = Log::Null();
  test::TempDirectory dir_;
};

TEST_F(ExamplesTest, EveryShippedConfigurationIsGood) {
  size_t seen = 0;
  for (const auto& file : std::filesystem::directory_iterator("deploy/examples")) {
    const Ended ended = RunProgram({"validate", file.path().string()});
    EXPECT_EQ(ended.code, 0) << file.path() << "\n" << ended.err;
    ++seen;
  }
  EXPECT_GE(seen, 2U);
}

TEST_F(ExamplesTest, TheSimulatedProviderServes) {
  std::string text = TextOf("deploy/examples/simulated.yaml");
  const std::string listen = "listen: \"127.0.0.1:8086\"";
  const size_t at = text.find(listen);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, listen.size(), "listen: \"127.0.0.1:0\"");  // any port
  EXPECT_EQ(WhyNoProvider(dir_.Write("simulated.yaml", text)), "");
}

TEST_F(ExamplesTest, TheModelClusterRunsOnTheShippedConfiguration) {
  const Ended ended = RunProgram({"run", "--cloud-config=deploy/examples/simulated.yaml",
                                  "--for=1h", "--speed=0", "--web-address=none"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Summary of 1.0 simulated hours"));
  EXPECT_THAT(ended.out, HasSubstr("small")) << "a table of its groups, at once";
}

// What the first five seconds at the default speed show: more than a table.
TEST_F(ExamplesTest, AtTheDefaultSpeedSomethingHappensWithinFiveSeconds) {
  const Ended flags = RunProgram({"run", "--help-flags"});
  EXPECT_THAT(flags.out, HasSubstr("Simulated seconds per second; 60 on a terminal"));
  const Ended ended = RunProgram({"run", "--for=5m", "--speed=0", "--web-address=none"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string before = ended.out.substr(0, ended.out.find("Summary"));
  EXPECT_THAT(before, testing::ContainsRegex("day 1 06:0[0-4]:[0-9]+  [+] ")) << "bought";
  EXPECT_THAT(before, testing::ContainsRegex("day 1 06:0[0-4]:[0-9]+  [*] ")) << "joined";
}

TEST_F(ExamplesTest, TheLongestWaitIncludesWhoStillWaits) {
  // No group takes the pods of search: they wait until the end.
  const std::string config =
      dir_.Write("small.yaml",
                 "cloud: {kind: simulated}\nnodeGroups: [{name: small, minSize: 1, maxSize: 1, "
                 "flavor: small-2-4, zone: north1}]\n");
  const Ended ended = RunProgram(
      {"run", "--cloud-config=" + config, "--for=3h", "--speed=0", "--web-address=none"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("the longest wait was 3.0 h"));
  EXPECT_THAT(ended.out, HasSubstr("which still waits"));
}

TEST_F(ExamplesTest, AnExpanderThatCannotChooseSaysSoWhereTheChoiceIsTold) {
  const Ended ended =
      RunProgram({"run", "--expander=priority", "--for=30m", "--speed=0", "--web-address=none"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("priority: keeps all: "));
}

// Each file is wrong in one way, or right. What the provider refuses without asking anybody,
// validate refuses, and the other way round.
TEST_F(ExamplesTest, ValidateAgreesWithTheProvider) {
  const std::string group = "{name: web, maxSize: 2, flavor: small-2-4, zone: north1";
  const auto file = [&](const std::string& listen, const std::string& one) {
    return "listen: \"" + listen +
           "\"\nclusterTag: a\ncloud: {kind: simulated}\nnodeGroups:\n  - " + one + "\n";
  };
  const auto tls = [&](const std::string& key) {
    return "tls: {certFile: " + dir_.At("server.crt") + ", keyFile: " + dir_.At(key) +
           ", caFile: " + dir_.At("ca.crt") + "}\n" + file("127.0.0.1:0", group + "}");
  };
  test::WriteMutualTls(test::TestAuthority(), dir_);
  struct Row {
    std::string name;
    std::string text;
    std::string says;  // "": it is good
  };
  const std::vector<Row> rows = {
      {"certificates", tls("server.key"), ""},
      {"key_of_another", tls("client.key"), "does not belong to the certificate"},
      {"key_that_is_none", tls("ca.crt"), "holds no PEM private key"},
      {"good", file("127.0.0.1:0", group + "}"), ""},
      {"no_port", file("nowhere", group + "}"), "is not host:port"},
      {"large_port", file("127.0.0.1:70000", group + "}"), "is not host:port"},
      {"no_tls", file("0.0.0.0:0", group + "}"), "without TLS on the network"},
      {"flavor", file("127.0.0.1:0", "{name: web, maxSize: 2, flavor: smal-2-4, zone: north1}"),
       "did you mean 'small-2-4'?"},
      {"zone", file("127.0.0.1:0", "{name: web, maxSize: 2, flavor: small-2-4, zone: nroth1}"),
       "north1"},
      {"label_key", file("127.0.0.1:0", group + ", labels: {\"a b\": x}}"), "'a b'"},
      {"label_value", file("127.0.0.1:0", group + ", labels: {a: \"x y\"}}"), "'x y'"},
      {"taint_key", file("127.0.0.1:0", group + ", taints: [{key: \"a b\", effect: NoSchedule}]}"),
       "'a b'"},
      {"reserves", file("127.0.0.1:0", group + ", kubeReserved: {cpu: \"2\"}}"),
       "leave nothing of the cpu"},
      {"reserves_share", file("127.0.0.1:0", group + ", systemReserved: {memory: 100%}}"),
       "leave nothing of the memory"},
      {"reserved_word", file("127.0.0.1:0", group + ", kubeReserved: {cpus: \"1\"}}"),
       "has no 'cpus'"},
      {"sizes", file("127.0.0.1:0", "{name: web, minSize: 3, maxSize: 2, flavor: small-2-4}"),
       "less than minSize"},
      {"name", file("127.0.0.1:0", "{name: \"a b\", maxSize: 2, flavor: small-2-4, zone: north1}"),
       "host names"},
      {"quote", "clusterTag: \"a\nnodeGroups: []\n", ":1:13: error: the quote that opens here"},
      {"cloud",
       "cloud: {kind: simulatd}\nnodeGroups: [{name: a, flavor: x, maxSize: 1}]\n"
       "listen: \"127.0.0.1:0\"\n",
       "did you mean 'simulated'?"},
      {"nothing", "", "nodeGroups"},
  };
  for (const Row& row : rows) {
    const std::string path = dir_.Write(row.name + ".yaml", row.text);
    const Ended validated = RunProgram({"validate", path});
    const std::string refused = WhyNoProvider(path);
    EXPECT_EQ(validated.code, row.says.empty() ? 0 : 1) << row.name << "\n" << validated.err;
    EXPECT_EQ(refused.empty(), row.says.empty()) << row.name << ": " << refused;
    EXPECT_THAT(validated.err, HasSubstr(row.says)) << row.name;
    EXPECT_THAT(validated.err, Not(HasSubstr(path + ": error: " + path))) << "the place once";
    EXPECT_THAT(refused, HasSubstr(row.says)) << row.name;
  }
}

}  // namespace
}  // namespace coppice::app
