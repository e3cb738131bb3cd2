// The expander's service without a network: bytes in, bytes out, both eras.

#include "rpc/expander_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "expander.pb.h"
#include "rpc/expander_messages.h"
#include "test/support/must.h"
#include "test/support/option_set.h"
#include "wire/wire.h"

namespace coppice::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Keeps what the test says, and shows what it was given.
class Scripted final : public expand::Expander {
 public:
  using Rule = std::function<expand::Options(const expand::Options&, const expand::Surroundings&)>;
  explicit Scripted(Rule rule) : rule_(std::move(rule)) {}
  expand::Options Narrow(const expand::Options& options,
                         const expand::Surroundings& around) override {
    return rule_(options, around);
  }

 private:
  Rule rule_;
};

class ExpanderServerTest : public testing::Test {
 protected:
  grpc::Answer Ask(const std::string& request, Scripted::Rule rule,
                   decltype(ExpanderServerParts::config_map) config_map = nullptr) {
    expand::ExpanderRegistry registry("expander");
    registry.Add("scripted", [rule](const expand::ExpanderContext&) {
      return Result<std::unique_ptr<expand::Expander>>(std::make_unique<Scripted>(rule));
    });
    auto chain = MUST(expand::Chain::Create(
        {"scripted"}, registry, {.clock = clock_, .rng = rng_, .log = log_, .metrics = metrics_}));
    const grpc::Service service =
        ExpanderService({.chain = chain, .log = log_, .config_map = std::move(config_map)});
    EXPECT_EQ(service.PathOf(service.methods.at(0)), kBestOptions);
    return service.methods.at(0).handler({.request = request});
  }
  static std::vector<std::string> Groups(const grpc::Answer& answer) {
    EXPECT_OK(answer.status);
    return MUST(ParseBestOptionsResponse(answer.bytes.view()));
  }
  std::string Request(Era era = Era::kBytes) const {
    return MUST(SerializeBestOptionsRequest(set_.options(), set_.templates(), era));
  }

  FakeClock clock_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  Metrics metrics_;
  test::OptionSet set_{{{.group = "a", .nodes = 2, .pods = 3, .debug = "first"},
                        {.group = "b", .nodes = -1, .pods = 0},
                        {.group = "c", .has_template = false}}};
};

expand::Options KeepAll(const expand::Options& options, const expand::Surroundings&) {
  return options;
}

TEST_F(ExpanderServerTest, AnswersWithTheSurvivorsWithoutTheirPods) {
  const grpc::Answer answer =
      Ask(Request(), [](const expand::Options& options, const expand::Surroundings&) {
        return expand::Options{options[0], options[2]};
      });
  EXPECT_THAT(Groups(answer), ElementsAre("a", "c"));
  grpcplugin::BestOptionsResponse response;
  ASSERT_TRUE(response.ParseFromString(std::string(answer.bytes.view())));
  EXPECT_EQ(response.options(0).nodecount(), 2);
  EXPECT_EQ(response.options(0).debug(), "first");
  EXPECT_EQ(response.options(0).podbytes_size(), 0);
}

TEST_F(ExpanderServerTest, TheChainSeesWhatWasOffered) {
  for (const Era era : {Era::kBytes, Era::kBoth}) {
    Ask(Request(era), [this](const expand::Options& options, const expand::Surroundings& around) {
      EXPECT_EQ(options.size(), 3U);
      EXPECT_EQ(options[0]->group, "a");
      EXPECT_EQ(options[0]->node_count, 2);
      EXPECT_EQ(options[0]->debug, "first");
      EXPECT_EQ(options[0]->pods.size(), 3U);
      EXPECT_EQ(*options[0]->pods[2], *set_.options()[0]->pods[2]);
      EXPECT_EQ(*options[0]->node, *set_.options()[0]->node);
      EXPECT_EQ(options[1]->node_count, -1);
      EXPECT_EQ(options[2]->node, nullptr);
      EXPECT_EQ(around.templates.size(), 2U);
      return options;
    });
  }
}

// What Cluster Autoscaler up to 1.34.1 sends.
TEST_F(ExpanderServerTest, ReadsTheOldEra) {
  grpcplugin::BestOptionsRequest request;
  ASSERT_TRUE(request.ParseFromString(Request(Era::kBoth)));
  request.clear_nodebytesmap();
  for (auto& option : *request.mutable_options()) option.clear_podbytes();
  Ask(request.SerializeAsString(),
      [this](const expand::Options& options, const expand::Surroundings&) {
        EXPECT_EQ(options[0]->pods.size(), 3U);
        EXPECT_EQ(*options[0]->pods[0], *set_.options()[0]->pods[0]);
        EXPECT_NE(options[0]->node, nullptr);
        return options;
      });
}

TEST_F(ExpanderServerTest, NothingOfferedIsNothingAnswered) {
  EXPECT_THAT(Groups(Ask("", KeepAll)), IsEmpty());
}

