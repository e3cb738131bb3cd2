// `coppice conform provider` on a provider that is right and on ones that are wrong in one way.

#include "conform/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "externalgrpc.pb.h"
#include "test/conform/in_process.h"
#include "test/conform/model_provider.h"

namespace coppice::conform {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ProviderOptions Quick(std::string grow = "second") {
  return {.play = {.contract = "provider", .target = "here"},
          .timeout = std::chrono::seconds(5),
          .grow = std::move(grow),
          .patience = Duration::zero()};
}

TEST(ConformProviderTest, ARightProviderPassesEveryRule) {
  SystemClock clock;
  ModelProvider provider(clock);
  const Report report = TryProvider(Quick(), InProcess(provider.Service()), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), IsEmpty()) << ToText(report);
  EXPECT_THAT(NamesOf(report, Verdict::kNotApplicable), IsEmpty()) << ToText(report);
  EXPECT_EQ(report.ExitCode(), 0);
  EXPECT_EQ(provider.SurvivorsOfTheStart(), 2u);
  EXPECT_EQ(provider.Others(), 0u) << "what was ordered is deleted again";
}

TEST(ConformProviderTest, NothingIsOrderedUnlessAGroupIsNamed) {
  SystemClock clock;
  ModelProvider provider(clock);
  grpc::Service service = provider.Service();
  for (grpc::Method& method : service.methods) {
    for (const char* change :
         {"NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "NodeGroupDecreaseTargetSize"}) {
      if (method.name != change) continue;
      method.handler = [&](const grpc::Call& call) -> grpc::Answer {
        ADD_FAILURE() << call.method;
        return Internal("no");
      };
    }
  }
  const Report report = TryProvider(Quick(""), InProcess(std::move(service)), clock);
  EXPECT_EQ(report.ExitCode(), 0) << ToText(report);
  EXPECT_GT(report.Count(Verdict::kNotApplicable), 10u);
}

// A group in use: only machines that came with our order are ever named in a delete.
TEST(ConformProviderTest, MachinesOfOthersAreNeverNamedInADelete) {
  SystemClock clock;
  ModelProvider provider(clock);
  const Report report = TryProvider(Quick("first"), InProcess(provider.Service()), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), IsEmpty()) << ToText(report);
  EXPECT_EQ(provider.SurvivorsOfTheStart(), 2u);
  EXPECT_EQ(provider.Others(), 0u);
}

// Whose the machines are cannot be told when more come than were ordered.
TEST(ConformProviderTest, NothingIsDeletedWhenSomebodyElseOrdersMeanwhile) {
  SystemClock clock;
  ModelProvider provider(clock);
  grpc::Service service = provider.Service();
  const auto handler_of = [&](std::string_view name) -> grpc::Handler& {
    return std::ranges::find_if(service.methods,
                                [&](const grpc::Method& method) { return method.name == name; })
        ->handler;
  };
  handler_of("NodeGroupIncreaseSize") = [honest = handler_of("NodeGroupIncreaseSize")](
                                            const grpc::Call& call) {
    grpc::Answer answer = honest(call);
    if (answer.status.ok()) {
      clusterautoscaler::cloudprovider::v1::externalgrpc::NodeGroupIncreaseSizeRequest other;
      other.set_id("second");
      other.set_delta(1);
      const std::string bytes = other.SerializeAsString();
      EXPECT_TRUE(
          honest({.method = call.method, .request = bytes, .deadline = call.deadline}).status.ok());
    }
    return answer;
  };
  handler_of("NodeGroupDeleteNodes") = [](const grpc::Call& call) -> grpc::Answer {
    clusterautoscaler::cloudprovider::v1::externalgrpc::NodeGroupDeleteNodesRequest request;
    EXPECT_TRUE(request.ParseFromString(std::string(call.request)));
    for (const auto& node : request.nodes()) {
      EXPECT_FALSE(node.providerid().starts_with("model://")) << node.providerid();
    }
    return NotFound("nobody's");
  };
  (void)TryProvider(Quick(), InProcess(std::move(service)), clock);
  EXPECT_EQ(provider.Others(), 4u);
}

TEST(ConformProviderTest, RulesHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const RuleText& rule : ProviderRules()) EXPECT_TRUE(names.insert(rule.name).second);
  EXPECT_THAT(UnknownRules(ProviderRules(), {"refresh", "refreshment"}),
              ElementsAre("refreshment"));
}

TEST(ConformProviderTest, ASkippedRuleIsNotTried) {
  SystemClock clock;
  ModelProvider provider(clock, "refresh fails");
  ProviderOptions options = Quick();
  options.play.skip = {"refresh"};
  const Report report = TryProvider(options, InProcess(provider.Service()), clock);
  EXPECT_EQ(report.ExitCode(), 0) << ToText(report);
}

