#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "test/conformance/expander_suite.h"
#include "test/support/must.h"

namespace coppice {
namespace expanders::price {
void Register(expand::ExpanderRegistry& registry);
}

// A node costs what its name says after the last dash, a pod a cent for each of its millicores.
class PricedGroups final : public cloud::NodeGroups {
 public:
  int batches = 0;
  std::set<std::string> learned;  // names of nodes and pods

  void LearnPrices(const cloud::PriceQuestions& questions, Deadline) override {
    ++batches;
    for (const auto& [node, labels] : questions.nodes) learned.insert(node.name);
    for (const model::Pod* pod : questions.pods) learned.insert(pod->metadata.name);
  }
  Result<double> NodePrice(const cloud::NodeRef& node, const std::map<std::string, std::string>&,
                           TimePoint, TimePoint) override {
    if (!learned.contains(node.name)) return Unavailable("nobody has asked for it");
    const size_t dash = node.name.rfind('-');
    const char* text = dash == std::string::npos ? "" : node.name.c_str() + dash + 1;
    char* end = nullptr;
    const double price = std::strtod(text, &end);
    if (end == text) return NotFound("no price for " + node.name);
    return price;
  }
  Result<double> PodPrice(const model::Pod& pod, TimePoint, TimePoint) override {
    if (!learned.contains(pod.metadata.name)) return Unavailable("nobody has asked for it");
    const model::Quantity* cpu = pod.spec.containers.at(0).resources.requests.Find("cpu");
    return cpu == nullptr ? 0 : static_cast<double>(cpu->MilliValue()) / 100;
  }
  std::string GpuLabel() override { return "gpu"; }

  // Not asked by an expander.
  std::vector<cloud::GroupInfo> Groups() override { return {}; }
  Result<std::optional<std::string>> GroupOf(const cloud::NodeRef&) override { return no_; }
  Result<bool> HasInstance(const cloud::NodeRef&) override { return no_; }
  Result<int> TargetSize(std::string_view) override { return no_; }
  Result<std::vector<cloud::Instance>> Instances(std::string_view) override { return no_; }
  Result<std::shared_ptr<const model::Node>> Template(std::string_view) override { return no_; }
  Result<std::optional<cloud::ScalingOptions>> Options(std::string_view,
                                                       const cloud::ScalingOptions&) override {
    return no_;
  }
  Status Increase(std::string_view, int, Deadline) override { return no_; }
  Status IncreaseAtomically(std::string_view, int, Deadline) override { return no_; }
  Status Delete(std::string_view, const std::vector<cloud::NodeRef>&, Deadline) override {
    return no_;
  }
  Status DecreaseTarget(std::string_view, int, Deadline) override { return no_; }
  Status Refresh(Deadline) override { return no_; }
  Status Cleanup() override { return no_; }
  std::vector<std::string> GpuTypes() override { return {}; }

 private:
  const Status no_ = Unimplemented("not asked by an expander");
};

struct PriceUnderTest {
  PricedGroups groups;
  std::unique_ptr<expand::Expander> Make(expand::ExpanderContext context) {
    context.groups = &groups;
    expand::ExpanderRegistry registry("expander");
    expanders::price::Register(registry);
    return MUST(registry.Make("price", context));
  }
  void Surround(expand::Surroundings&) {}
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Price, ExpanderSuite, PriceUnderTest);
}

namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class PriceTest : public testing::Test {
 protected:
  std::vector<std::string> Left(const test::OptionSet& set, size_t cluster_nodes = 5) {
    const auto expander =
        price_.Make({.clock = clock_, .rng = rng_, .log = log_, .metrics = metrics_});
    expand::Surroundings around;
    around.cluster_nodes = cluster_nodes;
    around.note = [this](std::string sentence) { notes_.push_back(std::move(sentence)); };
    return test::GroupsOf(expander->Narrow(set.options(), around));
  }

  FakeClock clock_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  Metrics metrics_;
  PriceUnderTest price_;
  std::vector<std::string> notes_;
};

TEST_F(PriceTest, ThatNothingCouldBeChosenIsSaidWithWhy) {
  const test::OptionSet set({{.group = "a-free of charge"}, {.group = "b-gift"}});
  EXPECT_THAT(Left(set), ElementsAre());
  EXPECT_THAT(notes_,
              ElementsAre(StartsWith(
                  "no option has a price, so none is chosen: no price for template-of-b-")));
}

TEST_F(PriceTest, HowManyHadNoPriceIsSaid) {
  const test::OptionSet set({{.group = "a-20"}, {.group = "b-gift"}});
  EXPECT_THAT(Left(set), ElementsAre("a-20"));
  EXPECT_THAT(notes_, ElementsAre(StartsWith("1 without a price: no price for template-of-b-")));
}

TEST_F(PriceTest, TheCheaperOfTwoAlikeWins) {
  const test::OptionSet set({{.group = "a-20"}, {.group = "b-10"}});
  EXPECT_THAT(Left(set), ElementsAre("b-10"));
}

// A provider in another process is asked for all of them together, before the first is looked up.
TEST_F(PriceTest, EveryPriceIsLearnedAtOnce) {
  const test::OptionSet set({{.group = "a-20", .pods = 3}, {.group = "b-10", .pods = 5}});
  EXPECT_THAT(Left(set), ElementsAre("b-10"));
  EXPECT_EQ(price_.groups.batches, 1);
}

TEST_F(PriceTest, WhatHasNoPriceIsLeftOut) {
  const test::OptionSet set({{.group = "a-free of charge"}, {.group = "b-1000"}});
  EXPECT_THAT(Left(set), ElementsAre("b-1000"));
}

TEST_F(PriceTest, ASmallClusterPrefersSmallNodes) {
  const test::OptionSet set({{.group = "large-20", .pods = 8, .node_cpu_millis = 32'000},
                             {.group = "small-20", .pods = 8, .node_cpu_millis = 2'000}});
  EXPECT_THAT(Left(set, 5), ElementsAre("small-20"));
  EXPECT_THAT(Left(set, 5'000), ElementsAre("large-20"));
}

TEST_F(PriceTest, GpusAreTheLastResort) {
  test::OptionSet set({{.group = "a-100"}});
  model::Node gpu = test::ANodeOf("gpu-1", 4'000, 16'384);
  gpu.status.allocatable["nvidia.com/gpu"] = model::Quantity::FromUnits(1);
  set.Add({.group = "gpu"}).node = &gpu;
  EXPECT_THAT(Left(set), ElementsAre("a-100"));
}

TEST_F(PriceTest, AGroupThatMustBeCreatedHadBetterBeCheap) {
  test::OptionSet set({{.group = "there-19"}});
  set.Add({.group = "not there-10"}).exists = false;
  EXPECT_THAT(Left(set), ElementsAre("there-19"));
}

TEST_F(PriceTest, WithoutACloudThereAreNoPrices) {
  expand::ExpanderRegistry registry("expander");
  expanders::price::Register(registry);
  const expand::ExpanderContext context{
      .clock = clock_, .rng = rng_, .log = log_, .metrics = metrics_};
  EXPECT_EQ(registry.Make("price", context).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace coppice
