#include "rpc/expander_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/main.h"
#include "grpc/channel.h"
#include "rpc/expander_messages.h"
#include "rpc/priority_file.h"
#include "test/support/must.h"
#include "test/support/option_set.h"
#include "test/support/test_certificates.h"

namespace coppice::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExpanderFlagsTest, ReadsEveryWayOfWritingThem) {
  const ExpanderOptions options = MUST(ParseExpanderFlags(
      {"--strategy=priority, most-pods", "--address", "127.0.0.1:1", "-cert-path=c", "--key-path=k",
       "--ca", "a", "--priority-file=p", "--metrics-addr=:2", "-v=5", "--insecure"}));
  EXPECT_THAT(options.strategy, ElementsAre("priority", "most-pods"));
  EXPECT_EQ(options.listen, "127.0.0.1:1");
  EXPECT_EQ(options.cert_file, "c");
  EXPECT_EQ(options.key_file, "k");
  EXPECT_EQ(options.ca_file, "a");
  EXPECT_EQ(options.priority_file, "p");
  EXPECT_EQ(options.metrics_addr, ":2");
  EXPECT_EQ(options.log.verbosity, 5);
  EXPECT_TRUE(options.insecure);
  EXPECT_EQ(MUST(ParseExpanderFlags({"--max-connection-age=5m"})).max_connection_age,
            std::chrono::minutes(5));
  EXPECT_FALSE(ParseExpanderFlags({"--max-connection-age=5"}).ok()) << "of what?";
  EXPECT_EQ(MUST(ParseExpanderFlags({"--port", "7001"})).listen, ":7001");
}

TEST(ExpanderFlagsTest, DefaultsAreThoseOfUpstream) {
  const ExpanderOptions options = MUST(ParseExpanderFlags({}));
  EXPECT_THAT(options.strategy, ElementsAre("least-waste"));
  EXPECT_EQ(options.listen, ":7000");
}

TEST(ExpanderFlagsTest, RefusesWithASentence) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"--listn=:1"}, "did you mean --listen?"},
      {{"random"}, "is no flag"},
      {{"--"}, "is no flag"},
      {{"--strategy"}, "needs a value"},
      {{"--insecure=perhaps"}, "not true or false"},
      {{"--v=much"}, "not a whole number"},
      {{"--port=70000"}, "0 to 65535"},
      {{"--max-connection-age=-1h"}, "at least 0s"},
      {{"--cert=c"}, "--cert needs --key"},
      {{"--key=k"}, "--key needs --cert"},
      {{"--ca=a"}, "needs --cert and --key"},
      {{"--strategy=least-waste,price"}, "prices"},
      {{"--strategy=grpc"}, "yet another expander"},
      {{"--strategy=priority"}, "--priority-file"},
      {{"--priority-file=p"}, "--strategy=priority"},
  };
  for (const auto& [args, says] : rows) {
    const auto parsed = ParseExpanderFlags(args);
    EXPECT_EQ(parsed.code(), Code::kInvalidArgument) << args[0];
    EXPECT_THAT(parsed.status().message(), HasSubstr(says)) << args[0];
  }
}

class ExpanderHostTest : public testing::Test {
 protected:
  ExpanderHostTest() { app::RegisterDiscoveredPlugins(plugins_); }
  Result<std::unique_ptr<ExpanderHost>> Start(const std::vector<std::string>& flags) {
    return ExpanderHost::Start(TRY(ParseExpanderFlags(flags)), {.expanders = plugins_.expanders,
                                                                .clock = clock_,
                                                                .rng = rng_,
                                                                .log = log_,
                                                                .metrics = metrics_});
  }

  SystemClock clock_;
  SeededRng rng_{1};
  std::string logged_;
  Log log_{clock_, [this](std::string_view line) { logged_ += line; }, LogFormat::kText};
  Metrics metrics_;
  app::Plugins plugins_;
  test::TempDirectory dir_;
};

TEST_F(ExpanderHostTest, AnswersOnAUnixSocketAndCountsCalls) {
  const std::string address = "unix:" + dir_.At("s");
  const auto host = MUST(Start({"--listen", address, "--strategy=least-nodes"}));
  grpc::Channel channel({.address = address}, clock_);
  const test::OptionSet set({{.group = "a", .nodes = 2}, {.group = "b", .nodes = 1}});
  const auto answer = MUST(
      channel.Call(kBestOptions, MUST(SerializeBestOptionsRequest(set.options(), set.templates())),
                   Deadline::In(clock_, std::chrono::seconds(5))));
  EXPECT_THAT(MUST(ParseBestOptionsResponse(answer)), ElementsAre("b"));
  host->Tick();
  host->Stop();
  EXPECT_THAT(metrics_.Render(), HasSubstr("coppice_expander_grpc_requests_total"));
}

TEST_F(ExpanderHostTest, RefusesWhatItCannotServe) {
  const auto why = [this](const std::vector<std::string>& flags) {
    return Start(flags).status().message();
  };
  EXPECT_THAT(why({"--listen=0.0.0.0:0", "--insecure"}), HasSubstr("--cert and --key"));
  EXPECT_THAT(why({"--listen=127.0.0.1:0"}), HasSubstr("--insecure"));
  EXPECT_THAT(why({"--listen=nowhere", "--insecure"}), HasSubstr("nowhere"));
  EXPECT_THAT(why({"--strategy=random,least-waste", "--listen=127.0.0.1:0", "--insecure"}),
              HasSubstr("--strategy"));
  EXPECT_THAT(why({"--cert=/none.crt", "--key=/none.key", "--listen=127.0.0.1:0"}),
              HasSubstr("/none.crt"));
  EXPECT_THAT(why({"--strategy=priority", "--priority-file=/none", "--listen=127.0.0.1:0"}),
              HasSubstr("/none"));
}

TEST_F(ExpanderHostTest, PrioritiesSurviveAFileThatIsGone) {
  const auto file = MUST(PriorityFile::Open(dir_.Write("p", "1: [a]"), log_));
  EXPECT_EQ(file->Text(), "1: [a]");
  dir_.Write("p", "22: [b]");
  EXPECT_EQ(file->Text(), "22: [b]");
  std::filesystem::remove(dir_.At("p"));
  EXPECT_EQ(file->Text(), "22: [b]");
  EXPECT_THAT(logged_, HasSubstr("the old ones stay in force"));
  dir_.Write("p", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(file->Text(), "22: [b]");
  dir_.Write("p", "3: [c]");
  EXPECT_EQ(file->Text(), "3: [c]");
}

}  // namespace
}  // namespace coppice::rpc