struct WrongProvider {
  const char* mistake;
  const char* rule;
};

class WrongProviderTest : public testing::TestWithParam<WrongProvider> {};

TEST_P(WrongProviderTest, IsFoundByTheRuleThatIsMeant) {
  SystemClock clock;
  ModelProvider provider(clock, GetParam().mistake);
  const bool unknown = std::string_view(GetParam().mistake) == "any method is a method";
  const Report report = TryProvider(Quick(), InProcess(provider.Service(), unknown), clock);
  EXPECT_THAT(NamesOf(report, Verdict::kFailed), ElementsAre(GetParam().rule)) << ToText(report);
  EXPECT_EQ(report.ExitCode(), 1);
  EXPECT_EQ(provider.SurvivorsOfTheStart(), 2u);
}

constexpr WrongProvider kWrongProviders[] = {
    {"knows nothing before a refresh", "groups-before-refresh"},
    {"refresh fails", "refresh"},
    {"a group twice", "group-ids"},
    {"a group without id", "group-ids"},
    {"minimum above maximum", "group-limits"},
    {"groups in any order", "groups-stable"},
    {"a negative target", "target-size"},
    {"no target", "target-size"},
    {"a machine without id", "machine-ids"},
    {"a machine in two groups", "machine-ids"},
    {"machines without a state", "machine-states"},
    {"an error of a running machine", "machine-states"},
    {"a target below the machines", "target-counts-machines"},
    {"machines by name", "group-of-machine"},
    {"other limits in the group of a node", "group-of-machine-as-listed"},
    {"strangers are errors", "group-of-stranger"},
    {"strangers are ours", "group-of-stranger"},
    {"any group is a group", "unknown-group"},
    {"an empty template", "template"},
    {"new fields of templates alone", "template-both-eras"},
    {"old fields of templates alone", "template-both-eras"},
    {"a template that is no node", "template-reads"},
    {"template without pods", "template-resources"},
    {"more allocatable than there is", "template-resources"},
    {"template without zone", "template-labels"},
    {"options fail", "options-complete"},
    {"options of one thing", "options-complete"},
    {"options without thresholds", "options-complete"},
    {"options of the new era alone", "options-complete"},
    {"options that disagree", "options-eras-agree"},
    {"options mixed up", "options-follow-defaults"},
    {"no gpu label", "gpu-label"},
    {"no gpu types", "gpu-types"},
    {"prices of the new era alone", "node-price"},
    {"prices below nothing", "node-price"},
    {"pods of the new era alone", "pod-price"},
    {"orders of nothing", "order-of-nothing"},
    {"orders above the maximum", "order-above-maximum"},
    {"no orders", "order"},
    {"a target of what runs", "order-raises-target"},
    {"a refresh forgets orders", "refresh-keeps-orders"},
    {"machines that are never listed", "machines-appear"},
    {"new machines are unknown", "new-machines-belong"},
    {"strangers may be deleted", "delete-stranger"},
    {"deletes in any group's name", "delete-from-another-group"},
    {"deletes by halves", "delete-is-whole"},
    {"decreases upwards", "decrease-upwards"},
    {"a decrease takes machines", "decrease-keeps-machines"},
    {"deletes without lowering the target", "delete-lowers-target"},
    {"deleted machines stay", "deleted-machine-goes"},
    {"deletes twice", "repeated-delete"},
    {"a refresh brings machines back", "refresh-keeps-deletes"},
    {"deletes one at a time", "parallel-deletes"},
    {"half an order", "order-cut-short"},
    {"deletes three and no more", "leaves-nothing"},
    {"reads one at a time", "parallel-reads"},
    {"refreshes one at a time", "parallel-refreshes"},
    {"refuses unknown fields", "unknown-fields"},
    {"any method is a method", "unknown-method"},
    {"breaks when a caller leaves", "short-deadlines"},
    {"small requests only", "large-request"},
    {"takes garbage", "garbage-request"},
    {"ends at cleanup", "cleanup"},
    {"cleanup fails", "cleanup"},
};

INSTANTIATE_TEST_SUITE_P(EachInOneWay, WrongProviderTest, testing::ValuesIn(kWrongProviders),
                         [](const auto& row) {
                           std::string name(row.param.mistake);
                           std::erase(name, '\'');
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

// A rule that no server has ever broken may be one that cannot fail.
TEST(ConformProviderTest, EveryRuleIsBrokenBySomebody) {
  std::set<std::string_view> broken;
  for (const WrongProvider& wrong : kWrongProviders) broken.insert(wrong.rule);
  for (const RuleText& rule : ProviderRules()) EXPECT_TRUE(broken.contains(rule.name)) << rule.name;
}

}  // namespace
}  // namespace coppice::conform