TEST_F(ExpanderServerTest, APodInSeveralOptionsIsReadOnce) {
  const model::Pod pod = test::APodOf("shared", 100, 100);
  expand::Option a{.group = "a", .pods = {&pod}};
  expand::Option b{.group = "b", .pods = {&pod, &pod}};
  const auto offered =
      MUST(ParseBestOptionsRequest(MUST(SerializeBestOptionsRequest({&a, &b}, {}))));
  EXPECT_EQ(offered->pods.size(), 1U);
  EXPECT_EQ(offered->options[1].pods[0], offered->options[1].pods[1]);
}

TEST_F(ExpanderServerTest, BytesThatAreNoRequestAreRefused) {
  EXPECT_EQ(Ask("\xFF\xFF", KeepAll).status.code(), Code::kInvalidArgument);
  grpcplugin::BestOptionsRequest request;
  request.add_options()->set_nodegroupid("spot");
  request.mutable_options(0)->add_podbytes("\x0A\xFF");
  const Status bad_pod = Ask(request.SerializeAsString(), KeepAll).status;
  EXPECT_EQ(bad_pod.code(), Code::kInvalidArgument);
  EXPECT_THAT(bad_pod.message(), HasSubstr("'spot'"));
  request.mutable_options(0)->clear_podbytes();
  (*request.mutable_nodebytesmap())["steady"] = "\x0A\xFF";
  EXPECT_THAT(Ask(request.SerializeAsString(), KeepAll).status.message(), HasSubstr("'steady'"));
}

TEST_F(ExpanderServerTest, PrioritiesComeFromWhereverTheHostKeepsThem) {
  std::string seen;
  const auto look = [&seen](const expand::Options& options, const expand::Surroundings& around) {
    const auto text = around.config_map("map", "key");
    seen = text.ok() ? *text : text.status().ToString();
    return options;
  };
  Ask(Request(), look, [](std::string_view map, std::string_view key) -> Result<std::string> {
    return std::string(map) + "/" + std::string(key);
  });
  EXPECT_EQ(seen, "map/key");
  Ask(Request(), look);
  EXPECT_THAT(seen, HasSubstr("NotFound"));
}

TEST(ExpanderMessagesTest, WhatIsWrittenByHandIsWhatTheGeneratedCodeReads) {
  SeededRng rng(1);
  for (int round = 0; round < 50; ++round) {
    test::OptionSet set;
    for (uint64_t i = rng.Below(5); i > 0; --i) {
      set.Add({.group = std::string(rng.Below(200), 'g') + std::to_string(i),
               .nodes = static_cast<int>(rng.Next()),
               .pods = static_cast<int>(rng.Below(4)),
               .has_template = rng.Below(2) == 0,
               .debug = std::string(rng.Below(3) * 100, 'd')});
    }
    const Era era = rng.Below(2) == 0 ? Era::kBytes : Era::kBoth;
    const std::string bytes =
        MUST(SerializeBestOptionsRequest(set.options(), set.templates(), era));
    grpcplugin::BestOptionsRequest request;
    ASSERT_TRUE(request.ParseFromString(bytes));
    ASSERT_EQ(request.ByteSizeLong(), bytes.size()) << "no field twice, none unknown";
    ASSERT_EQ(static_cast<size_t>(request.options_size()), set.options().size());
    EXPECT_EQ(static_cast<size_t>(request.nodebytesmap_size()), set.templates().size());
    for (int i = 0; i < request.options_size(); ++i) {
      const expand::Option& option = *set.options()[static_cast<size_t>(i)];
      EXPECT_EQ(request.options(i).nodegroupid(), option.group);
      EXPECT_EQ(request.options(i).nodecount(), option.node_count);
      EXPECT_EQ(request.options(i).debug(), option.debug);
      ASSERT_EQ(static_cast<size_t>(request.options(i).podbytes_size()), option.pods.size());
      EXPECT_EQ(request.options(i).pod_size(),
                era == Era::kBoth ? request.options(i).podbytes_size() : 0);
      for (int p = 0; p < request.options(i).podbytes_size(); ++p) {
        EXPECT_EQ(MUST(wire::FromProto<model::Pod>(request.options(i).podbytes(p))),
                  *option.pods[static_cast<size_t>(p)]);
      }
    }
  }
}

TEST(ExpanderMessagesTest, AnAnswerIsReadByItsIdsAlone) {
  grpcplugin::BestOptionsResponse response;
  response.add_options()->set_nodegroupid("a");
  response.mutable_options(0)->add_podbytes("no pod at all");
  response.add_options();
  response.add_options()->set_nodegroupid("a");
  EXPECT_THAT(MUST(ParseBestOptionsResponse(response.SerializeAsString())),
              ElementsAre("a", "", "a"));
  EXPECT_THAT(MUST(ParseBestOptionsResponse("")), IsEmpty());
  EXPECT_EQ(ParseBestOptionsResponse("\x0A\x05x").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace coppice::rpc
