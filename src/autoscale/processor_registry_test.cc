#include "autoscale/processor_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class KeepAll final : public PodListProcessor {
 public:
  explicit KeepAll(std::string given) : argument(std::move(given)) {}
  Result<Pods> Process(Pods pods, const std::function<Pods(Pods)>&, const PassView&) override {
    return pods;
  }
  std::string argument;
};

Result<std::unique_ptr<PodListProcessor>> MakeKeepAll(const ProcessorContext& context) {
  return std::unique_ptr<PodListProcessor>(std::make_unique<KeepAll>(context.argument));
}

class Deaf final : public LoopStartObserver {
 public:
  void Refresh(const PassView&) override {}
};

class ProcessorRegistryTest : public testing::Test {
 protected:
  Result<Processors> Make(const std::vector<std::string>& choices) {
    return MakeProcessors(registry_, choices,
                          {.options = options_,
                           .groups = groups_,
                           .world = world_,
                           .clock = clock_,
                           .rng = rng_,
                           .log = log_,
                           .metrics = metrics_});
  }
  std::string Refusal(const std::vector<std::string>& choices) {
    const auto made = Make(choices);
    return made.ok() ? "it was accepted" : made.status().message();
  }

  ProcessorRegistry registry_;
  Options options_;
  FakeClock clock_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  Metrics metrics_;
  cluster::World world_;
  cloud::FakeNodeGroups groups_;
};

TEST_F(ProcessorRegistryTest, NothingAskedForLeavesEverySlotToTheEngine) {
  const Processors made = MUST(Make({}));
  EXPECT_EQ(made.pod_list, nullptr);
  EXPECT_TRUE(made.loop_start.empty());
}

TEST_F(ProcessorRegistryTest, PutsTheProcessorThatIsAskedForIntoItsSlotWithItsArgument) {
  registry_.pod_list.Add("keep-all", MakeKeepAll);
  const Processors made = MUST(Make({"pod-list=keep-all:a=b:c"}));
  ASSERT_NE(made.pod_list, nullptr);
  EXPECT_EQ(static_cast<const KeepAll&>(*made.pod_list).argument, "a=b:c");
}

TEST_F(ProcessorRegistryTest, AskedForButNotRegisteredIsRefusedWithWhatIs) {
  registry_.pod_list.Add("keep-all", MakeKeepAll);
  EXPECT_THAT(Refusal({"pod-list=keep-al"}),
              AllOf(HasSubstr("no pod-list processor 'keep-al'"), HasSubstr("keep-all")));
  EXPECT_THAT(Refusal({"node-group-list=keep-all"}), HasSubstr("there are none"));
  EXPECT_THAT(Refusal({"pod-lst=keep-all"}),
              AllOf(HasSubstr("scale-down-status"), HasSubstr("did you mean 'pod-list'")));
  EXPECT_THAT(Refusal({"keep-all"}), HasSubstr("SLOT=NAME"));
}

TEST_F(ProcessorRegistryTest, RegisteredTwiceIsAnErrorThatNamesBoth) {
  registry_.pod_list.Add("keep-all", MakeKeepAll);
  registry_.pod_list.Add("keep-all", MakeKeepAll);
  const std::string text = Refusal({});
  EXPECT_THAT(text, HasSubstr("registered twice"));
  EXPECT_NE(text.find("processor_registry_test.cc"), text.rfind("processor_registry_test.cc"));
}

TEST_F(ProcessorRegistryTest, OneSlotTakesOneAndAListOfObserversTakesAll) {
  registry_.pod_list.Add("a", MakeKeepAll);
  registry_.pod_list.Add("b", MakeKeepAll);
  EXPECT_THAT(Refusal({"pod-list=a", "pod-list=b"}), HasSubstr("takes one"));
  const auto deaf = [](const ProcessorContext&) {
    return Result<std::unique_ptr<LoopStartObserver>>(std::make_unique<Deaf>());
  };
  registry_.loop_start.Add("x", deaf);
  registry_.loop_start.Add("y", deaf);
  EXPECT_EQ(MUST(Make({"loop-start=x", "loop-start=y"})).loop_start.size(), 2U);
}

TEST_F(ProcessorRegistryTest, AFactorysErrorAndAnEmptyAnswerAreRefused) {
  registry_.pod_list.Add("broken", [](const ProcessorContext&) {
    return Result<std::unique_ptr<PodListProcessor>>(InvalidArgument("no argument was given"));
  });
  registry_.pod_list.Add("null", [](const ProcessorContext&) {
    return Result<std::unique_ptr<PodListProcessor>>(std::unique_ptr<PodListProcessor>());
  });
  EXPECT_THAT(Refusal({"pod-list=broken"}),
              AllOf(HasSubstr("--processor=pod-list=broken"), HasSubstr("no argument was given")));
  EXPECT_THAT(Refusal({"pod-list=null"}), HasSubstr("gave nothing"));
}

TEST_F(ProcessorRegistryTest, AProgramsOwnChoiceHoldsUntilAFlagSaysOtherwise) {
  registry_.pod_list.Add("a", MakeKeepAll);
  registry_.pod_list.Add("b", MakeKeepAll);
  registry_.defaults = {"pod-list=a:own"};
  EXPECT_EQ(static_cast<const KeepAll&>(*MUST(Make({})).pod_list).argument, "own");
  EXPECT_EQ(static_cast<const KeepAll&>(*MUST(Make({"pod-list=b:flag"})).pod_list).argument,
            "flag");
}

// A factory may use the registry itself: nothing is locked while it runs.
TEST_F(ProcessorRegistryTest, AFactoryMayAskTheRegistry) {
  registry_.pod_list.Add("inner", MakeKeepAll);
  registry_.pod_list.Add("outer", [this](const ProcessorContext& context) {
    return registry_.pod_list.Make("inner", context);
  });
  EXPECT_NE(MUST(Make({"pod-list=outer"})).pod_list, nullptr);
}

}  // namespace
}  // namespace coppice::autoscale
